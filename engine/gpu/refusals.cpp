// What libraries would not do in this process. A layer then does without them, with the same result
// but slower: whoever reads a journal or a bench must be told, once and not for each of 48 layers.
#include <algorithm>
#include <mutex>
#include <utility>

#include "engine/gpu/library.h"

namespace thalweg::engine::gpu {
namespace {

struct Refusals {
  std::mutex mutex;
  std::vector<std::pair<std::string, std::string>> of;  ///< why, first call
};
Refusals& all() {
  static Refusals& only = *new Refusals;
  return only;
}

}  // namespace

void note_refusal(const std::string& call, const std::string& why) {
  const std::lock_guard lock(all().mutex);
  auto& of = all().of;
  if (std::none_of(of.begin(), of.end(), [&](const auto& one) { return one.first == why; }))
    of.emplace_back(why, call);
}

std::vector<std::string> refusals() {
  const std::lock_guard lock(all().mutex);
  std::vector<std::string> texts;
  for (const auto& [why, call] : all().of)
    texts.push_back(call + ": " + why);
  return texts;
}

}  // namespace thalweg::engine::gpu
