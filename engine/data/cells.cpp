// cells: images or volumes full of objects of several kinds, each with a dark membrane about it,
// and what segmentation is taught by: the kind of every pixel (U-Net), which pixels are inside of
// any (binary masks), or the one object at the centre, a part of which is known (flood filling).
// Brightness tells kinds apart from nothing but the ground, and objects that touch only by their
// membranes: a network has to look at shapes.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/data/noise.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {
namespace {

using Point = std::array<float, 3>;  // (d, h, w); 0 along axes that images have not

/// Whether the object covers a place; it lies within -1 .. 1 about its centre.
using CellKind = bool (*)(const Point& at, int axes);

float radius_squared(const Point& at) {
  return at[0] * at[0] + at[1] * at[1] + at[2] * at[2];
}
float farthest(const Point& at) {
  return std::max({std::abs(at[0]), std::abs(at[1]), std::abs(at[2])});
}

const std::array<CellKind, 4> kKinds{
    [](const Point& at, int) { return radius_squared(at) < 1; },  // ellipsoid
    [](const Point& at, int) { return farthest(at) < 0.85f; },    // box
    [](const Point& at, int axes) {                               // cross of bars along the axes
      int thin = 3 - axes;
      for (int a = 3 - axes; a < 3; ++a)
        thin += std::abs(at[static_cast<std::size_t>(a)]) < 0.45f ? 1 : 0;
      return farthest(at) < 1 && thin >= 2;
    },
    [](const Point& at, int) {  // shell
      const float r = radius_squared(at);
      return r > 0.2f && r < 1;
    }};
constexpr std::uint32_t kWithMiddle = 3;  // the first kinds cover their centre

constexpr float kMembrane = -1;  // value; the ground's is 0

// Blocks of random numbers of a sample: two for each object, then its values in each channel.
enum Draws : std::uint32_t { kCount = 0, kObjects = 1, kKnown = 900, kNoise = 999, kValues = 1000 };
constexpr int kMaxObjects = 256;

struct Picture {
  std::size_t samples;
  std::vector<std::int64_t> shape;  ///< (c, h, w) or (c, d, h, w)
  int kinds, objects;
  enum class Labels { kinds, inside, object } labels;
  float noise;
  float anywhere;  ///< part of the samples whose centre need not be in an object
  std::uint64_t seed;

  int axes() const { return static_cast<int>(shape.size()) - 1; }
};

struct Object {
  std::uint32_t kind;
  Point centre, half;  ///< in pixels
};

SampleForm form_of(const Picture& p) {
  SampleForm form;
  form.input = p.shape;
  form.answers.assign(p.shape.begin() + 1, p.shape.end());
  std::int64_t pixels = 1;
  for (const std::int64_t n : form.answers)
    pixels *= n;
  if (p.labels == Picture::Labels::kinds) {
    form.classes = p.kinds + 1;
    form.labels = pixels;
    return form;
  }
  if (p.labels == Picture::Labels::object) form.input[0] += 1;
  form.labels = 0;
  form.targets = pixels;
  return form;
}

class Cells final : public Dataset {
 public:
  explicit Cells(Picture picture) : Dataset(form_of(picture)), p_(std::move(picture)) {
    std::copy(p_.shape.begin() + 1, p_.shape.end(), size_.end() - p_.axes());
    pixels_ = static_cast<std::size_t>(size_[0] * size_[1] * size_[2]);
    centre_ = static_cast<std::size_t>((size_[0] / 2 * size_[1] + size_[1] / 2) * size_[2] +
                                       size_[2] / 2);
  }
  std::size_t size() const override { return p_.samples; }

  void copy(std::size_t index, float* out) const override {
    const std::vector<std::int16_t> who = draw(index);
    const auto channels = static_cast<std::size_t>(p_.shape[0]);
    for (std::size_t c = 0; c < channels; ++c) {
      float* const channel = out + c * pixels_;
      std::array<float, kMaxObjects> values;
      for (std::uint32_t k = 0; k < values.size(); ++k)
        values[k] = 0.6f + 0.8f * uniform01(random(kValues + k, index * channels + c)[0]);
      for (std::size_t i = 0; i < pixels_; ++i)
        channel[i] = who[i] == kGround ? 0 : who[i] < 0 ? kMembrane : values[at(who[i])];
    }
    if (p_.noise > 0) add_noise(index, out, channels * pixels_);
    if (p_.labels == Picture::Labels::object) put_known(index, who, out + channels * pixels_);
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override {
    const std::vector<Object> objects = objects_of(index);
    for (const std::int16_t who : draw(index))
      *out++ = who < 0 ? 0 : 1 + static_cast<std::int32_t>(objects[at(who)].kind);
  }
  void copy_targets(std::size_t index, float* out) const override {
    const std::vector<std::int16_t> who = draw(index);
    const std::int16_t wanted = who[centre_];
    const bool any = p_.labels == Picture::Labels::inside;
    for (const std::int16_t w : who)
      *out++ = w >= 0 && (any || w == wanted) ? 1 : 0;
  }

 private:
  static constexpr std::int16_t kGround = -1, kOfMembrane = -2;
  static std::size_t at(std::int16_t who) { return static_cast<std::size_t>(who); }

  std::array<std::uint32_t, 4> random(std::uint32_t block, std::uint64_t number) const {
    return philox(p_.seed, Stream::noise, block, number);
  }

  /// Between half of them and all, in the order in which they hide one another; of flood filling
  /// the last is the one at the centre, unless that is anywhere.
  std::vector<Object> objects_of(std::size_t index) const {
    const auto most = static_cast<std::uint32_t>(p_.objects);
    const std::uint32_t count = (most + 1) / 2 + below(random(kCount, index)[0], most / 2 + 1);
    const bool has_central = p_.labels == Picture::Labels::object &&
                             uniform01(random(kKnown + 2, index)[0]) >= p_.anywhere;
    std::vector<Object> objects;
    for (std::uint32_t k = 0; k < count; ++k) {
      const auto place = random(kObjects + 2 * k, index),
                 size = random(kObjects + 2 * k + 1, index);
      Object object{below(place[3], static_cast<std::uint32_t>(p_.kinds)), {}, {1, 1, 1}};
      const bool central = has_central && k + 1 == count;
      for (std::size_t a = 0; a < 3; ++a) {
        const auto n = static_cast<float>(size_[a]);
        if (size_[a] == 1) continue;
        object.half[a] = std::max(2.5f, n * (0.14f + 0.16f * uniform01(size[a])));
        object.centre[a] = n * uniform01(place[a]) - 0.5f;
        if (!central) continue;
        object.half[a] = std::max(2.5f, n * (0.2f + 0.4f * uniform01(size[a])));
        object.centre[a] = static_cast<float>(size_[a] / 2) +
                           object.half[a] * 0.2f * (2 * uniform01(place[a]) - 1);
      }
      if (central)
        object.kind = below(
            place[3], std::min<std::uint32_t>(kWithMiddle, static_cast<std::uint32_t>(p_.kinds)));
      objects.push_back(object);
    }
    return objects;
  }

  /// Which object every pixel shows, or kGround or kOfMembrane.
  std::vector<std::int16_t> draw(std::size_t index) const {
    std::vector<std::int16_t> who(pixels_, kGround);
    std::int16_t number = 0;
    for (const Object& object : objects_of(index))
      put(object, number++, who);
    return who;
  }

  void put(const Object& o, std::int16_t number, std::vector<std::int16_t>& who) const {
    std::array<std::int64_t, 3> first{}, end{};
    for (std::size_t a = 0; a < 3; ++a) {
      const auto edge = [&](float x) {
        return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(x)), 0, size_[a]);
      };
      first[a] = edge(o.centre[a] - o.half[a]), end[a] = edge(o.centre[a] + o.half[a] + 2);
    }
    const CellKind kind = kKinds[o.kind];
    std::array<std::int64_t, 3> i;
    for (i[0] = first[0]; i[0] < end[0]; ++i[0])
      for (i[1] = first[1]; i[1] < end[1]; ++i[1])
        for (i[2] = first[2]; i[2] < end[2]; ++i[2]) {
          Point out{}, in{};  // relative to the object, and to what is inside its membrane
          for (std::size_t a = 0; a < 3; ++a) {
            if (size_[a] == 1) continue;
            const float off = static_cast<float>(i[a]) - o.centre[a];
            out[a] = off / o.half[a], in[a] = off / (o.half[a] - 1);
          }
          if (!kind(out, p_.axes())) continue;
          who[static_cast<std::size_t>((i[0] * size_[1] + i[1]) * size_[2] + i[2])] =
              kind(in, p_.axes()) ? number : kOfMembrane;
        }
  }

  void add_noise(std::size_t index, float* values, std::size_t n) const {
    for (std::size_t i = 0; i < n; i += 2) {
      const auto noise = two_bell_shaped(p_.seed, kNoise, index * n + i);
      values[i] += p_.noise * noise[0];
      if (i + 1 < n) values[i + 1] += p_.noise * noise[1];
    }
  }

  /// What is known of the object: all of it that lies in a box of any size about the centre.
  void put_known(std::size_t index, const std::vector<std::int16_t>& who, float* out) const {
    const std::int16_t wanted = who[centre_];
    const auto bits = random(kKnown, index), more = random(kKnown + 1, index);
    std::array<std::int64_t, 3> first, end;
    for (std::size_t a = 0; a < 3; ++a) {
      const auto half = static_cast<std::uint32_t>(size_[a] / 2);
      first[a] = half - below(bits[a], half + 1);
      end[a] = half + 1 + below(more[a], half);
    }
    std::array<std::int64_t, 3> i;
    std::size_t pixel = 0;
    for (i[0] = 0; i[0] < size_[0]; ++i[0])
      for (i[1] = 0; i[1] < size_[1]; ++i[1])
        for (i[2] = 0; i[2] < size_[2]; ++i[2], ++pixel) {
          bool within = true;
          for (std::size_t a = 0; a < 3; ++a)
            within = within && i[a] >= first[a] && i[a] < end[a];
          out[pixel] = within && wanted >= 0 && who[pixel] == wanted ? 1 : 0;
        }
    out[centre_] = 1;  // the seed
  }

  Picture p_;
  std::array<std::int64_t, 3> size_{1, 1, 1};  ///< (d, h, w)
  std::size_t pixels_ = 1, centre_ = 0;
};

std::vector<std::int64_t> read_shape(const jobspec::List& sizes) {
  std::vector<std::int64_t> shape;
  for (const jobspec::Value& n : sizes) {
    if (!n.is_int() || n.as_int() < 1 || n.as_int() > 4096)
      throw std::invalid_argument("data.shape: sizes must be whole numbers from 1 to 4096, found " +
                                  n.to_text());
    shape.push_back(n.as_int());
  }
  if (shape.size() != 3 && shape.size() != 4)
    throw std::invalid_argument(
        "data.shape: expected [channels, height, width] or [channels, depth, height, width]");
  for (std::size_t a = 1; a < shape.size(); ++a)
    if (shape[a] < 8)
      throw std::invalid_argument("data.shape: an object takes 8 pixels along each axis, found " +
                                  std::to_string(shape[a]));
  return shape;
}

}  // namespace

Row cells() {
  return {
      "cells",
      "images or volumes of objects with membranes, labels or targets of every pixel; needs no "
      "files",
      {int_option("samples", 2400, 2, 4e9, "how many samples, training and validation together"),
       list_option("shape", jobspec::List{1, 32, 32},
                   "[channels, height, width] or [channels, depth, height, width]"),
       choice_option("predict", {"kinds", "inside", "object"},
                     "kinds: labels, 0 outside of the objects and on membranes; inside: targets "
                     "0 or 1; object: of the object at the centre alone, a part of which is a "
                     "further channel (flood filling)"),
       int_option("kinds", static_cast<int>(kKinds.size()), 1, static_cast<double>(kKinds.size()),
                  "of objects: ellipsoid, box, cross, shell"),
       int_option("objects", 6, 1, kMaxObjects, "in a sample at most; half as many at least"),
       float_option("noise", 0.3, 0, 100, "spread of the noise over everything"),
       float_option("anywhere", 0, 0, 1,
                    "of object: part of the samples whose centre is anywhere; in no object, "
                    "nothing is to be found, so that seeds there are turned down"),
       int_option("seed", 1, 0, 9e15, "of the samples; not the trial's seed")},
      [](const Options& options, HeaderFacts*) -> std::unique_ptr<Dataset> {
        const std::string& predict = options.text("predict");
        return std::make_unique<Cells>(Picture{
            static_cast<std::size_t>(options.integer("samples")), read_shape(options.list("shape")),
            static_cast<int>(options.integer("kinds")),
            static_cast<int>(options.integer("objects")),
            predict == "kinds"    ? Picture::Labels::kinds
            : predict == "inside" ? Picture::Labels::inside
                                  : Picture::Labels::object,
            static_cast<float>(options.real("noise")), static_cast<float>(options.real("anywhere")),
            static_cast<std::uint64_t>(options.integer("seed"))});
      }};
}

}  // namespace thalweg::engine::data
