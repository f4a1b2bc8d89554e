// Distributed validation against one executor that judges everything at once.
#include "engine/train/validation.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "engine/device/batch.h"
#include "engine/device/executor.h"
#include "engine/device/layer.h"
#include "engine/optim/optimizer.h"
#include "engine/sync/replica.h"
#include "jobspec/value.h"
#include "tests/support/memory_transport.h"

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
  const ShardResult expected = all_at_once->executor()->evaluate(replica.parameters.floats(),
                                                                 replica.running.floats(), batch);

  std::vector<EvalResult> results;
  for (const int ranks : {1, 2, 3, 12}) {  // 12 ranks share 10 chunks
    auto transports = comm::memory_transports(ranks);
    std::vector<EvalResult> evaluated(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < evaluated.size(); ++rank)
      threads.emplace_back([&, rank] {
        comm::Group group(std::move(transports[rank]));
        const auto model = build_model(mlp, {{16}, 10}, 4, "reference");
        ExecutorPool executors(*model, 1 + static_cast<int>(rank) % 2);
        Evaluation evaluation(*model, *dataset, executors, 4);
        evaluated[rank] = validate(evaluation, samples, model->loss(), replica.parameters.floats(),
                                   replica.running.floats(), group);
      });
    for (std::thread& t : threads)
      t.join();
    results.insert(results.end(), evaluated.begin(), evaluated.end());
  }
  for (const EvalResult& j : results) {
    EXPECT_EQ(j.loss, results[0].loss);
    ASSERT_EQ(3U, j.metrics.size());  // of ten classes
    EXPECT_EQ("error", j.metrics[0].name);
    EXPECT_EQ(expected.sums[0] / 37, j.metrics[0].value);
    EXPECT_EQ("accuracy", j.metrics[1].name);
    EXPECT_EQ(1 - expected.sums[0] / 37, j.metrics[1].value);
    EXPECT_EQ("top5_error", j.metrics[2].name);
    EXPECT_EQ(expected.sums[2] / 37, j.metrics[2].value);
    EXPECT_NEAR(j.loss, expected.loss_sum / 37, 1e-6);
  }
}

TEST(Statistics, AreTheTrainingSetsAndDoNotDependOnRanks) {
  const auto dataset = load_dataset(Map{{"name", "synthetic"}, {"samples", 40}});
  std::vector<std::uint32_t> samples(40);
  std::iota(samples.begin(), samples.end(), 0u);
  const jobspec::Value mlp =
      Map{{"name", "mlp"}, {"hidden", jobspec::List{9}}, {"batch_norm", true}};
  const auto whole = build_model(mlp, {{16}, 10}, 40, "reference");
  Buffer parameters = Buffer::of_floats(whole->parameter_floats());
  std::vector<float> running(whole->statistics());
  whole->initialize(3, parameters.floats(), running.data());
  std::vector<float> inputs(40 * 16);
  std::vector<std::int32_t> labels(40);
  for (std::size_t i = 0; i < 40; ++i) {
    dataset->copy(samples[i], inputs.data() + 16 * i);
    labels[i] = dataset->label(samples[i]);
  }
  Batch batch;
  batch.inputs = inputs.data();
  batch.labels = labels.data();
  batch.samples = 40;
  std::vector<float> at_once(whole->statistics()), gradients(whole->parameter_floats());
  whole->executor()->train(parameters.floats(), batch, 1, gradients.data(), at_once.data(),
                           [](int) {});

  std::vector<std::vector<float>> results;
  for (const int ranks : {1, 3, 12}) {
    auto transports = comm::memory_transports(ranks);
    std::vector<std::vector<float>> found(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < found.size(); ++rank)
      threads.emplace_back([&, rank] {
        comm::Group group(std::move(transports[rank]));
        const auto model = build_model(mlp, {{16}, 10}, 4, "reference");
        ExecutorPool executors(*model, 1 + static_cast<int>(rank) % 2);
        Evaluation evaluation(*model, *dataset, executors, 4);
        found[rank] =
            statistics_at(evaluation, samples, model->statistics(), parameters.floats(), group);
      });
    for (std::thread& t : threads)
      t.join();
    results.insert(results.end(), found.begin(), found.end());
  }
  for (const std::vector<float>& r : results) {
    EXPECT_EQ(r, results[0]);
    // Means of the chunks make the mean of all; variances of chunks have lost a little.
    for (std::size_t i = 0; i < 9; ++i) {
      EXPECT_NEAR(r[i], at_once[i], 1e-5);
      EXPECT_LT(r[9 + i], at_once[9 + i]);
      EXPECT_GT(r[9 + i], 0.3f * at_once[9 + i]);
    }
  }
}

}  // namespace
}  // namespace thalweg::engine
