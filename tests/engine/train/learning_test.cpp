// Data that are made or seen otherwise can be learnt from: good scores on held-out samples, from a
// seed, in seconds.
#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <vector>

#include "engine/data/array.h"
#include "engine/data/dataset.h"
#include "engine/data/noise.h"
#include "engine/train/flood_filling.h"
#include "tests/engine/train/support.h"
#include "tests/support/npy.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Trial;

/// The last value of a metric in a run of one rank.
double trained(const Map& train, const std::string& metric) {
  Trial trial;
  trial.seed = 1;
  trial.train = train;
  const test::TempDir folder;
  run_to_end(trial, folder.path(), 1);
  double last = -1;
  for (const std::string& point : curve({folder.path()})) {
    std::istringstream words(point);
    std::string name;
    std::int64_t step = 0;
    words >> name >> step;
    if (name == metric) words >> last;
  }
  return last;
}

Map adam() {
  return {{"name", "adam"}, {"lr", 3e-3}};
}

TEST(Learning, UnetSegmentsCells) {
  EXPECT_GT(trained({{"model", Map{{"name", "unet"}, {"depth", 2}, {"channels", 8}}},
                     {"data", Map{{"name", "cells"},
                                  {"samples", 600},
                                  {"validation", 100},
                                  {"noise", 0.2},
                                  {"kinds", 2}}},
                     {"optimizer", adam()},
                     {"batch", Map{{"global", 20}}},
                     {"epochs", 6}},
                    "val/iou"),
            0.9);
}

TEST(Learning, UnetSegmentsWhatCutmixPutTogether) {
  for (const char* loss : {"cross_entropy", "dice"})
    EXPECT_GT(trained({{"model", Map{{"name", "unet"}, {"depth", 2}, {"channels", 8}}},
                       {"data", Map{{"name", "cells"},
                                    {"samples", 600},
                                    {"validation", 100},
                                    {"noise", 0.2},
                                    {"kinds", 2}}},
                       {"augment", Map{{"flip", 0.5}, {"crop", 3.0}, {"cutmix", 1.0}}},
                       {"loss", Map{{"name", loss}}},
                       {"optimizer", adam()},
                       {"batch", Map{{"global", 20}}},
                       {"epochs", 6}},
                      "val/iou"),
              0.85)
        << loss;
}

TEST(Learning, FloodFillingFindsTheObjectAtTheCentre) {
  Map train{{"model", Map{{"name", "flood_filling"}, {"channels", 8}, {"modules", 2}}},
            {"data", Map{{"name", "cells"},
                         {"samples", 300},
                         {"validation", 60},
                         {"noise", 0.2},
                         {"shape", List{1, 12, 12, 12}},
                         {"predict", "object"}}},
            {"loss", Map{{"name", "bce"}}},
            {"optimizer", adam()},
            {"batch", Map{{"global", 10}}},
            {"epochs", 4}};
  EXPECT_GT(trained(train, "val/iou"), 0.85);
  // Targets go where their volumes go: left where they were they end at 0.58.
  train.emplace_back("augment", Map{{"flip", 0.5}, {"flip_depth", 0.5}, {"rotate90_3d", 0.9}});
  EXPECT_GT(trained(train, "val/iou"), 0.8);
}

/// Six balls with membranes and noise in a volume that is larger than any sample.
struct Balls {
  static constexpr std::int64_t kSize = 32;
  std::vector<float> image;
  std::vector<std::int32_t> numbers;

  Balls() {
    constexpr std::array<std::array<std::int64_t, 3>, 6> centres{
        {{7, 7, 7}, {7, 22, 8}, {20, 10, 22}, {22, 24, 20}, {8, 14, 24}, {24, 9, 7}}};
    for (std::int64_t i = 0; i < kSize * kSize * kSize; ++i) {
      float value = 0.2f * nearly_normal(5, 0, static_cast<std::uint64_t>(i));
      std::int32_t number = 0;
      for (std::size_t k = 0; k < centres.size(); ++k) {
        const std::array<std::int64_t, 3> p{i / kSize / kSize, i / kSize % kSize, i % kSize};
        std::int64_t squares = 0;
        for (std::size_t a = 0; a < 3; ++a)
          squares += (p[a] - centres[k][a]) * (p[a] - centres[k][a]);
        if (squares > 42) continue;
        const bool inside = squares <= 30;
        value += inside ? 0.6f + 0.15f * static_cast<float>(k) : -1.0f;
        number = inside ? static_cast<std::int32_t>(k) + 1 : 0;
      }
      image.push_back(value);
      numbers.push_back(number);
    }
  }
};

TEST(Learning, FloodFillingSegmentsAVolume) {
  Trial trial;
  trial.seed = 1;
  trial.train = Map{{"model", Map{{"name", "flood_filling"}, {"channels", 8}, {"modules", 2}}},
                    {"data", Map{{"name", "cells"},
                                 {"samples", 400},
                                 {"validation", 40},
                                 {"noise", 0.2},
                                 {"kinds", 2},
                                 {"shape", List{1, 12, 12, 12}},
                                 {"predict", "object"},
                                 {"anywhere", 0.4}}},
                    {"loss", Map{{"name", "bce"}}},
                    {"optimizer", adam()},
                    {"batch", Map{{"global", 10}}},
                    {"epochs", 4}};
  const test::TempDir folder;
  const std::string file = (folder.path() / "trial.yaml").string();
  jobspec::write_trial(trial, file);
  const Balls balls;
  const std::vector<std::size_t> shape(3, Balls::kSize);
  FloodFiles files{(folder.path() / "volume.npy").string(), (folder.path() / "ids.npy").string(),
                   (folder.path() / "out.npy").string()};
  test::write_file(files.volume, test::npy_text("<f4", shape, balls.image));
  test::write_file(files.truth, test::npy_text("<i4", shape, balls.numbers));
  EXPECT_THROW(flood_fill_of_trial(file, files, true), std::invalid_argument) << "untrained";

  run_to_end(trial, folder.path(), 1);
  const jobspec::Value told =
      jobspec::read_yaml(flood_fill_of_trial(file, files, true), "--flood-fill");
  EXPECT_EQ(told.find("true_objects")->as_int(), 6);
  EXPECT_EQ(told.find("objects")->as_int(), 6);
  EXPECT_LT(told.find("adapted_rand_error")->as_double(), 0.1);
  EXPECT_GT(told.find("iou")->as_double(), 0.85);
  // What was written is what was scored.
  const Array written = read_array(files.out);
  std::vector<std::int32_t> found;
  for (std::int64_t i = 0; i < written.count(); ++i)
    found.push_back(static_cast<std::int32_t>(written.integer(i)));
  EXPECT_EQ(score_segmentation(found, balls.numbers).rand_error,
            told.find("adapted_rand_error")->as_double());

  EXPECT_THROW(flood_fill_of_trial(file, files, true, true), std::invalid_argument)
      << "no checkpoint is known to be the best";
  files.volume = files.truth = (folder.path() / "none.npy").string();
  EXPECT_THROW(flood_fill_of_trial(file, files, true), DataError);
}

TEST(Learning, AnAutoencoderGivesItsInputsBack) {
  const Map data{
      {"name", "shapes"}, {"samples", 300}, {"size", 16}, {"noise", 0.0}, {"targets", "inputs"}};
  double squares = 0;
  const auto dataset = load_dataset(data);
  std::vector<float> image(input_floats(dataset->form()));
  for (std::size_t i = 0; i < dataset->size(); ++i) {
    dataset->copy(i, image.data());
    for (const float x : image)
      squares += static_cast<double>(x) * static_cast<double>(x);
  }
  // A model that says 0 has the mean square for its loss.
  EXPECT_LT(trained({{"model", Map{{"name", "unet"}, {"depth", 1}, {"channels", 8}}},
                     {"data", data},
                     {"loss", Map{{"name", "mse"}}},
                     {"optimizer", Map{{"name", "adam"}, {"lr", 1e-2}}},
                     {"batch", Map{{"global", 10}}},
                     {"epochs", 8}},
                    "val/loss"),
            0.15 * squares / static_cast<double>(image.size() * dataset->size()));
}

}  // namespace
}  // namespace thalweg::engine
