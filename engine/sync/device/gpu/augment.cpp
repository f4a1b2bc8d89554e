#include "engine/sync/device/gpu/augment.h"

#include <algorithm>

#include "engine/gpu/loops.h"

namespace thalweg::engine {

using augment::Between;
using augment::Blend;
using augment::Change;
using augment::Colour;
using augment::Fill;
using augment::Geometry;

namespace {

/// Of one sample.
struct Sizes {
  std::int64_t channels, depth, height, width;
  THALWEG_HOST_DEVICE std::int64_t pixels() const { return depth * height * width; }
  THALWEG_HOST_DEVICE std::int64_t values() const { return channels * pixels(); }
};

/// Samples as they are stored; floats have no table.
template <class T>
struct Stored {
  const T* numbers;
  const float* values;
  std::int64_t table;  ///< numbers from one channel's table to the next one's; 0: one for all
  Sizes of;

  THALWEG_HOST_DEVICE float at(std::int64_t sample, std::int64_t channel,
                               std::int64_t pixel) const {
    const T number = numbers[sample * of.values() + channel * of.pixels() + pixel];
    if constexpr (std::is_same_v<T, float>)
      return number;
    else
      return values[channel * table + number];
  }
};

/// Which samples something is done to.
struct Chosen {
  const Blend* blends;  ///< null: all; else those that are blended in
  THALWEG_HOST_DEVICE bool operator()(std::int64_t sample) const {
    return blends == nullptr || blends[sample].share != 0;
  }
};

/// A row of output pixels: Augmenter::apply() up to the colours.
template <class T>
struct Move {
  Stored<T> in;
  const Change* changes;  ///< null: samples stay as they are
  Fill fill;
  Chosen chosen;
  float* out;

  THALWEG_HOST_DEVICE void operator()(const gpu::ThreadBlock& block, std::int64_t row) const {
    const std::int64_t y = row % in.of.height, z = row / in.of.height % in.of.depth;
    const std::int64_t sample = row / in.of.height / in.of.depth;
    if (!chosen(sample)) return;
    float* const to = out + sample * in.of.values() + (z * in.of.height + y) * in.of.width;
    if (changes == nullptr) return copy(block, sample, z, y, to);
    const Geometry& g = changes[sample].geometry;
    if (g.whole_pixels())
      whole(block, g, sample, z, y, to);
    else
      between(block, g, sample, y, to);
  }

 private:
  THALWEG_HOST_DEVICE void copy(const gpu::ThreadBlock& block, std::int64_t sample, std::int64_t z,
                                std::int64_t y, float* to) const {
    for (std::int64_t x = block.rank(); x < in.of.width; x += block.size())
      for (std::int64_t c = 0; c < in.of.channels; ++c)
        to[c * in.of.pixels() + x] = in.at(sample, c, (z * in.of.height + y) * in.of.width + x);
  }

  THALWEG_HOST_DEVICE void whole(const gpu::ThreadBlock& block, const Geometry& g,
                                 std::int64_t sample, std::int64_t z, std::int64_t y,
                                 float* to) const {
    const std::int64_t zi = augment::source(g, 0, z, fill), yi = augment::source(g, 1, y, fill);
    for (std::int64_t x = block.rank(); x < in.of.width; x += block.size()) {
      const std::int64_t xi = augment::source(g, 2, x, fill);
      const bool nowhere = zi < 0 || yi < 0 || xi < 0;
      const std::int64_t from = augment::pixel_at(g, zi, yi, xi);
      for (std::int64_t c = 0; c < in.of.channels; ++c)
        to[c * in.of.pixels() + x] = nowhere ? 0.0f : in.at(sample, c, from);
    }
  }

  THALWEG_HOST_DEVICE void between(const gpu::ThreadBlock& block, const Geometry& g,
                                   std::int64_t sample, std::int64_t y, float* to) const {
    const auto source = [&](std::size_t axis, std::int64_t i) {
      const std::int64_t at = augment::inside(i, g.size[axis], fill);
      return at < 0 ? at : augment::source(g, axis, at, fill);
    };
    for (std::int64_t x = block.rank(); x < in.of.width; x += block.size()) {
      const Between place = augment::between(g, y, x);
      std::int64_t from[4];
      for (int k = 0; k < 4; ++k) {
        const std::int64_t yi = source(1, place.y + k / 2), xi = source(2, place.x + k % 2);
        from[k] = yi < 0 || xi < 0 ? -1 : augment::pixel_at(g, 0, yi, xi);
      }
      for (std::int64_t c = 0; c < in.of.channels; ++c) {
        float value = 0;
        for (std::size_t k = 0; k < 4; ++k)
          if (from[k] >= 0) value += place.weights[k] * in.at(sample, c, from[k]);
        to[c * in.of.pixels() + x] = value;
      }
    }
  }
};

/// Of each sample that has change number `colour`.
struct Means {
  const float* images;
  std::int64_t values;  ///< of an image
  const Change* changes;
  std::size_t colour;
  Chosen chosen;
  double* sums;  ///< (samples, mean_parts)
  float* means;

  THALWEG_HOST_DEVICE void operator()(const gpu::ThreadBlock& block, std::int64_t sample) const {
    if (!chosen(sample) || (changes[sample].colours >> colour & 1u) == 0) return;
    const float* const image = images + sample * values;
    double* const own = sums + sample * augment::mean_parts;
    for (std::int64_t part = block.rank(); part < augment::mean_parts; part += block.size()) {
      double sum = 0;
      for (std::int64_t i = part; i < values; i += augment::mean_parts)
        sum += static_cast<double>(image[i]);
      own[part] = sum;
    }
    block.sync();
    for (std::int64_t parts = augment::mean_parts; parts > 1; parts /= 2) {
      augment::join(own, parts, block.rank(), block.size());
      block.sync();
    }
    if (block.rank() == 0) means[sample] = augment::mean_of(own[0], values);
  }
};

/// A pixel.
struct Recolour {
  float* images;
  Sizes of;
  const Change* changes;
  std::size_t number;
  Colour colour;
  Chosen chosen;
  const float* means;

  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t pixels = of.pixels(), sample = i / pixels;
    if (!chosen(sample) || (changes[sample].colours >> number & 1u) == 0) return;
    float* const pixel = images + sample * of.values() + i % pixels;
    const float amount = changes[sample].amounts[number];
    if (colour == Colour::hue) {
      const auto turned = augment::hue_turned(pixel[0], pixel[pixels], pixel[2 * pixels], amount);
      for (std::size_t c = 0; c < 3; ++c)
        pixel[static_cast<std::int64_t>(c) * pixels] = turned[c];
      return;
    }
    float about = 0;
    if (colour == Colour::from_mean) about = means[sample];
    if (colour == Colour::from_own_grey)
      about = augment::grey(pixel[0], pixel[pixels], pixel[2 * pixels]);
    for (std::int64_t c = 0; c < of.channels; ++c)
      pixel[c * pixels] = augment::recoloured(colour, pixel[c * pixels], about, amount);
  }
};

/// A pixel: Mixer::apply().
struct Mix {
  float* images;
  const float* inputs_b;
  Sizes of;
  const Blend* blends;

  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t pixels = of.pixels(), sample = i / pixels, at = i % pixels;
    const Blend& blend = blends[sample];
    if (blend.share == 0) return;
    const std::int64_t x = at % of.width, y = at / of.width % of.height,
                       z = at / of.width / of.height;
    if (blend.box && !blend.inside(z, y, x)) return;
    for (std::int64_t c = 0; c < of.channels; ++c) {
      const std::int64_t k = sample * of.values() + c * pixels + at;
      images[k] = blend.box ? inputs_b[k] : augment::blended(images[k], inputs_b[k], blend.share);
    }
  }
};

bool needs_means(const RawForm& form) {
  return std::find(form.colours.begin(), form.colours.end(), Colour::from_mean) !=
         form.colours.end();
}

Sizes sizes_of(const RawForm& form) {
  return {form.shape[0], form.shape[1], form.shape[2], form.shape[3]};
}

}  // namespace

GpuAugment::GpuAugment(gpu::Gpu& machine, const RawForm& form, std::size_t samples)
    : form_(form),
      samples_(static_cast<std::int64_t>(samples)),
      inputs_(machine, samples * static_cast<std::size_t>(form.values()) * sizeof(float),
              "inputs of a shard") {
  if (form.stored != nullptr) {
    const std::vector<float>& values = form.stored->values;
    values_ = gpu::Memory(machine, values.size() * sizeof(float), "what stored numbers represent");
    machine.copy(values_.data(), values.data(), values.size() * sizeof(float));
  }
  if (form.blended) inputs_b_ = gpu::Memory(machine, inputs_.bytes(), "what is blended in");
  if (!needs_means(form)) return;
  sums_ = gpu::Memory(machine, samples * augment::mean_parts * sizeof(double), "sums of images");
  means_ = gpu::Memory(machine, samples * sizeof(float), "means of images");
}

std::size_t GpuAugment::bytes(const RawForm& form, std::size_t samples) {
  const std::size_t inputs = samples * static_cast<std::size_t>(form.values()) * sizeof(float);
  std::size_t all = inputs * (form.blended ? 2 : 1);
  if (form.stored != nullptr) all += form.stored->values.size() * sizeof(float);
  if (needs_means(form)) all += samples * (augment::mean_parts * sizeof(double) + sizeof(float));
  return all;
}

void GpuAugment::make(gpu::Stream& stream, const std::byte* stored, const Change* changes,
                      const Blend* blends, float* out) const {
  const Sizes sizes = sizes_of(form_);
  const Chosen chosen{blends};
  const auto move = [&]<class T>(T) {
    std::int64_t table = 0;
    if (form_.stored != nullptr && form_.stored->tables() > 1)
      table = static_cast<std::int64_t>(form_.stored->patterns());
    const Stored<T> in{reinterpret_cast<const T*>(stored), values_.floats(), table, sizes};
    const auto width = static_cast<int>(std::min<std::int64_t>(sizes.width, 256));
    gpu::for_each_row(stream, samples_ * sizes.depth * sizes.height, (width + 31) / 32 * 32,
                      Move<T>{in, changes, form_.fill, chosen, out});
  };
  if (form_.stored == nullptr)
    move(float{});
  else if (form_.stored->bytes == 1)
    move(std::uint8_t{});
  else
    move(std::uint16_t{});
  for (std::size_t i = 0; i < form_.colours.size(); ++i) {
    const Colour colour = form_.colours[i];
    if (colour == Colour::from_mean)
      gpu::for_each_row(stream, samples_, 512,
                        Means{out, sizes.values(), changes, i, chosen,
                              static_cast<double*>(sums_.data()), means_.floats()});
    gpu::for_each(stream, samples_ * sizes.pixels(),
                  Recolour{out, sizes, changes, i, colour, chosen, means_.floats()});
  }
}

void GpuAugment::run(gpu::Stream& stream, const BatchLayout& layout, const std::byte* batch,
                     std::size_t number) const {
  const auto at = [&](BatchLayout::Part part) { return batch + layout.micro_batch(part, number); };
  const auto changes = [&](BatchLayout::Part part) {
    return form_.augmented ? reinterpret_cast<const Change*>(at(part)) : nullptr;
  };
  make(stream, at(BatchLayout::inputs), changes(BatchLayout::changes), nullptr, inputs_.floats());
  if (!form_.blended) return;
  const auto* const blends = reinterpret_cast<const Blend*>(at(BatchLayout::blends));
  make(stream, at(BatchLayout::inputs_b), changes(BatchLayout::changes_b), blends,
       inputs_b_.floats());
  const Sizes sizes = sizes_of(form_);
  gpu::for_each(stream, samples_ * sizes.pixels(),
                Mix{inputs_.floats(), inputs_b_.floats(), sizes, blends});
}

}  // namespace thalweg::engine
