// Puts the chosen changes together: one pass over the pixels for all that move them, then the
// colours.
#include "engine/data/augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/data/augment_table.h"
#include "engine/data/interpolate.h"
#include "engine/data/mixing.h"
#include "engine/data/pixel_answers.h"
#include "engine/tensor/random.h"
#include "jobspec/option.h"
#include "jobspec/options.h"

namespace thalweg::engine {

using augment::Change;
using augment::Colour;
using augment::Draw;
using augment::Fill;
using augment::Geometry;
using augment::Needs;

namespace {

const char* const kFills[] = {"zero", "edge", "wrap"};  // in the order of Fill

// Random numbers of one sample: a block for every change, and one for its place in the mix.
constexpr std::uint64_t kBlocks = 64;
constexpr std::uint64_t kMixBlocks = 32;

Draw draw_block(std::uint64_t seed, std::uint32_t epoch, std::uint64_t block) {
  const auto bits = philox(seed, Stream::augment, epoch, block);
  return {{uniform01(bits[0]), uniform01(bits[1]), uniform01(bits[2]), uniform01(bits[3])}};
}

/// source() of every pixel along an axis.
std::vector<std::int64_t> sources(const Geometry& g, std::size_t axis, Fill fill) {
  std::vector<std::int64_t> from(static_cast<std::size_t>(g.size[axis]));
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = augment::source(g, axis, static_cast<std::int64_t>(i), fill);
  return from;
}

template <class T>
void move_whole(const Geometry& g, Fill fill, std::int64_t channels, T outside, const T* in,
                T* out) {
  const auto z = sources(g, 0, fill), y = sources(g, 1, fill);
  auto x = sources(g, 2, fill);
  const std::int64_t plane = g.size[0] * g.size[1] * g.size[2];
  for (std::int64_t& xi : x)  // -1, outside, stays below 0
    xi *= augment::stride(g, g.axis[2]);
  for (std::int64_t c = 0; c < channels; ++c)
    for (const std::int64_t zi : z)
      for (const std::int64_t yi : y) {
        const T* row =
            zi < 0 || yi < 0 ? nullptr : in + c * plane + augment::pixel_at(g, zi, yi, 0);
        for (const std::int64_t xi : x)
          *out++ = row == nullptr || xi < 0 ? outside : row[xi];
      }
}

/// Calls each(pixel, from, weights) with the four pixels about the place that an output pixel comes
/// from; -1 = outside.
template <class Each>
void for_between(const Geometry& g, Fill fill, const Each& each) {
  const std::int64_t H = g.size[1], W = g.size[2];
  const auto rows = sources(g, 1, fill), columns = sources(g, 2, fill);
  const auto source = [fill](const std::vector<std::int64_t>& from, std::int64_t i) {
    const std::int64_t at = augment::inside(i, static_cast<std::int64_t>(from.size()), fill);
    return at < 0 ? at : from[static_cast<std::size_t>(at)];
  };
  for (std::int64_t y = 0; y < H; ++y)
    for (std::int64_t x = 0; x < W; ++x) {
      const augment::Between place = augment::between(g, y, x);
      std::array<std::int64_t, 4> from;
      for (std::size_t k = 0; k < 4; ++k) {
        const std::int64_t yi = source(rows, place.y + static_cast<std::int64_t>(k) / 2);
        const std::int64_t xi = source(columns, place.x + static_cast<std::int64_t>(k) % 2);
        from[k] = yi < 0 || xi < 0 ? -1 : augment::pixel_at(g, 0, yi, xi);
      }
      each(y * W + x, from, place.weights);
    }
}

void move_values(const Geometry& g, Fill fill, std::int64_t channels, const float* in, float* out) {
  if (g.whole_pixels())
    move_whole(g, fill, channels, 0.0f, in, out);
  else
    interpolate(g, fill, channels, in, out);
}

float mean_of(const float* values, std::int64_t n) {
  std::vector<double> sums(augment::mean_parts);
  for (std::int64_t first = 0; first < n; first += augment::mean_parts) {
    const std::int64_t count = std::min(augment::mean_parts, n - first);
    for (std::int64_t i = 0; i < count; ++i)
      sums[static_cast<std::size_t>(i)] += static_cast<double>(values[first + i]);
  }
  for (std::int64_t parts = augment::mean_parts; parts > 1; parts /= 2)
    augment::join(sums.data(), parts, 0, 1);
  return augment::mean_of(sums[0], n);
}

void recolour(Colour colour, float amount, std::int64_t channels, std::int64_t pixels,
              float* values) {
  const std::int64_t n = channels * pixels;
  if (colour == Colour::add || colour == Colour::from_mean) {
    const float about = colour == Colour::from_mean ? mean_of(values, n) : 0;
    for (std::int64_t i = 0; i < n; ++i)
      values[i] = augment::recoloured(colour, values[i], about, amount);
    return;
  }
  float *red = values, *green = red + pixels, *blue = green + pixels;
  for (std::int64_t i = 0; i < pixels; ++i) {
    if (colour == Colour::hue) {
      const auto turned = augment::hue_turned(red[i], green[i], blue[i], amount);
      red[i] = turned[0], green[i] = turned[1], blue[i] = turned[2];
      continue;
    }
    const float grey = augment::grey(red[i], green[i], blue[i]);
    for (float* one : {red, green, blue})
      one[i] = augment::recoloured(colour, one[i], grey, amount);
  }
}

[[noreturn]] void refuse(const char* name, const std::string& reason) {
  throw std::invalid_argument(std::string("augment.") + name + ": " + reason +
                              "; set it to 0 or leave it out");
}

std::string sizes_text(const std::vector<std::int64_t>& sizes) {
  std::string text;
  for (const std::int64_t n : sizes)
    text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text;
}

void require_fit(const augment::Row& row, const SampleForm& form) {
  if (form.vocabulary > 0) refuse(row.name, "the samples are tokens, not images");
  if (form.input.size() < 3)
    refuse(row.name, "the samples are " + std::to_string(form.input.size()) +
                         "-dimensional, not images (c, h, w)");
  const auto& input = form.input;
  if (row.needs == Needs::cube &&
      (input.size() != 4 || input[1] != input[3] || input[2] != input[3]))
    refuse(row.name, "only volumes of equal sides can be turned so, the samples are " +
                         sizes_text(input) + " (rotate90 turns height and width alone)");
  if (row.needs == Needs::square && input[input.size() - 2] != input.back())
    refuse(row.name, "height and width must be equal, the samples are " + sizes_text(input));
  if ((row.needs == Needs::image || row.needs == Needs::colours) && form.input.size() != 3)
    refuse(row.name, "only images (c, h, w) can be changed so, the samples have " +
                         std::to_string(form.input.size()) + " dimensions");
  if (row.needs == Needs::colours && form.input[0] != 3)
    refuse(row.name, "the images have " + std::to_string(form.input[0]) + " channels, not 3");
  if (row.move != nullptr && answers_of(form) == Answers::of_other_places)
    refuse(row.name,
           "every position has a label or target of its own, but the positions are not the image's "
           "pixels and cannot move along. Give targets that do not depend on position as n x k");
}

}  // namespace

Augmenter::Augmenter(const jobspec::Value& tree, const SampleForm& form) {
  const jobspec::Options options(tree, augment_schema().options, "augment.");
  fill_ = static_cast<Fill>(std::find(std::begin(kFills), std::end(kFills), options.text("fill")) -
                            std::begin(kFills));
  const bool of_pixels = answers_of(form) == Answers::of_pixels;
  const auto& rows = augment::table();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double amount = options.real(rows[i].name);
    if (amount == 0) continue;
    require_fit(rows[i], form);
    if (rows[i].move != nullptr && of_pixels) {
      moves_answers_ = true;
      if (form.targets > 0 && fill_ == Fill::zero && !rows[i].stays_inside)
        throw std::invalid_argument(
            std::string("augment.") + rows[i].name +
            ": the targets belong to pixels, and there are none outside the "
            "image; set augment.fill to edge or wrap");
    }
    active_.push_back({&rows[i], static_cast<std::uint32_t>(i), amount, colours_.size()});
    if (rows[i].colour_amount != nullptr) colours_.push_back(rows[i].colour);
  }
  mix_ = static_cast<std::size_t>(options.integer("mix"));
  if (colours_.size() > augment::max_colours)
    throw std::logic_error("augment::max_colours is less than the table has");
  if (active_.empty()) return;
  shape_ = form.input;
  if (moves_answers_) target_channels_ = form.targets / pixels_of(form);
  if (shape_.size() == 3) shape_.insert(shape_.begin() + 1, 1);
}

std::vector<Augmenter::Active> Augmenter::choose(std::uint64_t seed, std::uint32_t epoch,
                                                 std::uint64_t sample) const {
  if (mix_ == 0 || mix_ >= active_.size()) return active_;
  std::vector<std::pair<float, std::size_t>> order;
  for (std::size_t i = 0; i < active_.size(); ++i)
    order.emplace_back(
        draw_block(seed, epoch, sample * kBlocks + kMixBlocks + active_[i].number).u[0], i);
  std::sort(order.begin(), order.end());
  std::vector<Active> chosen;
  for (std::size_t i = 0; i < active_.size(); ++i)  // in the order of the table
    if (std::find_if(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(mix_),
                     [i](const auto& o) { return o.second == i; }) !=
        order.begin() + static_cast<std::ptrdiff_t>(mix_))
      chosen.push_back(active_[i]);
  return chosen;
}

Change Augmenter::draw(std::uint64_t seed, std::uint32_t epoch, std::uint64_t sample) const {
  Change change;
  change.geometry.size = {shape_[1], shape_[2], shape_[3]};
  for (const Active& a : choose(seed, epoch, sample)) {
    const Draw drawn = draw_block(seed, epoch, sample * kBlocks + a.number);
    if (a.row->move != nullptr) a.row->move(change.geometry, drawn, a.amount);
    if (a.row->colour_amount == nullptr) continue;
    change.amounts[a.colour] = a.row->colour_amount(drawn, a.amount);
    change.colours |= 1u << a.colour;
  }
  return change;
}

void Augmenter::move(const Change& change, const std::int32_t* labels, std::int32_t* out) const {
  const Geometry& g = change.geometry;
  if (g.whole_pixels()) return move_whole(g, fill_, 1, kNoLabel, labels, out);
  for_between(g, fill_, [&](std::int64_t pixel, const auto& from, const auto& weights) {
    const std::int64_t nearest = from[static_cast<std::size_t>(
        std::max_element(weights.begin(), weights.end()) - weights.begin())];
    out[pixel] = nearest < 0 ? kNoLabel : labels[nearest];
  });
}

void Augmenter::move(const Change& change, const float* targets, float* out) const {
  move_values(change.geometry, fill_, target_channels_, targets, out);
}

void Augmenter::apply(const Change& change, const float* in, float* out) const {
  move_values(change.geometry, fill_, shape_[0], in, out);
  for (std::size_t i = 0; i < colours_.size(); ++i)
    if (change.colours >> i & 1u)
      recolour(colours_[i], change.amounts[i], shape_[0], shape_[1] * shape_[2] * shape_[3], out);
}

jobspec::Section augment_schema() {
  jobspec::Section section;
  section.path = "augment";
  section.doc = "Random changes of training images, new ones in every epoch; 0 = off";
  for (const augment::Row& row : augment::table())
    section.options.push_back(jobspec::float_option(row.name, 0.0, 0, row.max, row.doc));
  section.options.push_back(
      jobspec::int_option("mix", 0, 0, jobspec::no_limit,
                          "how many of these, drawn anew, a sample gets; 0 = all of them"));
  section.options.push_back(jobspec::choice_option(
      "fill", {std::begin(kFills), std::end(kFills)},
      "what fills the area outside the image: zeros, the mean grey where the data is normalised "
      "(labels of pixels: none), its edge, or the opposite side"));
  for (jobspec::Option& option : mixing_options())
    section.options.push_back(std::move(option));
  return section;
}

}  // namespace thalweg::engine
