// Random changes of training images. What a sample gets depends on (seed, epoch, place in the
// training list) alone, so not on ranks, threads or restarts.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/augment_formulas.h"
#include "engine/data/dataset.h"
#include "jobspec/fwd.h"

namespace thalweg::engine {

namespace augment {
struct Row;
}

/// Immutable and thread-safe.
class Augmenter {
 public:
  /// `options` is the trial's `train.augment` tree. Throws std::invalid_argument where the samples
  /// are nothing that what it asks for can be done to.
  Augmenter(const jobspec::Value& tree, const SampleForm& form);
  /// Nothing is asked for: apply() would copy.
  bool idle() const { return active_.empty(); }
  /// What a sample gets.
  augment::Change draw(std::uint64_t seed, std::uint32_t epoch, std::uint64_t sample) const;
  /// From one sample's inputs to another's; `in` and `out` do not overlap.
  void apply(const augment::Change& change, const float* in, float* out) const;
  /// Whether labels or targets belong to pixels that are moved: move() them, too.
  bool moves_answers() const { return moves_answers_; }
  /// Labels of pixels: the nearest one; outside the image, where nothing is filled in, none.
  void move(const augment::Change& change, const std::int32_t* labels, std::int32_t* out) const;
  /// Targets of pixels, as the inputs are moved.
  void move(const augment::Change& change, const float* targets, float* out) const;
  void apply(std::uint64_t seed, std::uint32_t epoch, std::uint64_t sample, const float* in,
             float* out) const {
    apply(draw(seed, epoch, sample), in, out);
  }
  /// In the order in which they are done: Change::amounts.
  const std::vector<augment::Colour>& colours() const { return colours_; }
  augment::Fill fill() const { return fill_; }

 private:
  struct Active {
    const augment::Row* row;
    std::uint32_t number;  ///< in the table: keeps the draws of one change apart from the others'
    double amount;
    std::size_t colour;  ///< place in colours_
  };
  std::vector<Active> choose(std::uint64_t seed, std::uint32_t epoch, std::uint64_t sample) const;

  std::vector<Active> active_;
  std::size_t mix_ = 0;  ///< how many of them a sample gets; 0 = all
  augment::Fill fill_ = augment::Fill::zero;
  std::vector<augment::Colour> colours_;
  std::vector<std::int64_t> shape_;  ///< (c, d, h, w)
  bool moves_answers_ = false;
  std::int64_t target_channels_ = 0;
};

jobspec::Section augment_schema();

}  // namespace thalweg::engine
