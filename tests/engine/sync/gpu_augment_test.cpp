// A GPU makes of raw batches what the host makes of its own, bit for bit; without a GPU the
// emulated one.
#include "engine/sync/device/gpu/augment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <ostream>

#include "engine/data/augment_table.h"
#include "engine/data/loader.h"
#include "engine/device/batch.h"
#include "engine/device/executor.h"
#include "engine/device/layer.h"
#include "engine/sync/device/evaluation.h"
#include "engine/sync/mode.h"
#include "engine/tensor/random.h"
#include "jobspec/value.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Value;

constexpr std::size_t kSamples = 24, kMicroBatches = 3;

/// Random numbers of `bytes` bytes with `tables` tables; 0 bytes: floats.
class Numbers final : public Dataset {
 public:
  Numbers(std::vector<std::int64_t> shape, std::size_t bytes, std::size_t tables = 1)
      : Dataset({.input = std::move(shape), .classes = 5}), each_(input_floats(form())) {
    form_.bytes = bytes;
    for (std::size_t i = 0; bytes > 0 && i < tables * form_.patterns(); ++i)
      form_.values.push_back(number(1, i));
    for (std::size_t i = 0; i < kSamples * each_ * bytes; ++i)
      stored_.push_back(static_cast<std::uint8_t>(philox(3, Stream::noise, 2, i)[0]));
  }
  std::size_t size() const override { return kSamples; }
  void copy(std::size_t index, float* out) const override {
    if (form_.bytes > 0) return Dataset::copy(index, out);
    for (std::size_t i = 0; i < each_; ++i)
      out[i] = number(4, index * each_ + i);
  }
  const StoredForm* stored() const override { return form_.bytes > 0 ? &form_ : nullptr; }
  const std::uint8_t* stored_sample(std::size_t index) const override {
    return stored_.data() + index * each_ * form_.bytes;
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override {
    *out = static_cast<std::int32_t>(index % 5);
  }

 private:
  static float number(std::uint32_t which, std::size_t i) {
    return 3 * uniform01(philox(3, Stream::noise, which, i)[0]) - 1;
  }

  StoredForm form_;
  std::size_t each_;
  std::vector<std::uint8_t> stored_;
};

LoaderPlan plan_of(const Augmenter& augmenter, const Mixer& mixer) {
  LoaderPlan plan;
  plan.seed = 7;
  plan.global_batch = plan.positions = 12;
  plan.end_step = 4;
  if (!augmenter.idle()) plan.augmenter = &augmenter;
  if (!mixer.idle()) plan.mixer = &mixer;
  return plan;
}

struct Wanted {
  Value options;
  std::vector<std::int64_t> shape{3, 7, 9};
};

std::ostream& operator<<(std::ostream& out, const Wanted& wanted) {
  return out << wanted.options.to_text() << ' ' << wanted.shape.size() << " dimensions";
}

class GpuAugments : public testing::TestWithParam<Wanted> {
 protected:
  void SetUp() override {
    if (gpu::gpu_count() == 0) setenv("THALWEG_GPU", "emulated", 1);
  }

  static void expect_the_hosts_bits(const Dataset& dataset) {
    const Augmenter augmenter(GetParam().options, dataset.form());
    const Mixer mixer(GetParam().options, dataset.form());
    std::vector<std::uint32_t> all(kSamples);
    std::iota(all.begin(), all.end(), 0u);
    LoaderPlan plan = plan_of(augmenter, mixer);
    Loader host(dataset, all, plan);
    const std::size_t samples = plan.positions / kMicroBatches;
    plan.form = gpu_batches(dataset, plan.augmenter, plan.mixer, kMicroBatches, samples, 8);
    ASSERT_TRUE(plan.form.raw);
    const BatchLayout& layout = plan.form.layout;
    Loader raw(dataset, all, plan);

    gpu::Gpu& machine = gpu::chosen_gpu();
    const auto stream = machine.stream();
    const GpuAugment augment(machine, *plan.form.raw, samples);
    const gpu::Memory batch(machine, layout.bytes(), "a batch");
    const std::size_t floats = samples * input_floats(dataset.form());
    std::vector<float> here(floats);
    for (std::int64_t step = 0; step < plan.end_step; ++step) {
      const PreparedBatch& expected = host.next();
      machine.copy(batch.data(), raw.next().memory, layout.bytes());
      for (std::size_t micro_batch = 0; micro_batch < kMicroBatches; ++micro_batch) {
        augment.run(*stream, layout, static_cast<const std::byte*>(batch.data()), micro_batch);
        stream->wait();
        machine.copy(here.data(), augment.inputs(), floats * sizeof(float));
        const float* const there = expected.inputs.data() + micro_batch * floats;
        for (std::size_t i = 0; i < floats; ++i)
          ASSERT_EQ(std::memcmp(&here[i], &there[i], sizeof(float)), 0)
              << "step " << step << " micro_batch " << micro_batch << " value " << i << ": "
              << here[i] << ", the host has " << there[i];
      }
    }
  }
};

TEST_P(GpuAugments, BytesAsTheHostDoes) {
  expect_the_hosts_bits(Numbers(GetParam().shape, 1));
  if (GetParam().shape.size() < 3) return;  // no channels
  expect_the_hosts_bits(
      Numbers(GetParam().shape, 1, static_cast<std::size_t>(GetParam().shape.front())));
}

TEST_P(GpuAugments, NumbersOfTwoBytesAsTheHostDoes) {
  expect_the_hosts_bits(Numbers(GetParam().shape, 2));
}

TEST_P(GpuAugments, FloatsAsTheHostDoes) {
  if (Augmenter(GetParam().options, {.input = GetParam().shape, .classes = 5}).idle() &&
      Mixer(GetParam().options, {.input = GetParam().shape, .classes = 5}).idle())
    return;  // they go to the model as they are
  expect_the_hosts_bits(Numbers(GetParam().shape, 0));
}

double amount_of(const augment::Row& row) {
  return row.max > 100 ? 3 : row.max / 2;  // of pixels, and of all else
}

std::vector<Wanted> cases() {
  std::vector<Wanted> all{{Map{}}};
  Value moves = Map{}, everything = Map{};
  for (const augment::Row& row : augment::table()) {
    const Map alone{{row.name, amount_of(row)}};
    if (row.needs == augment::Needs::square) {
      all.push_back({alone, {3, 7, 7}});
      all.push_back({alone, {2, 4, 5, 5}});
      continue;
    }
    if (row.needs == augment::Needs::cube) {
      all.push_back({alone, {2, 4, 4, 4}});
      continue;
    }
    all.push_back({alone});
    if (row.needs == augment::Needs::volume) all.push_back({alone, {2, 4, 5, 6}});
    everything.set(row.name, amount_of(row));
    if (row.move != nullptr && row.needs == augment::Needs::volume)
      moves.set(row.name, amount_of(row));
  }
  for (const char* fill : {"edge", "wrap"}) {
    moves.set("fill", fill);
    everything.set("fill", fill);
    all.push_back({moves});
    all.push_back({everything});
  }
  Value square = everything, cube = moves;
  square.set("rotate90", 0.8);
  all.push_back({square, {3, 8, 8}});
  cube.set("rotate90", 0.8);
  cube.set("rotate90_3d", 0.8);
  all.push_back({cube, {2, 5, 5, 5}});
  everything.set("mix", 3);
  all.push_back({everything});
  for (const Map& mixed : {Map{{"mixup", 0.4}}, Map{{"cutmix", 1.0}},
                           Map{{"mixup", 1.0}, {"cutmix", 1.0}, {"mixing_chance", 0.6}}}) {
    all.push_back({mixed});
    all.push_back({mixed, {2, 4, 5, 6}});
    Value with_all = everything;
    for (const auto& [name, amount] : mixed)
      with_all.set(name, amount);
    all.push_back({with_all});
  }
  all.push_back({Map{{"mixup", 1.0}}, {11}});
  all.push_back({Map{{"contrast", 0.5}}, {3, 40, 50}});  // more values than partial sums
  return all;
}

INSTANTIATE_TEST_SUITE_P(Everything, GpuAugments, testing::ValuesIn(cases()));

TEST(RawBatches, AreWhatSavesTheHostWork) {
  const auto raw = [](const Dataset& dataset, const Value& options) {
    const Augmenter augmenter(options, dataset.form());
    const Mixer mixer(options, dataset.form());
    return gpu_batches(dataset, augmenter.idle() ? nullptr : &augmenter,
                       mixer.idle() ? nullptr : &mixer, 2, 4, 8);
  };
  const Numbers bytes({3, 4, 4}, 1), floats({3, 4, 4}, 0);
  EXPECT_FALSE(raw(floats, Map{}).raw);
  EXPECT_TRUE(raw(floats, Map{{"flip", 0.5}}).raw);
  const BatchForm stored = raw(bytes, Map{});
  ASSERT_TRUE(stored.raw);
  EXPECT_EQ(stored.layout.bytes_of_sample(BatchLayout::inputs), 48u);
  EXPECT_EQ(stored.layout.bytes_of_sample(BatchLayout::changes), 0u);
  EXPECT_EQ(stored.layout.bytes_of_sample(BatchLayout::inputs_b), 0u);
}

/// What a GPU learns in some steps of batches that the host or the GPU has augmented.
std::vector<float> learnt(const Dataset& dataset, const Value& options, bool raw,
                          comm::Group& group) {
  const Augmenter augmenter(options, dataset.form());
  const Mixer mixer(options, dataset.form());
  Sharding sharding;
  sharding.shards = 2;
  sharding.micro_batches = 2;
  sharding.global_batch = 12;
  sharding.first = comm::Group::first_shard(group.rank(), group.size(), 2);
  sharding.end = comm::Group::first_shard(group.rank() + 1, group.size(), 2);
  const auto model =
      build_model(Map{{"name", "mlp"}, {"hidden", jobspec::List{8}}},
                  {dataset.sample_shape(), dataset.classes()}, sharding.micro_batch(), "cuda");
  gpu::Gpu& machine = *model->gpu();
  const auto optimizer = make_optimizer<float>(Map{{"name", "momentum"}}, parameters_of(*model));
  Replica replica(*model, *optimizer);
  model->initialize(11, replica.parameters.floats(), nullptr);
  ExecutorPool executors(*model, 1);
  std::vector<std::uint32_t> all(kSamples);
  std::iota(all.begin(), all.end(), 0u);
  LoaderPlan plan = plan_of(augmenter, mixer);
  plan.end_step = 14;
  plan.first_position = static_cast<std::size_t>(sharding.first * sharding.shard_batch());
  plan.positions = static_cast<std::size_t>(sharding.mine() * sharding.shard_batch());
  plan.kept = 2;
  std::vector<gpu::Memory> memory;
  const BatchForm form = gpu_batches(
      dataset, plan.augmenter, plan.mixer, static_cast<std::size_t>(sharding.mine() * 2),
      static_cast<std::size_t>(sharding.micro_batch()), sizeof(ShardKey));
  if (raw) plan.form = form;
  plan.memory = [&](std::size_t bytes) {
    return static_cast<std::byte*>(memory.emplace_back(machine, bytes, "batches", true).data());
  };
  Loader loader(dataset, all, plan);
  const float no_share = 0;
  const std::int32_t no_label = 0;
  StepInput input;
  input.sample_floats = input_floats(dataset.form());
  if (!mixer.idle()) input.labels_b = &no_label, input.shares_b = &no_share;
  test::PinnedBatches ready(machine, sharding, input);
  const auto mode = make_sync_mode(Map{}, {*model, *optimizer, group, executors, replica, sharding,
                                           11, 0, 0, 0, raw ? &form : &ready.form()});
  gpu::Counts steady;
  for (int step = 0; step < plan.end_step; ++step) {
    const PreparedBatch& batch = loader.next();
    input.context = {step, 0.05};
    input.memory = batch.memory;
    input.inputs = batch.inputs.data();
    input.labels = batch.labels.data();
    if (!mixer.idle()) {
      input.labels_b = batch.labels_b.data();
      input.shares_b = batch.shares_b.data();
    }
    mode->step(raw ? input : ready.fill(input));
    if (step == 7) steady = machine.counts();
  }
  if (group.size() == 1) {
    EXPECT_EQ(machine.counts().allocations, steady.allocations);
    EXPECT_EQ(machine.counts().pageable_copies, steady.pageable_copies);
    if (machine.info().emulated) {
      EXPECT_EQ(machine.counts().waits, steady.waits);
    }
  }
  mode->settle();
  return replica.parameters.read();
}

TEST(RawBatches, TeachAsThoseOfTheHostDo) {
  if (gpu::gpu_count() == 0) setenv("THALWEG_GPU", "emulated", 1);
  const Numbers bytes({3, 6, 6}, 1, 3), floats({3, 6, 6}, 0);
  const Value changes = Map{{"flip", 0.5}, {"crop", 2.0}, {"rotate", 20.0}, {"contrast", 0.5}};
  Value blends = changes;
  blends.set("mixup", 0.4);
  blends.set("cutmix", 1.0);
  for (const Dataset* dataset : {&bytes, &floats})
    for (const Value& options : {changes, blends}) {
      std::vector<float> host;
      test::on_ranks(1,
                     [&](comm::Group& group) { host = learnt(*dataset, options, false, group); });
      for (const int ranks : {1, 2})
        test::on_ranks(ranks, [&](comm::Group& group) {
          EXPECT_EQ(learnt(*dataset, options, true, group), host);
        });
    }
}

/// A chunk alone, from floats, and waited for.
ShardResult evaluated_alone(const Model& model, Replica& replica, const Dataset& dataset,
                            std::span<const std::uint32_t> samples, std::size_t room) {
  gpu::Gpu& machine = *model.gpu();
  const std::size_t floats = input_floats(dataset.form());
  std::vector<float> inputs(room * floats);
  std::vector<std::int32_t> labels(room);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    dataset.copy(samples[i], inputs.data() + i * floats);
    labels[i] = dataset.label(samples[i]);
  }
  ShardKey key;
  key.samples = static_cast<std::int32_t>(samples.size());
  const auto up = [&](const void* from, std::size_t bytes) {
    gpu::Memory memory(machine, bytes, "a chunk");
    machine.copy(memory.data(), from, bytes);
    return memory;
  };
  const gpu::Memory inputs_there = up(inputs.data(), inputs.size() * sizeof(float)),
                    labels_there = up(labels.data(), labels.size() * sizeof(std::int32_t)),
                    key_there = up(&key, sizeof key),
                    result_there(machine, sizeof(ShardResult), "a loss");
  Shard shard;
  shard.batch.inputs = inputs_there.floats();
  shard.batch.labels = static_cast<const std::int32_t*>(labels_there.data());
  shard.key = static_cast<const ShardKey*>(key_there.data());
  shard.parameters = replica.parameters.floats();
  shard.running = replica.running.floats();
  shard.result = static_cast<ShardResult*>(result_there.data());
  const auto stream = machine.stream();
  const auto executor = model.executor();
  executor->take_parameters(*stream, shard.parameters);
  executor->evaluate(stream.get(), shard);
  stream->wait();
  ShardResult result;
  machine.copy(&result, result_there.data(), sizeof result);
  return result;
}

/// Stored or not, a chunk that waits for nobody has the bits of one that goes through its executor
/// alone.
TEST(GpuEvaluation, EvaluatesAsAnExecutorDoes) {
  if (gpu::gpu_count() == 0) setenv("THALWEG_GPU", "emulated", 1);
  constexpr std::size_t kChunk = 5, kChunks = 5;  // the last one has 4 samples
  const Numbers bytes({3, 6, 6}, 1, 3), pairs({3, 6, 6}, 2), floats({3, 6, 6}, 0);
  for (const Numbers* dataset : {&bytes, &pairs, &floats}) {
    const auto model =
        build_model(Map{{"name", "mlp"}, {"hidden", jobspec::List{8}}, {"batch_norm", true}},
                    {dataset->sample_shape(), dataset->classes()}, kChunk, "cuda");
    const auto optimizer = make_optimizer<float>(Map{{"name", "sgd"}}, parameters_of(*model));
    Replica replica(*model, *optimizer);
    std::vector<float> running(model->statistics());
    model->initialize(11, replica.parameters.floats(), running.data());
    replica.running.write(running.data());
    std::vector<std::uint32_t> all(kSamples);
    std::iota(all.rbegin(), all.rend(), 0u);

    ExecutorPool executors(*model, 1);
    Evaluation evaluation(*model, *dataset, executors, kChunk);
    for (const std::size_t first : {0, 3}) {
      std::size_t next = first;
      evaluation.run(replica.parameters.floats(), replica.running.floats(), all,
                     static_cast<int>(first), kChunks, [&](int chunk, const ShardResult& result) {
                       EXPECT_EQ(chunk, static_cast<int>(next));
                       const std::size_t begin = next++ * kChunk;
                       const std::span samples = std::span(all).subspan(
                           begin, std::min<std::size_t>(kChunk, kSamples - begin));
                       const ShardResult alone =
                           evaluated_alone(*model, replica, *dataset, samples, kChunk);
                       EXPECT_EQ(result.loss_sum, alone.loss_sum) << chunk;
                       EXPECT_EQ(result.sums, alone.sums) << chunk;
                       EXPECT_GT(result.loss_sum, 0);
                     });
      EXPECT_EQ(next, kChunks);
    }
  }
}

}  // namespace
}  // namespace thalweg::engine
