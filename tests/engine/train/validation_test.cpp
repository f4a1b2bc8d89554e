// Distributed validation against one lane that judges everything at once.
#include "engine/train/validation.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "engine/optim/optimizer.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;

TEST(Validation, EqualsOneLaneAndDoesNotDependOnRanks) {
  const auto dataset = load_dataset(Map{{"name", "synthetic"}, {"samples", 50}});
  std::vector<std::uint32_t> samples(37);  // not a multiple of the chunk
  std::iota(samples.begin(), samples.end(), 5u);
  const jobspec::Value mlp = Map{{"name", "mlp"}, {"hidden", jobspec::List{9}}};

  const auto all_at_once = build_model(mlp, {{16}, 10}, 37, "reference");
  const auto optimizer = make_optimizer<float>(Map{{"name", "sgd"}}, parameters_of(*all_at_once));
  Replica replica(*all_at_once, *optimizer);
  all_at_once->initialize(3, replica.parameters.floats(), replica.running.floats());
  std::vector<float> inputs(37 * 16);
  std::vector<std::int32_t> labels(37);
  for (std::size_t i = 0; i < 37; ++i) {
    dataset->copy(samples[i], inputs.data() + 16 * i);
    labels[i] = dataset->label(samples[i]);
  }
  Batch batch;
  batch.inputs = inputs.data();
  batch.labels = labels.data();
  batch.samples = 37;
  const ShardResult expected =
      all_at_once->lane()->evaluate(replica.parameters.floats(), replica.running.floats(), batch);

  std::vector<Judgement> results;
  for (const int ranks : {1, 2, 3, 12}) {  // 12 ranks share 10 chunks
    auto transports = comm::memory_transports(ranks);
    std::vector<Judgement> judged(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < judged.size(); ++rank)
      threads.emplace_back([&, rank] {
        comm::Group group(std::move(transports[rank]));
        const auto model = build_model(mlp, {{16}, 10}, 4, "reference");
        LanePool lanes(*model, 1 + static_cast<int>(rank) % 2);
        judged[rank] = validate(*dataset, samples, model->loss(), replica.parameters.floats(),
                                replica.running.floats(), 4, lanes, group);
      });
    for (std::thread& t : threads)
      t.join();
    results.insert(results.end(), judged.begin(), judged.end());
  }
  for (const Judgement& j : results) {
    EXPECT_EQ(j.loss, results[0].loss);
    ASSERT_EQ(2U, j.metrics.size());  // ten classes: one is error, the other top5_error
    EXPECT_EQ("error", j.metrics[0].name);
    EXPECT_EQ(expected.sums[0] / 37, j.metrics[0].value);
    EXPECT_EQ("top5_error", j.metrics[1].name);
    EXPECT_EQ(expected.sums[2] / 37, j.metrics[1].value);
    EXPECT_NEAR(j.loss, expected.loss_sum / 37, 1e-6);
  }
}

}  // namespace
}  // namespace thalweg::engine
