// A step of training allocates nothing once it runs: forward, backward, sums over shards, update.
#include <gtest/gtest.h>

#include "engine/sync/mode.h"
#include "engine/tensor/random.h"
#include "tests/engine/sync/support.h"
#include "tests/support/allocations.h"
#include "tests/support/memory_transport.h"
#include "tests/support/models.h"

namespace thalweg::engine {
namespace {

/// Training of a model on one rank: two threads, four shards of two samples.
class Training {
 public:
  static constexpr int shards = 4, batch = 8;

  Training(const test::ModelCase& c, comm::Group& group)
      : data_(c.data),
        model_(build_model(c.model, c.data, batch / shards, "cpu")),
        optimizer_(make_optimizer<float>(jobspec::Map{{"name", "adamw"}}, parameters_of(*model_))),
        executors_(*model_, 2),
        replica_(*model_, *optimizer_),
        mode_(make_sync_mode(
            jobspec::Map{},
            {*model_, *optimizer_, group, executors_, replica_, {shards, batch, 0, shards}, 1, 0})),
        inputs_(Buffer::of_floats(static_cast<std::size_t>(elements(c.data.sample) * batch))),
        labels_(static_cast<std::size_t>(c.data.labels * batch)),
        targets_(static_cast<std::size_t>(c.data.targets * batch)) {
    model_->initialize(1, replica_.parameters.floats(), replica_.running.floats());
    for (std::size_t i = 0; i < inputs_.bytes() / sizeof(float); ++i)
      inputs_.floats()[i] = static_cast<float>(philox(1, Stream::noise, 0, i)[0] % 2);
  }

  StepOutcome step() {
    StepInput input;
    input.context = {number_++, 0.001};
    input.inputs = inputs_.floats();
    input.labels = labels_.data();
    input.targets = targets_.data();
    input.sample_floats = static_cast<std::size_t>(elements(data_.sample));
    input.sample_labels = static_cast<std::size_t>(data_.labels);
    input.sample_targets = static_cast<std::size_t>(data_.targets);
    return mode_->step(input).value();
  }

 private:
  InputShape data_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Optimizer<float>> optimizer_;
  ExecutorPool executors_;
  Replica replica_;
  std::unique_ptr<SyncMode> mode_;
  Buffer inputs_;
  std::vector<std::int32_t> labels_;
  std::vector<float> targets_;
  std::int64_t number_ = 0;
};

TEST(Allocations, AreCounted) {
  const auto one = [] { ::operator delete(::operator new(1)); };
  EXPECT_EQ(thalweg::test::allocations_in(one).ours, 1);
}

class SteadyTraining : public testing::TestWithParam<test::ModelCase> {};

TEST_P(SteadyTraining, AllocatesNothing) {
  comm::Group group(std::move(comm::memory_transports(1).front()));
  Training training(GetParam(), group);
  for (int i = 0; i < 3; ++i)
    training.step();
  StepOutcome outcome;
  const auto allocations = thalweg::test::allocations_in([&] { outcome = training.step(); });
  EXPECT_EQ(allocations.ours, 0);
  EXPECT_EQ(outcome.not_finite, "");
}

INSTANTIATE_TEST_SUITE_P(Models, SteadyTraining, testing::ValuesIn(test::model_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::engine
