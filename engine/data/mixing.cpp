#include "engine/data/mixing.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "engine/data/pixel_answers.h"
#include "engine/data/table.h"
#include "engine/tensor/random.h"

namespace thalweg::engine {
namespace {

// Random numbers of a sample: block 0 chooses, block 1 places the box, the rest find the share.
constexpr std::uint64_t kBlocks = std::uint64_t{1} << 20;
constexpr std::uint64_t kBeta = 2;

struct Draws {
  std::uint64_t seed;
  std::uint32_t epoch;
  std::uint64_t sample;

  std::array<std::uint32_t, 4> block(std::uint64_t number) const {
    return philox(seed, Stream::mixing, epoch, sample * kBlocks + number);
  }
};

/// From Beta(alpha, alpha) by Jöhnk's method: U^(1/alpha) and V^(1/alpha) where their sum is at
/// most 1. With alpha up to kLargest one try in seventy or more is taken.
constexpr double kLargest = 4;
double beta(const Draws& draws, double alpha) {
  for (std::uint64_t tries = 0; tries + kBeta < kBlocks; ++tries) {
    const auto bits = draws.block(kBeta + tries);
    for (std::size_t i = 0; i < 4; i += 2) {
      const double x = std::pow(static_cast<double>(uniform01(bits[i])), 1 / alpha);
      const double y = std::pow(static_cast<double>(uniform01(bits[i + 1])), 1 / alpha);
      if (x + y > 0 && x + y <= 1) return x / (x + y);
    }
  }
  return 0.5;
}

[[noreturn]] void refuse(const char* name, const std::string& reason) {
  throw std::invalid_argument(std::string("augment.") + name + ": " + reason +
                              "; set it to 0 or leave it out");
}

}  // namespace

Mixer::Mixer(const jobspec::Value& tree, const SampleForm& form) {
  const jobspec::Options options(tree, mixing_options(), "augment.");
  mixup_ = options.real("mixup");
  cutmix_ = options.real("cutmix");
  chance_ = options.real("mixing_chance");
  if (idle()) return;
  const char* name = mixup_ > 0 ? "mixup" : "cutmix";
  if (form.vocabulary > 0) refuse(name, "tokens cannot be blended");
  const Answers answers = answers_of(form);
  if (form.labels > 1 && (mixup_ > 0 || answers != Answers::of_pixels))
    refuse(name, mixup_ > 0 ? "every position has a label of its own, which can be no weighted sum"
                            : "the labels have positions that are not the image's pixels");
  if (cutmix_ > 0 && form.input.size() < 3)
    refuse("cutmix", "the samples are " + std::to_string(form.input.size()) +
                         "-dimensional, not images (c, h, w)");
  if (cutmix_ > 0 && answers == Answers::of_other_places)
    refuse("cutmix", "the targets have positions that are not the image's pixels");
  floats_ = input_floats(form);
  if (answers == Answers::of_pixels) target_channels_ = form.targets / pixels_of(form);
  if (form.input.size() < 3) return;
  channels_ = form.input[0];
  std::copy(form.input.begin() + 1, form.input.end(),
            size_.end() - static_cast<std::ptrdiff_t>(form.input.size() - 1));
}

Blend Mixer::blend(std::uint64_t seed, std::uint32_t epoch, std::uint64_t sample,
                   std::uint64_t samples) const {
  const Draws draws{seed, epoch, sample};
  const auto bits = draws.block(0);
  Blend blend;
  blend.sample_b = ((std::uint64_t{bits[0]} << 32) | bits[1]) % samples;
  if (static_cast<double>(uniform01(bits[2])) >= chance_) return blend;
  const bool cut = mixup_ == 0 || (cutmix_ > 0 && bits[3] >> 31 != 0);
  const double share = 1 - beta(draws, cut ? cutmix_ : mixup_);
  if (!cut) {
    blend.share = static_cast<float>(share);
    return blend;
  }
  // A box of that share of the volume about any point; the image's edge may cut it.
  blend.box = true;
  const auto axes = std::count_if(size_.begin(), size_.end(), [](auto n) { return n > 1; });
  const double side = std::pow(share, 1 / static_cast<double>(std::max<std::ptrdiff_t>(1, axes)));
  const auto centre = draws.block(1);
  double volume = 1;
  for (std::size_t a = 0; a < 3; ++a) {
    const auto n = static_cast<double>(size_[a]);
    const double at = static_cast<double>(uniform01(centre[a])) * n, half = side * n / 2;
    const auto edge = [&](double x) {
      return static_cast<std::int64_t>(std::clamp(std::round(x), 0.0, n));
    };
    blend.first[a] = size_[a] > 1 ? edge(at - half) : 0;
    blend.end[a] = size_[a] > 1 ? edge(at + half) : size_[a];
    volume *= static_cast<double>(blend.end[a] - blend.first[a]) / n;
  }
  blend.share = static_cast<float>(volume);
  return blend;
}

template <class T>
void Mixer::put_box(const Blend& blend, std::int64_t channels, const T* b, T* a) const {
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t z = blend.first[0]; z < blend.end[0]; ++z)
      for (std::int64_t y = blend.first[1]; y < blend.end[1]; ++y) {
        const std::int64_t row = ((c * size_[0] + z) * size_[1] + y) * size_[2];
        std::copy(b + row + blend.first[2], b + row + blend.end[2], a + row + blend.first[2]);
      }
}

void Mixer::apply(const Blend& blend, const float* inputs_b, float* inputs) const {
  if (blend.box) return put_box(blend, channels_, inputs_b, inputs);
  for (std::size_t i = 0; i < floats_; ++i)
    inputs[i] = augment::blended(inputs[i], inputs_b[i], blend.share);
}

void Mixer::apply_to_targets(const Blend& blend, const float* targets_b,
                             std::span<float> targets) const {
  if (blend.box && target_channels_ > 0)
    return put_box(blend, target_channels_, targets_b, targets.data());
  for (std::size_t i = 0; i < targets.size(); ++i)
    targets[i] = augment::blended(targets[i], targets_b[i], blend.share);
}

void Mixer::apply_to_labels(const Blend& blend, const std::int32_t* labels_b,
                            std::int32_t* labels) const {
  put_box(blend, 1, labels_b, labels);
}

std::vector<jobspec::Option> mixing_options() {
  using data::float_option;
  return {
      float_option("mixup", 0, 0, kLargest,
                   "alpha of mixup: inputs and labels are weighted sums of two samples, shares "
                   "from Beta(alpha, alpha)"),
      float_option("cutmix", 0, 0, kLargest,
                   "alpha of cutmix: a box of another sample's pixels, with their labels or "
                   "targets where pixels have some, else labels weighted by its share of the "
                   "image. With mixup, a sample gets one of the two"),
      float_option("mixing_chance", 1, 0, 1, "part of the samples that mixup and cutmix change")};
}

}  // namespace thalweg::engine
