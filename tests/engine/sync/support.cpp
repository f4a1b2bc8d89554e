#include "tests/engine/sync/support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <thread>

#include "engine/data/dataset.h"
#include "engine/device/batch.h"
#include "engine/device/executor.h"
#include "engine/device/layer.h"
#include "jobspec/value.h"
#include "tests/support/memory_transport.h"

namespace thalweg::engine::test {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;

namespace {

Ranks ranks_are_played_by;

constexpr std::size_t kFeatures = 6;

class RewiredExecutor final : public Executor {
 public:
  RewiredExecutor(std::unique_ptr<Executor> executor, const Model& model, const Rewired& how)
      : executor_(std::move(executor)), model_(model), how_(how) {}

  void train(gpu::Stream* stream, const Shard& shard, const ReadyFunction& ready) override {
    executor_->train(stream, shard, {});
    for (const int number : how_.order) {
      if (!how_.touches || how_.touches(number, shard.batch)) {
        ready(number);
        continue;
      }
      const ParameterInfo& info = model_.parameters()[static_cast<std::size_t>(number)];
      std::fill_n(shard.gradients + info.offset, info.count, 1e9f);
    }
  }
  void evaluate(gpu::Stream* stream, const Shard& shard) override {
    executor_->evaluate(stream, shard);
  }

 private:
  std::unique_ptr<Executor> executor_;
  const Model& model_;
  const Rewired& how_;
};

class RewiredModel final : public Model {
 public:
  RewiredModel(std::unique_ptr<Model> model, Rewired how)
      : model_(std::move(model)), how_(std::move(how)) {}
  const std::string& name() const override { return model_->name(); }
  const std::vector<ParameterInfo>& parameters() const override { return model_->parameters(); }
  std::size_t parameter_floats() const override { return model_->parameter_floats(); }
  std::int64_t parameter_count() const override { return model_->parameter_count(); }
  std::size_t statistics() const override { return model_->statistics(); }
  const std::vector<int>& ready_order() const override { return model_->ready_order(); }
  bool touches_all() const override { return !how_.touches; }
  const LossPlan& loss() const override { return model_->loss(); }
  std::unique_ptr<Executor> executor() const override {
    return std::make_unique<RewiredExecutor>(model_->executor(), *model_, how_);
  }
  void initialize(std::uint64_t seed, float* parameters, float* running) const override {
    model_->initialize(seed, parameters, running);
  }
  void update_running(const float* sum, int shards, float* running) const override {
    model_->update_running(sum, shards, running);
  }
  void to_plain(const float* device, float* plain) const override {
    model_->to_plain(device, plain);
  }
  void from_plain(const float* plain, float* device) const override {
    model_->from_plain(plain, device);
  }
  void to_plain(int parameter, const float* device, float* plain) const override {
    model_->to_plain(parameter, device, plain);
  }
  void from_plain(int parameter, const float* plain, float* device) const override {
    model_->from_plain(parameter, plain, device);
  }

 private:
  std::unique_ptr<Model> model_;
  Rewired how_;
};

Trained train_rank(const Case& c, comm::Group& group, int threads, bool stop) {
  TestRank rank(c, group, threads);
  const auto mode = make_sync_mode(c.sync, rank.parts());
  Trained result;
  for (int step = 0; step < c.steps; ++step) {
    StepInput input = rank.input(step);
    input.stop = stop && step == 1;
    std::optional<StepOutcome> told = mode->step(input);
    // On a GPU that was the step before.
    if (auto last = mode->settle()) told = std::move(last);
    const StepOutcome outcome = told.value();
    EXPECT_EQ(outcome.step, step);
    result.losses.push_back(static_cast<float>(outcome.loss));
    result.stopped = result.stopped || outcome.stop;
    if (outcome.noise) {
      EXPECT_EQ(outcome.noise->small_batch, rank.sharding.micro_batch());
      EXPECT_EQ(outcome.noise->large_batch, kBatch);
      result.noise.push_back(outcome.noise->small_squares);
      result.noise.push_back(outcome.noise->large_squares);
    }
    if (outcome.comm_before) result.times.push_back(*outcome.comm_before);
    if (outcome.not_finite.empty() || result.not_finite_step >= 0) continue;
    result.not_finite = outcome.not_finite;
    result.not_finite_step = step;
  }
  if (const auto met = mode->meet(); met && result.not_finite_step < 0) {
    result.not_finite = met->not_finite;
    result.not_finite_step = c.steps;
  }
  result.parameters = rank.plain_parameters();
  result.running = rank.replica->running.read();
  return result;
}

}  // namespace

std::unique_ptr<Model> rewire(std::unique_ptr<Model> model, const Rewired& how) {
  return std::make_unique<RewiredModel>(std::move(model), how);
}

PinnedBatches::PinnedBatches(gpu::Gpu& machine, const Sharding& sharding,
                             const StepInput& example) {
  BatchLayout::Bytes bytes{};
  bytes[BatchLayout::inputs] = example.sample_floats * sizeof(float);
  bytes[BatchLayout::labels] = example.sample_labels * sizeof(std::int32_t);
  if (example.labels_b != nullptr) {
    bytes[BatchLayout::labels_b] = bytes[BatchLayout::labels];
    bytes[BatchLayout::shares_b] = sizeof(float);
  }
  bytes[BatchLayout::keys] = sizeof(ShardKey);
  form_.layout = BatchLayout(static_cast<std::size_t>(sharding.mine() * sharding.micro_batches),
                             static_cast<std::size_t>(sharding.micro_batch()), bytes);
  for (gpu::Memory& memory : memory_)
    memory = gpu::Memory(machine, form_.layout.bytes(), "a test's batches", true);
}

StepInput PinnedBatches::fill(StepInput input) {
  const BatchLayout& layout = form_.layout;
  input.memory = static_cast<std::byte*>(memory_[next_++ % 4].data());
  const auto put = [&](BatchLayout::Part part, const void* from) {
    const std::size_t each = layout.bytes_of_sample(part);
    for (std::size_t i = 0;
         each > 0 && i < layout.micro_batches() * layout.samples_per_micro_batch(); ++i)
      std::memcpy(input.memory + layout.sample(part, i),
                  static_cast<const std::byte*>(from) + i * each, each);
  };
  put(BatchLayout::inputs, input.inputs);
  put(BatchLayout::labels, input.labels);
  put(BatchLayout::labels_b, input.labels_b);
  put(BatchLayout::shares_b, input.shares_b);
  return input;
}

TestRank::TestRank(const Case& c, comm::Group& group, int threads)
    : case_(c), group_(group), inputs_(kBatch * kFeatures), labels_(kBatch) {
  const Value data =
      Map{{"name", "synthetic"}, {"samples", kBatch}, {"classes", 3}, {"shape", List{6}}};
  const auto dataset = load_dataset(data);
  for (std::size_t i = 0; i < kBatch; ++i) {
    dataset->copy(i, inputs_.data() + i * kFeatures);
    labels_[i] = dataset->label(i);
  }
  poisoned_ = inputs_;
  poisoned_[static_cast<std::size_t>(c.poisoned) * kFeatures + 2] =
      std::numeric_limits<float>::quiet_NaN();
  sharding.shards = c.shards;
  sharding.global_batch = kBatch;
  if (!c.firsts.empty()) group.own_shards(c.firsts);
  const std::vector<int> firsts = group.first_shards(c.shards);
  sharding.first = firsts[static_cast<std::size_t>(group.rank())];
  sharding.end = firsts[static_cast<std::size_t>(group.rank()) + 1];
  sharding.micro_batches = c.micro_batches;
  CompileOptions options = c.precision;
  options.kernels = c.kernels;
  model = build_model(c.model, {{6}, 3}, sharding.micro_batch(), c.device, {}, options);
  if (c.wrap) model = c.wrap(std::move(model));
  optimizer = make_optimizer<float>(c.optimizer, parameters_of(*model));
  replica = std::make_unique<Replica>(*model, *optimizer);
  std::vector<float> running(model->statistics());
  model->initialize(11, replica->parameters.floats(), running.data());
  replica->running.write(running.data());
  executors = std::make_unique<ExecutorPool>(*model, threads);
  if (model->gpu() == nullptr) return;
  StepInput example;
  example.sample_floats = kFeatures;
  pinned_ = std::make_unique<PinnedBatches>(*model->gpu(), sharding, example);
}

SyncParts TestRank::parts() {
  SyncParts parts{*model,
                  *optimizer,
                  group_,
                  *executors,
                  *replica,
                  sharding,
                  11,
                  case_.clip_norm,
                  case_.clip_value,
                  case_.noise_every,
                  pinned_ ? &pinned_->form() : nullptr,
                  0,
                  case_.emulation};
  parts.pass_time = case_.pass_time;
  return parts;
}

StepInput TestRank::host_input(int step) const {
  StepInput input;
  input.context = {step, case_.lr};
  const auto first = static_cast<std::size_t>(sharding.first * sharding.shard_batch());
  const auto& samples = step >= case_.poisoned_from ? poisoned_ : inputs_;
  input.inputs = samples.data() + first * kFeatures;
  input.labels = labels_.data() + first;
  input.sample_floats = kFeatures;
  return input;
}

void go_on(TestRank& from, SyncMode& old_mode, TestRank& to, SyncMode& mode) {
  const auto states = old_mode.states(), places = mode.states();
  ASSERT_EQ(states.size(), places.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    ASSERT_EQ(states[i].name, places[i].name);
    std::copy(states[i].floats.begin(), states[i].floats.end(), places[i].floats.begin());
    std::copy(states[i].doubles.begin(), states[i].doubles.end(), places[i].doubles.begin());
    if (states[i].list != nullptr) *places[i].list = *states[i].list;
  }
  const auto copy = [](FlatVector& a, FlatVector& b) { b.write(a.read().data()); };
  copy(from.replica->parameters, to.replica->parameters);
  copy(from.replica->running, to.replica->running);
  for (std::size_t i = 0; i < from.replica->states.size(); ++i)
    copy(from.replica->states[i], to.replica->states[i]);
}

std::vector<float> TestRank::plain_parameters() const {
  std::vector<float> plain(static_cast<std::size_t>(model->parameter_count()));
  model->to_plain(replica->parameters.floats(), plain.data());
  return plain;
}

void play_ranks_by(Ranks how) {
  ranks_are_played_by = std::move(how);
}

void on_ranks(int ranks, const std::function<void(comm::Group& group)>& body) {
  if (ranks_are_played_by) return ranks_are_played_by(ranks, body);
  auto transports = comm::memory_transports(ranks);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < errors.size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        comm::Group group(std::move(transports[rank]));
        body(group);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

std::vector<Trained> train(const Case& c, int ranks, int threads, int stopper) {
  std::vector<Trained> results(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](comm::Group& group) {
    results[static_cast<std::size_t>(group.rank())] =
        train_rank(c, group, threads, group.rank() == stopper);
  });
  return results;
}

std::string refusal_of(const jobspec::Value& sync, const std::function<void(SyncFacts&)>& change) {
  SyncFacts facts;
  if (change) change(facts);
  try {
    require_sync(sync, facts);
    return "";
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
}

Case batch_norm_and_dropout() {
  return {Map{{"name", "mlp"}, {"hidden", List{8, 5}}, {"batch_norm", true}, {"dropout", 0.3}}};
}

}  // namespace thalweg::engine::test
