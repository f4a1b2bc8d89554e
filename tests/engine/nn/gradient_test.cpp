// Every layer's gradients on the reference device against central differences, in float64.
#include <gtest/gtest.h>

#include "cases.h"
#include "engine/device/executor.h"
#include "support.h"

namespace thalweg::engine::test {
namespace {

constexpr double step = 1e-5;
constexpr double gradient_tolerance = 1e-6;  // of the gradient's norm

class Gradient : public testing::TestWithParam<Case> {};

TEST_P(Gradient, MatchesFiniteDifferences) {
  const Graph graph = GetParam().graph();
  const Data data(graph.loss.data, GetParam().samples);
  const auto program = reference::compile<double>(graph, GetParam().samples);
  const auto executor = program->executor();
  const auto values = start_values(graph);
  const double scale = 0.25;
  const auto outcome = train<double>(*program, graph, data.batch, *executor, values, scale);

  Flat<double> flat = flat_memory(*program, values), unused(flat.size());
  std::vector<double> statistics(statistics_of(graph));
  const auto loss = [&] {
    return scale *
           executor->train(flat.data(), data.batch, scale, unused.data(), statistics.data(), {})
               .loss_sum;
  };
  ASSERT_FALSE(values.empty());
  for (std::size_t p = 0; p < values.size(); ++p) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < values[p].size(); ++i) {
      double& w = flat[program->parameters()[p].offset + i];
      const double start = w;
      w = start + step;
      const double above = loss();
      w = start - step;
      const double below = loss();
      w = start;
      differences.push_back((above - below) / (2 * step));
    }
    EXPECT_LT(relative_distance(outcome.gradients[p], differences), gradient_tolerance)
        << program->parameters()[p].name;
  }
  EXPECT_EQ(outcome.ready, program->ready_order());
}

INSTANTIATE_TEST_SUITE_P(Layers, Gradient, testing::ValuesIn(small_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::engine::test
