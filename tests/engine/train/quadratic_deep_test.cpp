// DeepOBS' quadratic_deep through the whole engine against its published test losses of one seed
// (baselines_deepobs/quadratic_deep; the last row from the Crowded Valley benchmark). One shuffle
// differs from another: the bands hold the published number and what seven seeds gave here.
// Published at epochs 0, 1, 10, 100: sgd 353.447, 105.171, 92.817, 87.235; momentum 274.857,
// 134.348, 87.038; adam 141.839, 94.751, 87.144; adam with rate 0.001 106.639 at the end.
#include <gtest/gtest.h>

#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;

struct Band {
  int epoch;
  double low, high;
};
struct Curve {
  const char* name;
  Value optimizer;
  int epochs;
  std::vector<Band> bands;
};

class QuadraticDeep : public testing::TestWithParam<Curve> {};

TEST_P(QuadraticDeep, FollowsThePublishedCurve) {
  const Curve& curve = GetParam();
  jobspec::Trial trial;
  trial.seed = 42;
  trial.train = Map{{"model", Map{{"name", "mlp"}, {"hidden", List{}}}},
                    {"loss", Map{{"name", "quadratic_deep"}}},
                    {"data", Map{{"name", "quadratic-deep"}, {"shuffle", "once"}}},
                    {"batch", Map{{"global", 128}}},
                    {"epochs", curve.epochs},
                    {"optimizer", curve.optimizer},
                    {"checkpoint", Map{{"every", 0}}},
                    {"device", "reference"}};
  const thalweg::test::TempDir folder;
  run_to_end(trial, folder.path(), 1);
  std::size_t checked = 0;
  for (const Value& line : lines_of(read_journal(folder.path()), "metrics"))
    for (const Value& point : line.find("points")->as_list()) {
      if (point.as_list()[0].as_string() != "val/loss") continue;
      for (const Band& band : curve.bands) {
        if (point.as_list()[1].as_int() != 7 * band.epoch) continue;
        ++checked;
        EXPECT_GE(point.as_list()[2].as_double(), band.low) << "epoch " << band.epoch;
        EXPECT_LE(point.as_list()[2].as_double(), band.high) << "epoch " << band.epoch;
      }
    }
  EXPECT_EQ(checked, curve.bands.size());
}

INSTANTIATE_TEST_SUITE_P(
    DeepObs, QuadraticDeep,
    testing::Values(
        // A rate of next to nothing: what it starts with.
        Curve{"start", Map{{"name", "sgd"}, {"lr", 1e-12}}, 1, {{1, 353.446, 353.448}}},
        Curve{"sgd",
              Map{{"name", "sgd"}, {"lr", 0.015849}},
              100,
              {{1, 105.0, 105.7}, {10, 92.6, 93.3}, {100, 87.0, 87.6}}},
        Curve{"momentum",
              Map{{"name", "momentum"}, {"momentum", 0.99}, {"lr", 0.0025119}},
              100,
              {{1, 269, 276}, {10, 133.2, 135.0}, {100, 86.95, 87.1}}},
        Curve{"adam",
              Map{{"name", "adam"}, {"lr", 0.039811}},
              100,
              {{1, 141.4, 142.1}, {10, 94.6, 94.9}, {100, 87.0, 87.2}}},
        Curve{
            "adam_small_rate", Map{{"name", "adam"}, {"lr", 0.001}}, 100, {{100, 106.5, 106.75}}}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace thalweg::engine
