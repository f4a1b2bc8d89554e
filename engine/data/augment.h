// Random changes of training images. What a sample gets depends on (seed, epoch, place in the
// training list) alone, so not on ranks, threads or restarts.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/dataset.h"
#include "jobspec/schema.h"
#include "jobspec/value.h"

namespace thalweg::engine {

namespace augment {
struct Row;
}

/// Immutable and thread-safe.
class Augmenter {
 public:
  /// `options` is the trial's `train.augment` tree. Throws std::invalid_argument where the samples
  /// are nothing that what it asks for can be done to.
  Augmenter(const jobspec::Value& options, const SampleForm& form);
  /// Nothing is asked for: apply() would copy.
  bool idle() const { return active_.empty(); }
  /// From one sample's inputs to another's; `in` and `out` do not overlap.
  void apply(std::uint64_t seed, std::uint32_t epoch, std::uint64_t sample, const float* in,
             float* out) const;

 private:
  struct Active {
    const augment::Row* row;
    std::uint32_t number;  ///< in the table: keeps the draws of one change apart from the others'
    double amount;
  };
  std::vector<Active> choose(std::uint64_t seed, std::uint32_t epoch, std::uint64_t sample) const;

  std::vector<Active> active_;
  std::size_t mix_ = 0;  ///< how many of them a sample gets; 0 = all
  int fill_ = 0;
  std::vector<std::int64_t> shape_;  ///< (c, d, h, w)
};

jobspec::Section augment_schema();

}  // namespace thalweg::engine
