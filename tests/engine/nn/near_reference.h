// A device against the reference device in float64.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support.h"
#include "tests/support/distance.h"

namespace thalweg::engine::test {

/// One pass of training and evaluations, `executor` being one of the program's.
inline void expect_near_reference(const Graph& graph, const BasicProgram<float>& program,
                                  BasicExecutor<float>& executor, int samples, double allowed) {
  const Data data(graph.loss.data, samples);
  const auto values = start_values(graph);
  const auto truth = reference::compile<double>(graph, samples);
  const auto truth_executor = truth->executor();
  const auto expected = train<double>(*truth, graph, data.batch, *truth_executor, values, 0.125);
  const auto outcome = train<float>(program, graph, data.batch, executor, values, 0.125f);

  EXPECT_NEAR(outcome.result.loss_sum, expected.result.loss_sum,
              allowed * std::abs(expected.result.loss_sum));
  for (std::size_t p = 0; p < values.size(); ++p) {
    const double distance = relative_distance(outcome.gradients[p], expected.gradients[p]);
    thalweg::test::note_distance(distance, allowed);
    EXPECT_LT(distance, allowed) << program.parameters()[p].name;
  }
  const double of_statistics = relative_distance(outcome.statistics, expected.statistics);
  thalweg::test::note_distance(of_statistics, allowed);
  EXPECT_LT(of_statistics, allowed);
  EXPECT_EQ(outcome.ready, program.ready_order());

  std::vector<int> all(values.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<int>(i);
  EXPECT_TRUE(
      std::is_permutation(all.begin(), all.end(), outcome.ready.begin(), outcome.ready.end()));

  // Evaluation, with fewer samples than a shard too.
  std::vector<double> running(expected.statistics);
  std::vector<float> running_f(running.begin(), running.end());
  for (const int count : {samples, std::max(1, samples - 1)}) {
    Batch batch = data.batch;
    batch.samples = count;
    const ShardResult a =
        truth_executor->evaluate(flat_memory(*truth, values).data(), running.data(), batch);
    const ShardResult b =
        executor.evaluate(flat_memory(program, values).data(), running_f.data(), batch);
    EXPECT_NEAR(b.loss_sum, a.loss_sum, allowed * std::abs(a.loss_sum));
    for (std::size_t i = 0; i < max_sums; ++i)
      EXPECT_NEAR(b.sums[i], a.sums[i], allowed * a.sums[i]) << i;
  }
}

}  // namespace thalweg::engine::test
