// Where the parts of a batch stand in one range of memory, so that one copy takes it to a GPU.
#pragma once

#include <array>
#include <cstddef>

#include "engine/tensor/buffer.h"

namespace thalweg::engine {

/// Part after part. Every part is cut into micro-batches of equally many samples; a micro-batch
/// starts where kernels can read 16 bytes at once, and its samples are contiguous.
class BatchLayout {
 public:
  enum Part : std::size_t {
    inputs,
    labels,
    targets,
    labels_b,
    shares_b,
    // Where inputs are still to be augmented and blended (engine/data/batch_form.h):
    changes,
    blends,
    inputs_b,
    changes_b,
    keys,  ///< one for each micro-batch: what whoever computes it needs beside
    parts
  };
  using Bytes = std::array<std::size_t, parts>;

  BatchLayout() = default;
  /// `bytes`: of a sample, in each part; of `keys` those of a micro-batch.
  BatchLayout(std::size_t micro_batches, std::size_t samples_per_micro_batch, const Bytes& bytes)
      : micro_batches_(micro_batches), samples_(samples_per_micro_batch), of_sample_(bytes) {
    of_sample_[keys] = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      start_[part] = bytes_;
      stride_[part] = round_up(bytes[part] * (part == keys ? 1 : samples_), 256);
      bytes_ += micro_batches_ * stride_[part];
    }
  }

  std::size_t bytes() const { return bytes_; }
  std::size_t micro_batches() const { return micro_batches_; }
  std::size_t samples_per_micro_batch() const { return samples_; }
  std::size_t bytes_of_sample(Part part) const { return of_sample_[part]; }
  /// Bytes from the start of the memory.
  std::size_t micro_batch(Part part, std::size_t number) const {
    return start_[part] + number * stride_[part];
  }
  /// Of sample i of the whole batch.
  std::size_t sample(Part part, std::size_t i) const {
    return micro_batch(part, i / samples_) + i % samples_ * of_sample_[part];
  }

 private:
  std::size_t micro_batches_ = 0, samples_ = 1, bytes_ = 0;
  Bytes of_sample_{}, start_{}, stride_{};
};

}  // namespace thalweg::engine
