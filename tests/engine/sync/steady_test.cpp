// A step of training allocates nothing once it runs: forward, backward, sums over shards, update.
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

#include "engine/sync/mode.h"
#include "engine/tensor/random.h"
#include "tests/engine/sync/support.h"
#include "tests/support/models.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int> allocations{0};
thread_local bool looking = false;  // dladdr may allocate

// oneDNN keeps small tables of its own while a primitive runs: not ours to avoid.
void count(void* caller) {
  if (looking) return;
  looking = true;
  Dl_info info{};
  const bool onednn = dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
                      std::string_view(info.dli_fname).find("dnnl") != std::string_view::npos;
  if (!onednn) ++allocations;
  looking = false;
}

}  // namespace

// Every allocation in C++ comes through here.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  if (counting) count(__builtin_return_address(0));
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  if (counting) count(__builtin_return_address(0));
  return std::malloc(bytes == 0 ? 1 : bytes);
}
__attribute__((noinline)) void operator delete(void* memory) noexcept {
  std::free(memory);
}
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

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
        lanes_(*model_, 2),
        replica_(*model_, *optimizer_),
        mode_(make_sync_mode(
            jobspec::Map{},
            {*model_, *optimizer_, group, lanes_, replica_, {shards, batch, 0, shards}, 1, 0})),
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
    return mode_->step(input);
  }

 private:
  InputShape data_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Optimizer<float>> optimizer_;
  LanePool lanes_;
  Replica replica_;
  std::unique_ptr<SyncMode> mode_;
  Buffer inputs_;
  std::vector<std::int32_t> labels_;
  std::vector<float> targets_;
  std::int64_t number_ = 0;
};

class SteadyTraining : public testing::TestWithParam<test::ModelCase> {};

TEST_P(SteadyTraining, AllocatesNothing) {
  comm::Group group(std::move(comm::memory_transports(1).front()));
  Training training(GetParam(), group);
  for (int i = 0; i < 3; ++i)
    training.step();
  allocations = 0;
  counting = true;
  const StepOutcome outcome = training.step();
  counting = false;
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(outcome.not_finite, "");
}

INSTANTIATE_TEST_SUITE_P(Models, SteadyTraining, testing::ValuesIn(test::model_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::engine
