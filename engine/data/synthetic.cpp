// Gaussian blobs, one per class, made from a seed: needs no files.
#include <utility>

#include "engine/data/header.h"
#include "engine/data/noise.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {
namespace {

class Blobs : public Dataset {
 public:
  Blobs(std::vector<std::int64_t> shape, int classes, std::size_t samples, float noise,
        std::uint64_t seed)
      : Dataset({.input = std::move(shape), .classes = classes}),
        samples_(samples),
        floats_(input_floats(form())) {
    const std::size_t floats = floats_;
    values_.resize(samples * floats);
    std::vector<float> centres(static_cast<std::size_t>(classes) * floats);
    for (std::size_t i = 0; i < centres.size(); ++i)
      centres[i] = nearly_normal(seed, 0, i);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::size_t sample = i / floats, feature = i % floats;
      values_[i] = centres[class_of(sample) * floats + feature] + noise * nearly_normal(seed, 1, i);
    }
  }
  std::size_t size() const override { return samples_; }
  void copy(std::size_t index, float* out) const override {
    for (std::size_t i = 0; i < floats_; ++i)
      out[i] = values_[index * floats_ + i];
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override {
    *out = static_cast<std::int32_t>(class_of(index));
  }

 private:
  std::size_t class_of(std::size_t sample) const {
    return sample % static_cast<std::size_t>(classes());
  }

  std::size_t samples_;
  std::size_t floats_;
  std::vector<float> values_;
};

std::unique_ptr<Dataset> make_synthetic(const Options& options, HeaderFacts* header) {
  std::vector<std::int64_t> shape;
  for (const jobspec::Value& n : options.list("shape")) {
    if (n.as_int() < 1)
      throw std::invalid_argument("data.shape: sizes must be at least 1, found " + n.to_text());
    shape.push_back(n.as_int());
  }
  if (shape.size() != 1 && shape.size() != 3)
    throw std::invalid_argument("data.shape: expected [features] or [channels, height, width]");
  const auto classes = static_cast<int>(options.integer("classes"));
  const auto samples = static_cast<std::size_t>(options.integer("samples"));
  if (header != nullptr) {
    auto only = std::make_unique<HeaderOnly>(
        SampleForm{.input = std::move(shape), .classes = classes}, samples);
    header->held_bytes += samples * input_floats(only->form()) * sizeof(float);
    return only;
  }
  return std::make_unique<Blobs>(std::move(shape), classes, samples,
                                 static_cast<float>(options.real("noise")),
                                 static_cast<std::uint64_t>(options.integer("seed")));
}

}  // namespace

Row synthetic() {
  return {
      "synthetic",
      "Gaussian blobs made from a seed, one per class; needs no files",
      {int_option("samples", 2400, 2, 1e8, "how many samples, training and validation together"),
       int_option("classes", 10, 2, 1e6, "number of classes"),
       list_option("shape", jobspec::List{16},
                   "of one sample: [features] or [channels, height, width]"),
       float_option("noise", 1.0, 0, 1e9, "spread of a blob; the centres have spread 1"),
       int_option("seed", 1, 0, 9e15, "of the samples; not the trial's seed")},
      make_synthetic};
}

}  // namespace thalweg::engine::data
