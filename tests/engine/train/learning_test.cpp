// Data that are made or seen otherwise can be learnt from: good scores on held-out samples, from a
// seed, in seconds.
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "engine/data/dataset.h"
#include "tests/engine/train/support.h"
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
