// copy and translation: sequences whose second half follows from the first, so that a model either
// finds the rule or does not. A sample is  w1 .. wn SEPARATOR v1 .. vn  without its last token;
// only the positions that predict v1 .. vn count.
#include <algorithm>
#include <utility>

#include "engine/data/noise.h"
#include "engine/data/order.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {
namespace {

struct Task {
  std::size_t samples;
  std::int64_t words;  ///< n
  std::uint32_t symbols;
  std::uint64_t seed;
  bool reversed;
  std::vector<std::uint32_t> dictionary;  ///< v for each w; empty = the same
};

class TokenTask final : public Dataset {
 public:
  explicit TokenTask(Task task)
      : Dataset({.input = {2 * task.words},
                 .classes = static_cast<int>(task.symbols) + 1,
                 .labels = 2 * task.words,
                 .targets = 0,
                 .vocabulary = static_cast<int>(task.symbols) + 1}),
        task_(std::move(task)) {}
  std::size_t size() const override { return task_.samples; }
  void copy(std::size_t index, float* out) const override {
    for (std::int64_t i = 0; i < 2 * task_.words; ++i)
      out[i] = static_cast<float>(token(index, i));
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override {
    for (std::int64_t i = 0; i < 2 * task_.words; ++i)
      out[i] = i < task_.words ? kNoLabel : static_cast<std::int32_t>(token(index, i + 1));
  }

 private:
  std::uint32_t token(std::size_t index, std::int64_t at) const {
    const std::int64_t n = task_.words;
    if (at == n) return task_.symbols;  // the separator
    if (at < n) return word(index, at);
    const std::int64_t from = at - n - 1;
    const std::uint32_t w = word(index, task_.reversed ? n - 1 - from : from);
    return task_.dictionary.empty() ? w : task_.dictionary[w];
  }
  std::uint32_t word(std::size_t index, std::int64_t at) const {
    const auto bits = philox(task_.seed, Stream::noise, static_cast<std::uint32_t>(at / 4), index);
    return below(bits[static_cast<std::size_t>(at % 4)], task_.symbols);
  }

  Task task_;
};

std::vector<jobspec::Option> task_options() {
  return {
      int_option("samples", 20000, 2, 4e9, "how many samples, training and validation together"),
      int_option("words", 16, 1, 1 << 20, "length of each half"),
      int_option("symbols", 64, 2, 1 << 20, "different words; one more token separates the halves"),
      int_option("seed", 1, 0, 9e15, "of the samples; not the trial's seed")};
}

Task read_task(const Options& options) {
  return {static_cast<std::size_t>(options.integer("samples")),
          options.integer("words"),
          static_cast<std::uint32_t>(options.integer("symbols")),
          static_cast<std::uint64_t>(options.integer("seed")),
          false,
          {}};
}

}  // namespace

Row copy_task() {
  return {"copy", "token sequences to be repeated; needs no files", task_options(),
          [](const Options& options, HeaderFacts*) -> std::unique_ptr<Dataset> {
            return std::make_unique<TokenTask>(read_task(options));
          }};
}

Row translation_task() {
  return {"translation",
          "token sequences to be translated word by word and reversed; needs no files",
          task_options(), [](const Options& options, HeaderFacts*) -> std::unique_ptr<Dataset> {
            Task task = read_task(options);
            task.reversed = true;
            task.dictionary = permutation(task.seed, Stream::shuffle, 0, task.symbols);
            return std::make_unique<TokenTask>(std::move(task));
          }};
}

}  // namespace thalweg::engine::data
