// A device in bf16 against the reference device in float64.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "support.h"
#include "tests/support/distance.h"

namespace thalweg::engine::test {

// Of the reference tensor's norm, the median over five batches: bf16 has 8 binary digits, and a
// value that rounding takes across a relu's edge, or past another under a pool, moves a whole
// gradient. Of many values some always do.
inline constexpr double small_tolerance = 0.025;
inline constexpr double larger_tolerance = 0.12;
inline constexpr double loss_tolerance = 0.02;
inline constexpr std::uint64_t batches = 5;

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Passes of training and evaluations, `executor` being one of the program's.
inline void expect_near_reference_in_bf16(const Graph& graph, const BasicProgram<float>& program,
                                          BasicExecutor<float>& executor, int samples,
                                          double allowed) {
  const auto values = start_values(graph);
  const auto truth = reference::compile<double>(graph, samples);
  const auto truth_executor = truth->executor();
  const auto flat = flat_memory(program, values);
  const auto flat_truth = flat_memory(*truth, values);
  std::map<std::string, std::vector<double>> distances, losses;
  for (std::uint64_t seed = 0; seed < batches; ++seed) {
    const Data data(graph.loss.data, samples, seed);
    const auto expected = train<double>(*truth, graph, data.batch, *truth_executor, values, 0.125);
    const auto outcome = train<float>(program, graph, data.batch, executor, values, 0.125f);
    EXPECT_EQ(outcome.ready, program.ready_order());
    for (std::size_t p = 0; p < values.size(); ++p)
      distances[program.parameters()[p].name].push_back(
          relative_distance(outcome.gradients[p], expected.gradients[p]));
    distances["statistics"].push_back(relative_distance(outcome.statistics, expected.statistics));
    const auto compare_losses = [&](const char* name, const ShardResult& a, const ShardResult& b) {
      losses[name].push_back(std::abs(a.loss_sum - b.loss_sum) / std::abs(b.loss_sum));
    };
    compare_losses("training", outcome.result, expected.result);
    const std::vector<float> running(expected.statistics.begin(), expected.statistics.end());
    Batch fewer = data.batch;
    fewer.samples = std::max(1, samples - 1);
    compare_losses("evaluation", executor.evaluate(flat.data(), running.data(), fewer),
                   truth_executor->evaluate(flat_truth.data(), expected.statistics.data(), fewer));
  }
  for (const auto& [name, each] : distances) {
    thalweg::test::note_distance(median(each), allowed);
    EXPECT_LT(median(each), allowed) << name;
  }
  for (const auto& [name, each] : losses)
    EXPECT_LT(median(each), loss_tolerance) << name;
}

}  // namespace thalweg::engine::test
