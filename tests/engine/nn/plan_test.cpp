// What the cpu device plans: memory that is shared only when it may be, layout changes, joined
// layers, no allocation.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <thread>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/program.h"
#include "engine/device/memory_plan.h"
#include "engine/nn/model_table.h"
#include "support.h"
#include "tests/support/allocations.h"
#include "tests/support/models.h"

namespace thalweg::engine::test {
namespace {

TEST(MemoryPlan, SharesOnlyWhatIsNeverAliveTogether) {
  std::vector<Lifetime> tensors;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto bits = philox(1, Stream::noise, 0, i);
    const int first = static_cast<int>(bits[0] % 50);
    tensors.push_back({bits[1] % 5000 + 1, first, first + static_cast<int>(bits[2] % 8)});
  }
  const MemoryPlan plan = plan_memory(tensors);
  std::size_t all = 0;
  for (std::size_t a = 0; a < tensors.size(); ++a) {
    EXPECT_EQ(plan.offsets[a] % alignment_bytes, 0u);
    EXPECT_LE(plan.offsets[a] + tensors[a].bytes, plan.bytes);
    all += tensors[a].bytes;
    for (std::size_t b = 0; b < a; ++b) {
      const bool together =
          tensors[a].first <= tensors[b].last && tensors[b].first <= tensors[a].last;
      const bool overlap = plan.offsets[a] < plan.offsets[b] + tensors[b].bytes &&
                           plan.offsets[b] < plan.offsets[a] + tensors[a].bytes;
      EXPECT_FALSE(together && overlap) << a << " and " << b;
    }
  }
  EXPECT_LT(plan.bytes, all / 2);
  EXPECT_EQ(plan_memory({}).bytes, 0u);
}

Graph graph_of(const std::string& name) {
  return build_model_graph(jobspec::Map{{"name", name}}, {{1, 28, 28}, 10});
}

TEST(CpuPlan, JoinsReluToTheLayerBefore) {
  const Graph graph = graph_of("lenet");
  const auto nodes = fuse(graph, cpu::joins);
  std::vector<std::string> names;
  for (const Node& node : nodes)
    names.push_back(node.layer->name);
  EXPECT_EQ(names, (std::vector<std::string>{"conv1", "pool1", "conv2", "pool2", "flatten", "fc1",
                                             "fc2"}));
  EXPECT_TRUE(nodes[0].relu && nodes[0].relu_masked_by_next && nodes[1].masks_relu_before);
  EXPECT_TRUE(nodes[5].relu && !nodes[5].relu_masked_by_next);
  EXPECT_FALSE(nodes[6].relu);
}

struct Changes {
  int layouts;  ///< of values: gradients of strided convolutions, an lstm's positions to outermost
  int types;    ///< of values: the input, the logits' gradients, what layers that take floats need
  std::size_t weights;  ///< copies of parameters in the layout or type that a product wants
};

Changes changes_left(const std::string& model, Precision precision) {
  const bool narrow = precision == Precision::bf16;
  if (model == "mlp") return narrow ? Changes{0, 2, 3} : Changes{0, 0, 0};
  if (model == "lenet") return narrow ? Changes{0, 2, 5} : Changes{0, 0, 0};
  if (model == "resnet18") return narrow ? Changes{2, 2, 40} : Changes{2, 0, 6};
  if (model == "gpt") return narrow ? Changes{0, 1, 17} : Changes{0, 0, 0};
  if (model == "cnn3d") return narrow ? Changes{0, 2, 12} : Changes{3, 0, 4};
  if (model == "lstm") return narrow ? Changes{0, 2, 5} : Changes{1, 0, 0};
  return {0, 0, 0};
}

class SteadyStep : public testing::TestWithParam<std::tuple<ModelCase, Precision>> {};

TEST_P(SteadyStep, ChangesNoMoreLayoutsThanItMustAndAllocatesNothing) {
  const auto& [c, precision] = GetParam();
  if (precision == Precision::bf16 && !cpu::has_bf16())
    GTEST_SKIP() << "this processor does not multiply bf16";
  const int samples = std::min(c.batch, 32);
  const Graph graph = build_model_graph(c.model, c.data);
  const cpu::CpuProgram program(graph, samples, precision);
  const Data data(graph.loss.data, samples);
  const auto values = start_values(graph);
  const auto flat = flat_memory<float>(program, values);
  Buffer parameters = Buffer::of_floats(flat.size()), gradients = Buffer::of_floats(flat.size());
  Buffer statistics = Buffer::of_floats(statistics_of(graph));
  std::copy(flat.begin(), flat.end(), parameters.floats());
  const auto executor = program.executor();
  int ready = 0;
  const ReadyFunction on_ready = [&](int) { ++ready; };
  const auto step = [&] {
    executor->train(parameters.floats(), data.batch, 1, gradients.floats(), statistics.floats(),
                    on_ready);
  };
  step();
  const auto allocations = thalweg::test::allocations_in(step);
  const cpu::Plan& plan = program.plan();
  std::cout << c.name << ": " << plan.reorders << " changes of layout, " << plan.conversions
            << " of type, " << plan.weights.size() << " of weights, "
            << plan.forward.size() + plan.backward.size() << " operations, " << allocations.ours
            << " allocations (and " << allocations.onednn << " inside oneDNN), arena "
            << plan.arena_bytes / 1024 << " KiB\n";
  const Changes left = changes_left(c.name, precision);
  EXPECT_LE(plan.reorders, left.layouts);
  EXPECT_LE(plan.conversions, left.types);
  EXPECT_LE(plan.weights.size(), left.weights);
  EXPECT_EQ(allocations.ours, 0);
  EXPECT_EQ(ready, 2 * static_cast<int>(values.size()));
}

std::ptrdiff_t threads_now() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// oneDNN would start OpenMP's threads, as many as there are cores, in any thread that does not
// forbid it.
TEST(CpuExecutor, StartsNoThreads) {
  const Graph graph = graph_of("lenet");
  const Data data(graph.loss.data, 8);
  const auto values = start_values(graph);
  std::thread([] {}).join();  // the thread sanitizer starts one of its own with the first
  const std::ptrdiff_t before = threads_now();
  std::ptrdiff_t inside = 0;
  std::thread([&] {
    const cpu::CpuProgram program(graph, 8);
    const auto flat = flat_memory<float>(program, values);
    std::vector<float> gradients(flat.size());
    program.executor()->train(flat.data(), data.batch, 1, gradients.data(), nullptr, {});
    inside = threads_now();
  }).join();
  EXPECT_EQ(inside, before + 1);
}

std::string name_of(const testing::TestParamInfo<std::tuple<ModelCase, Precision>>& info) {
  const auto& [c, precision] = info.param;
  return c.name + "_" + precision_names()[static_cast<std::size_t>(precision)];
}

INSTANTIATE_TEST_SUITE_P(Models, SteadyStep,
                         testing::Combine(testing::ValuesIn(model_cases()),
                                          testing::Values(Precision::fp32, Precision::bf16)),
                         name_of);

}  // namespace
}  // namespace thalweg::engine::test
