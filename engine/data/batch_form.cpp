#include "engine/data/batch_form.h"

#include <algorithm>

namespace thalweg::engine {
namespace {

BatchLayout::Bytes ready(const SampleForm& form, bool blended) {
  BatchLayout::Bytes bytes{};
  bytes[BatchLayout::inputs] = input_floats(form) * sizeof(float);
  bytes[BatchLayout::labels] = static_cast<std::size_t>(form.labels) * sizeof(std::int32_t);
  bytes[BatchLayout::targets] = static_cast<std::size_t>(form.targets) * sizeof(float);
  // Labels of pixels are put together by their box, and so have no labels_b.
  if (!blended || form.labels > 1) return bytes;
  bytes[BatchLayout::labels_b] = bytes[BatchLayout::labels];
  bytes[BatchLayout::shares_b] = sizeof(float);
  return bytes;
}

/// (c, d, h, w); of all else (1, 1, 1, numbers).
std::array<std::int64_t, 4> shape_of(const SampleForm& form) {
  if (form.input.size() < 3) return {1, 1, 1, static_cast<std::int64_t>(input_floats(form))};
  std::array<std::int64_t, 4> shape{form.input[0], 1, 1, 1};
  std::copy(form.input.begin() + 1, form.input.end(),
            shape.end() - static_cast<std::ptrdiff_t>(form.input.size() - 1));
  return shape;
}

}  // namespace

BatchForm host_batches(const SampleForm& form, const Mixer* mixer, std::size_t positions) {
  return {BatchLayout(1, positions, ready(form, mixer != nullptr)), {}};
}

BatchForm gpu_batches(const Dataset& dataset, const Augmenter* augmenter, const Mixer* mixer,
                      std::size_t micro_batches, std::size_t samples_per_micro_batch,
                      std::size_t key_bytes) {
  const SampleForm& form = dataset.form();
  BatchLayout::Bytes bytes = ready(form, mixer != nullptr);
  bytes[BatchLayout::keys] = key_bytes;
  const StoredForm* const stored = dataset.stored();
  if (form.vocabulary > 0 || (stored == nullptr && augmenter == nullptr && mixer == nullptr))
    return {BatchLayout(micro_batches, samples_per_micro_batch, bytes), {}};
  RawForm raw;
  raw.shape = shape_of(form);
  raw.stored = stored;
  if (stored != nullptr) bytes[BatchLayout::inputs] = input_floats(form) * stored->bytes;
  if (augmenter != nullptr) {
    raw.augmented = true;
    raw.fill = augmenter->fill();
    raw.colours = augmenter->colours();
    bytes[BatchLayout::changes] = sizeof(augment::Change);
  }
  if (mixer != nullptr) {
    raw.blended = true;
    bytes[BatchLayout::blends] = sizeof(augment::Blend);
    bytes[BatchLayout::inputs_b] = bytes[BatchLayout::inputs];
    bytes[BatchLayout::changes_b] = bytes[BatchLayout::changes];
  }
  return {BatchLayout(micro_batches, samples_per_micro_batch, bytes), std::move(raw)};
}

}  // namespace thalweg::engine
