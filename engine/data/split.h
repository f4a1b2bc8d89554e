// Which samples are for training, for validation and for the test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/data/dataset.h"
#include "jobspec/fwd.h"

namespace thalweg::engine {

/// Sample numbers, each list in ascending order.
struct Split {
  std::vector<std::uint32_t> training;
  std::vector<std::uint32_t> validation;
  std::vector<std::uint32_t> test;
};

/// The seed of every split: trials with different seeds must be evaluated on the same samples.
constexpr std::uint64_t kSplitSeed = 20170825;  // the day Fashion-MNIST was published

struct SplitRule {
  std::size_t validation = 0, test = 0;  ///< to hold out of those that are no set of their own
  std::size_t own_validation = 0;        ///< sets of their own: the last samples, in this order
  std::size_t own_test = 0;
  enum class By {
    random,  ///< drawn one by one
    groups,  ///< whole groups, drawn until there are enough samples; test groups first
    last,    ///< the last ones are the test, those before them the validation
  } by = By::random;
  std::vector<std::int64_t> groups{};  ///< of every sample that is in no set of its own
  double fraction = 1;  ///< of training and validation only so much is kept (at least one sample)
  int duplicate = 1;    ///< so often every training sample comes; copies follow the whole list
};

/// Throws std::invalid_argument where a part that is asked for, or training, would be empty.
Split split(std::size_t count, const SplitRule& rule);

/// By a complete `train.data` tree's options. Throws std::invalid_argument or DataError.
Split split_samples(const Dataset& dataset, const jobspec::Value& data);

struct SplitSizes {
  std::size_t training = 0, validation = 0, test = 0;
};
/// How long split_samples()'s lists are, without drawing them, and for a dataset whose header alone
/// was read. Nothing where that depends on groups that are too many to read. Throws as it does.
std::optional<SplitSizes> split_sizes(const Dataset& dataset, const jobspec::Value& data);

/// The selector `split` of the section `data`.
jobspec::Section split_section();

}  // namespace thalweg::engine
