// shapes: drawn images of ten figures and patterns, of random place, size, brightness and colour.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/data/noise.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {
namespace {

/// Whether the figure covers (x, y); it lies within -1 .. 1 about its centre.
using Figure = bool (*)(float x, float y);
float radius_squared(float x, float y) {
  return x * x + y * y;
}
bool in_square(float x, float y) {
  return std::abs(x) < 0.85f && std::abs(y) < 0.85f;
}
bool odd(float x) {
  return (static_cast<int>(std::floor(x)) & 1) != 0;
}
constexpr float kStripes = 2.5f;
const std::array<Figure, 10> kFigures{
    [](float x, float y) { return radius_squared(x, y) < 1; },                           // disc
    [](float x, float y) { return std::abs(radius_squared(x, y) - 0.65f) < 0.35f; },     // ring
    [](float x, float y) { return in_square(x, y); },                                    // square
    [](float x, float y) { return in_square(x, y) && !in_square(1.7f * x, 1.7f * y); },  // frame
    [](float x, float y) { return y < 0.8f && std::abs(x) < (y + 1) * 0.55f; },          // triangle
    [](float x, float y) {                                                               // cross
      return std::max(std::abs(x), std::abs(y)) < 1 && std::min(std::abs(x), std::abs(y)) < 0.3f;
    },
    [](float x, float y) { return in_square(x, y) && odd(kStripes * y); },
    [](float x, float y) { return in_square(x, y) && odd(kStripes * x); },
    [](float x, float y) { return in_square(x, y) && odd(kStripes * 0.7f * (x + y)); },
    [](float x, float y) { return in_square(x, y) && (odd(kStripes * x) != odd(kStripes * y)); }};

struct Drawing {
  std::size_t samples;
  std::int64_t channels, size;
  int classes;
  float noise;
  std::uint64_t seed;
};

class Shapes final : public Dataset {
 public:
  explicit Shapes(const Drawing& d)
      : Dataset({.input = {d.channels, d.size, d.size}, .classes = d.classes}), d_(d) {}
  std::size_t size() const override { return d_.samples; }
  void copy(std::size_t index, float* out) const override {
    const Figure figure = kFigures[index % static_cast<std::size_t>(d_.classes)];
    const auto place = philox(d_.seed, Stream::noise, 0, index);
    const float n = static_cast<float>(d_.size);
    const float half = n * (0.2f + 0.22f * uniform01(place[0]));
    const float cx = half + (n - 2 * half) * uniform01(place[1]),
                cy = half + (n - 2 * half) * uniform01(place[2]);
    for (std::int64_t c = 0; c < d_.channels; ++c) {
      const auto colour = philox(d_.seed, Stream::noise, 1 + static_cast<std::uint32_t>(c), index);
      const float ground = uniform01(colour[0]) - 0.5f,
                  figure_value =
                      ground + (colour[1] % 2 == 0 ? 1.0f : -1.0f) * (0.7f + uniform01(colour[2]));
      for (std::int64_t y = 0; y < d_.size; ++y)
        for (std::int64_t x = 0; x < d_.size; ++x) {
          const bool covered = figure((static_cast<float>(x) + 0.5f - cx) / half,
                                      (static_cast<float>(y) + 0.5f - cy) / half);
          *out++ = covered ? figure_value : ground;
        }
    }
    if (d_.noise > 0) add_noise(index, out - input_floats(form()));
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override {
    *out = static_cast<std::int32_t>(index % static_cast<std::size_t>(d_.classes));
  }

 private:
  void add_noise(std::size_t index, float* image) const {
    constexpr std::uint32_t kNoise = 1000;  // above the colours of every channel
    const std::size_t n = input_floats(form());
    for (std::size_t i = 0; i < n; i += 2) {
      const auto noise = two_bell_shaped(d_.seed, kNoise, index * n + i);
      image[i] += d_.noise * noise[0];
      if (i + 1 < n) image[i + 1] += d_.noise * noise[1];
    }
  }

  Drawing d_;
};

}  // namespace

Row shapes() {
  return {
      "shapes",
      "drawn images of discs, squares, crosses, stripes ...; needs no files",
      {int_option("samples", 12000, 2, 4e9, "how many samples, training and validation together"),
       int_option("size", 32, 8, 4096, "height and width in pixels"),
       int_option("channels", 3, 1, 512, "colours of a pixel"),
       int_option("classes", static_cast<int>(kFigures.size()), 2,
                  static_cast<double>(kFigures.size()), "number of figures"),
       float_option("noise", 0.3, 0, 100, "spread of the noise over everything"),
       int_option("seed", 1, 0, 9e15, "of the samples; not the trial's seed")},
      [](const Options& options, HeaderFacts*) -> std::unique_ptr<Dataset> {
        return std::make_unique<Shapes>(Drawing{
            static_cast<std::size_t>(options.integer("samples")), options.integer("channels"),
            options.integer("size"), static_cast<int>(options.integer("classes")),
            static_cast<float>(options.real("noise")),
            static_cast<std::uint64_t>(options.integer("seed"))});
      }};
}

}  // namespace thalweg::engine::data
