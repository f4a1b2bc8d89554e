// How a loader's batches stand in memory: ready for the model, or raw for a GPU that augments and
// blends them itself (engine/sync/device/gpu/augment.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/data/augment.h"
#include "engine/data/dataset.h"
#include "engine/data/mixing.h"
#include "engine/tensor/batch_layout.h"

namespace thalweg::engine {

/// What a raw batch's numbers mean. The batch itself brings an augment::Change and an
/// augment::Blend for each sample, and the inputs_b that are blended in.
struct RawForm {
  std::array<std::int64_t, 4> shape{1, 1, 1, 1};  ///< (c, d, h, w) of a sample
  const StoredForm* stored = nullptr;             ///< of the dataset; null: floats
  bool augmented = false;                         ///< there are changes
  augment::Fill fill = augment::Fill::zero;
  std::vector<augment::Colour> colours;  ///< Change::amounts
  bool blended = false;                  ///< there are blends and inputs_b

  std::int64_t values() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
};

struct BatchForm {
  BatchLayout layout;
  /// Nothing: the inputs are floats, augmented and blended.
  std::optional<RawForm> raw;
};

/// As one micro-batch, ready for the model. Null: no augmenter, no mixer.
BatchForm host_batches(const SampleForm& form, const Mixer* mixer, std::size_t positions);

/// For a GPU that takes a micro-batch at a time, with `key_bytes` beside each. Raw where that makes
/// less work for the host; the dataset must outlive it.
BatchForm gpu_batches(const Dataset& dataset, const Augmenter* augmenter, const Mixer* mixer,
                      std::size_t micro_batches, std::size_t samples_per_micro_batch,
                      std::size_t key_bytes);

}  // namespace thalweg::engine
