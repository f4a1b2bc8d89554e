// Other tools spell metrics in other ways (val_loss, validation.accuracy, test_acc), so a name is
// brought into our spelling before the nearest one is looked for.
#include "jobspec/metrics.h"

#include <algorithm>
#include <array>
#include <utility>

#include "jobspec/value.h"

namespace thalweg::jobspec {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 14> synonyms{{
    {"validation", "val"},
    {"valid", "val"},
    {"dev", "val"},
    {"eval", "val"},
    {"training", "train"},
    {"acc", "accuracy"},
    {"top1", "accuracy"},
    {"err", "error"},
    {"ppl", "perplexity"},
    {"miou", "iou"},
    {"jaccard", "iou"},
    {"l1", "mae"},
    {"mse", "loss"},
    {"nll", "loss"},
}};

std::string our_word(std::string word) {
  for (const auto& [other, ours] : synonyms)
    if (word == other) return std::string(ours);
  return word;
}

/// Lower case; the words of a name, which '/', '_', '-', '.' and spaces part, as ours.
std::string our_spelling(std::string_view name) {
  std::string spelling, word;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
    if (letter) {
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      continue;
    }
    spelling += our_word(std::exchange(word, {})) + '/';
  }
  return spelling + our_word(word);
}

/// "top5_error" as "top5/error".
std::string with_slashes(std::string name) {
  std::replace(name.begin(), name.end(), '_', '/');
  return name;
}

}  // namespace

std::string nearest_metric(std::string_view name, const std::vector<std::string>& metrics) {
  const std::string spelling = our_spelling(name);
  for (const std::string& metric : metrics)
    if (with_slashes(metric) == spelling) return metric;
  // A metric is meant of validation where nothing else is said.
  for (const char* set : {"val/", "train/", "perf/"})
    for (const std::string& metric : metrics)
      if (with_slashes(metric) == set + spelling) return metric;
  return nearest(name, metrics);
}

}  // namespace thalweg::jobspec
