// Augmentations on images small enough to work out by hand.
#include "engine/data/augment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>

#include "engine/data/augment_table.h"
#include "engine/data/loader.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Value;
using testing::ElementsAre;
using testing::HasSubstr;

SampleForm image_form(std::vector<std::int64_t> shape) {
  return {.input = std::move(shape), .classes = 2};
}

/// The image 1, 2, 3, ... after its augmentation.
std::vector<float> changed(const Value& options, std::vector<std::int64_t> shape,
                           std::uint64_t sample = 0, std::uint32_t epoch = 0,
                           std::uint64_t seed = 1) {
  const SampleForm form = image_form(std::move(shape));
  std::vector<float> in(input_floats(form)), out(in.size(), NAN);
  std::iota(in.begin(), in.end(), 1.0f);
  Augmenter(options, form).apply(seed, epoch, sample, in.data(), out.data());
  return out;
}

TEST(Augment, FlipsAlongEachAxis) {
  EXPECT_THAT(changed(Map{{"flip", 1.0}}, {1, 2, 3}), ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(changed(Map{{"flip_vertical", 1.0}}, {1, 2, 3}), ElementsAre(4, 5, 6, 1, 2, 3));
  EXPECT_THAT(changed(Map{{"flip_depth", 1.0}}, {1, 2, 1, 2}), ElementsAre(3, 4, 1, 2));
  EXPECT_THAT(changed(Map{{"flip", 1.0}}, {2, 1, 2}), ElementsAre(2, 1, 4, 3));
}

TEST(Augment, FlipHappensAsOftenAsAskedFor) {
  int flipped = 0;
  for (std::uint64_t sample = 0; sample < 2000; ++sample)
    flipped += changed(Map{{"flip", 0.3}}, {1, 1, 2}, sample)[0] == 2;
  EXPECT_NEAR(flipped, 600, 80);  // four standard deviations
}

TEST(Augment, CropMovesByWholePixelsAndFills) {
  std::set<std::vector<float>> seen;
  for (std::uint64_t sample = 0; sample < 200; ++sample)
    seen.insert(changed(Map{{"crop", 1.0}}, {1, 1, 3}, sample));
  EXPECT_EQ(seen, (std::set<std::vector<float>>{{1, 2, 3}, {0, 1, 2}, {2, 3, 0}}));
  seen.clear();
  for (std::uint64_t sample = 0; sample < 200; ++sample)
    seen.insert(changed(Map{{"crop", 1.0}, {"fill", "edge"}}, {1, 1, 3}, sample));
  EXPECT_EQ(seen, (std::set<std::vector<float>>{{1, 2, 3}, {1, 1, 2}, {2, 3, 3}}));
  seen.clear();
  for (std::uint64_t sample = 0; sample < 200; ++sample)
    seen.insert(changed(Map{{"crop", 1.0}, {"fill", "wrap"}}, {1, 1, 3}, sample));
  EXPECT_EQ(seen, (std::set<std::vector<float>>{{1, 2, 3}, {3, 1, 2}, {2, 3, 1}}));
}

/// Every image that `options` make of 1, 2, 3, ...
std::set<std::vector<float>> all_changed(const Value& options, std::vector<std::int64_t> shape) {
  std::set<std::vector<float>> seen;
  for (std::uint64_t sample = 0; sample < 400; ++sample)
    seen.insert(changed(options, shape, sample));
  return seen;
}

TEST(Augment, QuarterTurnsAreNumPys) {
  // numpy.rot90 of [[1, 2], [3, 4]] by 1, 2 and 3 quarters
  const std::set<std::vector<float>> turned{{2, 4, 1, 3}, {4, 3, 2, 1}, {3, 1, 4, 2}};
  EXPECT_EQ(all_changed(Map{{"rotate90", 1.0}}, {1, 2, 2}), turned);
  // Each plane of a volume alike, and it need not be a cube.
  const std::set<std::vector<float>> volumes{
      {2, 4, 1, 3, 6, 8, 5, 7}, {4, 3, 2, 1, 8, 7, 6, 5}, {3, 1, 4, 2, 7, 5, 8, 6}};
  EXPECT_EQ(all_changed(Map{{"rotate90", 1.0}}, {1, 2, 2, 2}), volumes);
  EXPECT_EQ(all_changed(Map{{"rotate90", 0.5}}, {1, 2, 2}).size(), 4u);
  // With flips: all eight ways to lay a square.
  EXPECT_EQ(all_changed(Map{{"rotate90", 0.5}, {"flip", 0.5}}, {1, 2, 2}).size(), 8u);
}

TEST(Augment, QuarterTurnsComeBeforeWhatMovesTheImage) {
  // A shift along the width stays one of columns, whatever the turn was.
  const auto turned_and_moved = [](float u) {
    augment::Geometry g;
    g.size = {1, 3, 3};
    augment::table().at("rotate90").move(g, {{0, u, 0, 0}}, 1);
    g.shift[2] = 1;
    std::vector<std::int64_t> from;
    for (std::int64_t y = 0; y < 3; ++y)
      for (std::int64_t x = 0; x < 3; ++x) {
        const auto at = [&](std::size_t axis, std::int64_t i) {
          return augment::source(g, axis, i, augment::Fill::zero);
        };
        from.push_back(at(2, x) < 0 ? -1 : augment::pixel_at(g, 0, at(1, y), at(2, x)));
      }
    return from;
  };
  // rot90 of 0 .. 8 is [[2, 5, 8], [1, 4, 7], [0, 3, 6]]
  EXPECT_THAT(turned_and_moved(0), ElementsAre(5, 8, -1, 4, 7, -1, 3, 6, -1));
}

TEST(Augment, TurnsOfACubeAreItsRotations) {
  const auto turned = all_changed(Map{{"rotate90_3d", 1.0}}, {1, 2, 2, 2});
  EXPECT_EQ(turned.size(), 23u);
  EXPECT_FALSE(turned.contains({1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_FALSE(turned.contains({5, 6, 7, 8, 1, 2, 3, 4})) << "a mirror image";
  for (const std::vector<float>& cube : turned) {
    // Corners that were neighbours are, and no mirror image came out: the three edges out of the
    // first corner keep their hand.
    const auto place = [](float corner) {
      const int i = static_cast<int>(corner) - 1;
      return std::array<int, 3>{i >> 2 & 1, i >> 1 & 1, i & 1};
    };
    int edges[3][3];
    for (int a = 0; a < 3; ++a)
      for (std::size_t k = 0; k < 3; ++k)
        edges[a][k] = place(cube[static_cast<std::size_t>(4 >> a)])[k] - place(cube[0])[k];
    const auto& e = edges;
    EXPECT_EQ(e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) -
                  e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
                  e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]),
              1);
  }
}

TEST(Augment, TheTableNamesTheNearestRow) {
  EXPECT_EQ(augment::table().find("rotat"), nullptr);
  try {
    augment::table().at("rotat", "augment");
    ADD_FAILURE() << "found";
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), HasSubstr("no augmentation 'rotat', did you mean 'rotate'?"));
  }
}

/// The augmentation `name` with a fixed draw instead of a random one.
augment::Geometry moved(const std::string& name, float u, double amount) {
  augment::Geometry g;
  g.size = {1, 5, 5};
  augment::table().at(name).move(g, {{u, 0.5f, 0.5f, 0.5f}}, amount);
  return g;
}

TEST(Augment, MatricesSayWhereAPixelComesFrom) {
  const auto quarter = moved("rotate", 1, 90);  // the end of the range: 90 degrees
  EXPECT_NEAR(quarter.yy, 0, 1e-12);
  EXPECT_NEAR(quarter.yx, -1, 1e-12);
  EXPECT_NEAR(quarter.xy, 1, 1e-12);
  const auto twice = moved("scale", 1, 0.5);  // 1.5 times as large: from nearer to the centre
  EXPECT_NEAR(twice.yy, 1 / 1.5, 1e-12);
  EXPECT_NEAR(twice.xx, 1 / 1.5, 1e-12);
  const auto stretched = moved("stretch", 1, 0.5);
  EXPECT_NEAR(stretched.yy * stretched.xx, 1, 1e-12);  // keeps the area
  EXPECT_NEAR(stretched.xx / stretched.yy, 1.5, 1e-12);
  EXPECT_NEAR(moved("shear", 1, 0.25).xy, 0.25, 1e-12);
  EXPECT_NEAR(moved("translate", 0, 0.2).y0, -1, 1e-12);
  EXPECT_NEAR(moved("lens", 0, 0.3).lens, -0.3, 1e-7);
  EXPECT_TRUE(moved("rotate", 0.5, 90).whole_pixels());
}

TEST(Augment, MovingKeepsWhatItMustKeep) {
  // A bright spot in the centre stays there under everything that turns about the centre.
  const SampleForm form = image_form({1, 5, 5});
  std::vector<float> spot(25, 0.0f), out(25);
  spot[12] = 1;
  const Value centred =
      Map{{"rotate", 180.0}, {"scale", 0.5}, {"stretch", 0.3}, {"shear", 0.5}, {"lens", 0.4}};
  for (std::uint64_t sample = 0; sample < 50; ++sample) {
    Augmenter(centred, form).apply(1, 0, sample, spot.data(), out.data());
    EXPECT_NEAR(out[12], 1, 1e-6) << sample;
  }
  // An even surface stays even where the edge goes on for ever.
  std::vector<float> even(25, 3.5f);
  Value everything = centred;
  everything.set("translate", 0.4);
  everything.set("fill", "edge");
  Augmenter(everything, form).apply(1, 0, 7, even.data(), out.data());
  for (const float v : out)
    EXPECT_NEAR(v, 3.5f, 1e-5f);
}

TEST(Augment, ColoursChangeWithinTheirRange) {
  const auto bright = changed(Map{{"brightness", 0.5}}, {1, 1, 2}, 3);
  EXPECT_NEAR(bright[1] - bright[0], 1, 1e-6);
  EXPECT_LE(std::abs(bright[0] - 1), 0.5);
  EXPECT_NE(bright[0], 1);
  const auto contrast = changed(Map{{"contrast", 0.5}}, {1, 1, 3}, 3);
  EXPECT_NEAR(contrast[1], 2, 1e-6);
  EXPECT_NEAR(contrast[0] + contrast[2], 4, 1e-6);
  EXPECT_NE(contrast[0], 1);
  const auto colour = changed(Map{{"saturation", 0.5}}, {3, 1, 1}, 3);
  EXPECT_NEAR(colour[0] + colour[1] + colour[2], 6, 1e-6);
  EXPECT_NE(colour[0], 1);
}

TEST(Augment, HueTurnsColoursAboutGrey) {
  const auto turned = [](std::array<float, 3> c, double share) {
    return augment::hue_turned(c[0], c[1], c[2],
                               static_cast<float>(std::tan(std::numbers::pi * share)));
  };
  const auto near = [](std::array<float, 3> found, std::array<float, 3> expected) {
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(found[i], expected[i], 2e-6f) << i;
  };
  near(turned({1, 0, 0}, 1.0 / 3), {0, 1, 0});  // red is green, as HSV's hue has it
  near(turned({0, 1, 0}, 1.0 / 3), {0, 0, 1});
  near(turned({1, 0, 0}, -1.0 / 3), {0, 0, 1});
  near(turned({0.3f, 0.9f, -0.4f}, 0), {0.3f, 0.9f, -0.4f});
  near(turned({0.7f, 0.7f, 0.7f}, 0.2), {0.7f, 0.7f, 0.7f});
  near(turned({1, 0, 0}, 0.5), {-1.0f / 3, 2.0f / 3, 2.0f / 3});  // the opposite side
  const auto colour = changed(Map{{"hue", 0.1}}, {3, 1, 1}, 3);
  EXPECT_NEAR(colour[0] + colour[1] + colour[2], 6, 1e-5);
  EXPECT_NEAR(colour[0] * colour[0] + colour[1] * colour[1] + colour[2] * colour[2], 14, 1e-4);
  EXPECT_NE(colour[0], 1);
}

/// Pearson's.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n,
               mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

/// Largest distance between the distribution of `draws` and that of a uniform one (Kolmogorov and
/// Smirnov's).
double distance_from_uniform(std::vector<double> draws, double low, double high) {
  std::sort(draws.begin(), draws.end());
  const auto n = static_cast<double>(draws.size());
  double most = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const double expected = (draws[i] - low) / (high - low);
    most = std::max({most, std::abs(static_cast<double>(i) / n - expected),
                     std::abs(static_cast<double>(i + 1) / n - expected)});
  }
  return most;
}

TEST(Augment, ColoursAreDrawnUniformlyAndIndependently) {
  const Augmenter augmenter(Map{{"brightness", 0.8}, {"contrast", 0.6}, {"saturation", 0.4}},
                            image_form({3, 2, 2}));
  constexpr std::uint64_t kSamples = 20000;
  const double most = 4 / std::sqrt(double{kSamples});
  const auto draws = [&](std::size_t colour, std::uint64_t seed, std::uint32_t epoch,
                         std::uint64_t first) {
    std::vector<double> all;
    for (std::uint64_t sample = 0; sample < kSamples; ++sample)
      all.push_back(augmenter.draw(seed, epoch, first + sample).amounts[colour]);
    return all;
  };
  const double low[] = {-0.8, 0.4, 0.6}, high[] = {0.8, 1.6, 1.4};
  for (std::size_t colour = 0; colour < 3; ++colour) {
    SCOPED_TRACE(colour);
    const auto here = draws(colour, 1, 0, 0);
    EXPECT_LT(distance_from_uniform(here, low[colour], high[colour]),
              1.95 / std::sqrt(double{kSamples}));  // 1 in 1000
    EXPECT_LT(std::abs(correlation(here, draws(colour, 1, 1, 0))), most) << "the next epoch";
    EXPECT_LT(std::abs(correlation(here, draws(colour, 1, 0, 1))), most) << "the next sample";
    EXPECT_LT(std::abs(correlation(here, draws(colour, 2, 0, 0))), most) << "the next seed";
    EXPECT_LT(std::abs(correlation(here, draws((colour + 1) % 3, 1, 0, 0))), most)
        << "another change of the same sample";
  }
}

TEST(Augment, DependsOnSeedEpochAndSampleOnly) {
  const Value options = Map{{"translate", 0.3}, {"rotate", 30.0}, {"contrast", 0.5}};
  const auto one = changed(options, {1, 6, 6}, 5, 2, 9);
  EXPECT_EQ(changed(options, {1, 6, 6}, 5, 2, 9), one);
  EXPECT_NE(changed(options, {1, 6, 6}, 6, 2, 9), one);
  EXPECT_NE(changed(options, {1, 6, 6}, 5, 3, 9), one);
  EXPECT_NE(changed(options, {1, 6, 6}, 5, 2, 8), one);
}

TEST(Augment, MixGivesEachSampleSoMany) {
  const Value options = Map{{"flip", 1.0}, {"flip_vertical", 1.0}, {"brightness", 1.0}, {"mix", 1}};
  std::set<int> kinds;
  for (std::uint64_t sample = 0; sample < 100; ++sample) {
    const auto out = changed(options, {1, 2, 2}, sample);
    const bool flipped = out == std::vector<float>{2, 1, 4, 3};
    const bool turned = out == std::vector<float>{3, 4, 1, 2};
    const bool brighter =
        std::abs(out[1] - out[0] - 1) < 1e-5 && std::abs(out[2] - out[0] - 2) < 1e-5;
    EXPECT_EQ(flipped + turned + brighter, 1) << sample;
    kinds.insert(flipped ? 0 : turned ? 1 : 2);
  }
  EXPECT_EQ(kinds.size(), 3u);
}

std::string augment_complaint(const Value& options, const SampleForm& form) {
  try {
    const Augmenter augmenter(options, form);
    return augmenter.idle() ? "idle" : "accepted";
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

TEST(Augment, RefusesWhatCannotBeDone) {
  EXPECT_EQ(augment_complaint(Map{{"rotate", 0.0}}, image_form({16})), "idle");
  EXPECT_THAT(augment_complaint(Map{{"rotate", 5.0}}, image_form({16})),
              HasSubstr("augment.rotate: "));
  EXPECT_THAT(augment_complaint(Map{{"rotate", 5.0}}, image_form({1, 4, 4, 4})),
              HasSubstr("4 dimensions"));
  EXPECT_EQ(augment_complaint(Map{{"flip", 0.5}}, image_form({1, 4, 4, 4})), "accepted");
  EXPECT_THAT(augment_complaint(Map{{"saturation", 0.5}}, image_form({1, 4, 4})),
              HasSubstr("1 channels"));
  EXPECT_THAT(augment_complaint(Map{{"rotate90", 0.5}}, image_form({1, 4, 6})),
              HasSubstr("1 x 4 x 6"));
  EXPECT_EQ(augment_complaint(Map{{"rotate90", 0.5}}, image_form({1, 2, 4, 4})), "accepted");
  EXPECT_THAT(augment_complaint(Map{{"rotate90_3d", 0.5}}, image_form({1, 2, 4, 4})),
              HasSubstr("equal sides"));
  EXPECT_THAT(augment_complaint(Map{{"rotate90_3d", 0.5}}, image_form({3, 4, 4})),
              HasSubstr("equal sides"));
  EXPECT_THAT(augment_complaint(Map{{"hue", 0.5}}, image_form({1, 4, 4})), HasSubstr("1 channels"));
  SampleForm tokens = image_form({1, 4, 4});
  tokens.vocabulary = 5;
  EXPECT_THAT(augment_complaint(Map{{"flip", 0.5}}, tokens), HasSubstr("tokens"));
  SampleForm map = image_form({1, 4, 4});
  map.labels = 16;
  EXPECT_EQ(augment_complaint(Map{{"flip", 0.5}}, map), "accepted") << "the labels move along";
  map.labels = 4;
  EXPECT_THAT(augment_complaint(Map{{"flip", 0.5}}, map), HasSubstr("cannot move along"));
  EXPECT_EQ(augment_complaint(Map{{"contrast", 0.5}}, map), "accepted");
}

TEST(Augment, LoaderChangesEveryCopyItsOwnWay) {
  const auto dataset = load_dataset(Map{
      {"name", "synthetic"}, {"samples", 8}, {"classes", 2}, {"shape", jobspec::List{1, 4, 4}}});
  const Augmenter augmenter(Map{{"translate", 0.3}}, dataset->form());
  const auto load = [&](std::size_t first, std::size_t positions) {
    LoaderPlan plan;
    plan.global_batch = 16;
    plan.first_position = first;
    plan.positions = positions;
    plan.end_step = 2;
    plan.augmenter = &augmenter;
    Loader loader(*dataset, {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7}, plan);
    loader.next();
    const auto inputs = loader.next().inputs;
    return std::vector<float>(inputs.begin(), inputs.end());
  };
  const auto whole = load(0, 16);
  std::vector<float> parts = load(0, 5);
  const auto rest = load(5, 11);
  parts.insert(parts.end(), rest.begin(), rest.end());
  EXPECT_EQ(parts, whole);
  std::set<std::vector<float>> images;
  for (std::size_t i = 0; i < 16; ++i)
    images.insert({whole.begin() + static_cast<std::ptrdiff_t>(16 * i),
                   whole.begin() + static_cast<std::ptrdiff_t>(16 * (i + 1))});
  EXPECT_EQ(images.size(), 16u);
}

}  // namespace
}  // namespace thalweg::engine
