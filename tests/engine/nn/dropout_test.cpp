// Dropout's masks are draws of a coin, each one its own: from step to step, sample to sample, layer
// to layer and element to element; and what is kept is divided by the chance of being kept.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "engine/device/device.h"
#include "engine/device/dropout_mask.h"
#include "engine/device/executor.h"
#include "engine/device/layer.h"
#include "on_gpu.h"
#include "support.h"

namespace thalweg::engine::test {
namespace {

constexpr int kSamples = 64, kSteps = 40, kFeatures = 130;  // the last draw serves 2 elements
constexpr double kDraws = double{kSamples} * kSteps * kFeatures;

struct Place {
  std::uint64_t seed = 4;
  std::uint32_t step = 0;
  int layer = 8;
  std::uint64_t sample = 0;
  std::int64_t element = 0;
};

bool kept(double probability, const Place& at) {
  Batch batch;
  batch.seed = at.seed;
  batch.step = at.step;
  batch.first_sample = at.sample;
  return DropoutMask(probability, at.layer, kFeatures).keeps(batch, 0, at.element);
}

void for_all(const std::function<void(const Place&)>& look) {
  for (std::uint32_t step = 0; step < kSteps; ++step)
    for (std::uint64_t sample = 0; sample < kSamples; ++sample)
      for (std::int64_t element = 0; element < kFeatures; ++element)
        look({4, step, 8, sample, element});
}

/// Of whether an element is kept at a place and at another one; of coins its deviation is
/// 1 / sqrt(kDraws).
double correlation(double probability, const std::function<Place(Place)>& other) {
  const double keep = 1 - probability;
  const auto centred = [&](const Place& at) { return (kept(probability, at) ? 1 : 0) - keep; };
  double sum = 0;
  for_all([&](const Place& at) { sum += centred(at) * centred(other(at)); });
  return sum / (kDraws * keep * probability);
}

TEST(DropoutMask, KeepsTheSharePromised) {
  for (const double probability : {0.05, 0.1, 0.25, 0.5, 0.9}) {
    double all = 0;
    for_all([&](const Place& at) { all += kept(probability, at) ? 1 : 0; });
    const double deviation = std::sqrt(probability * (1 - probability) / kDraws);
    EXPECT_NEAR(all / kDraws, 1 - probability, 4 * deviation);
  }
}

TEST(DropoutMask, DrawsAreIndependent) {
  struct Row {
    const char* what;
    std::function<Place(Place)> other;
  };
  const auto elements_on = [](std::int64_t n) {
    return [n](Place p) {
      p.element = (p.element + n) % kFeatures;
      return p;
    };
  };
  const Row rows[] = {
      {"the next step", [](Place p) { return ++p.step, p; }},
      {"an epoch of 62 steps later", [](Place p) { return p.step += 62, p; }},
      {"65,536 steps later", [](Place p) { return p.step += 1 << 16, p; }},
      {"the next sample", [](Place p) { return ++p.sample, p; }},
      {"a shard of 32 samples on", [](Place p) { return p.sample += 32, p; }},
      {"the next layer", [](Place p) { return ++p.layer, p; }},
      {"the next seed", [](Place p) { return ++p.seed, p; }},
      {"a seed of 2^32 more", [](Place p) { return p.seed += std::uint64_t{1} << 32, p; }},
      {"the next element", elements_on(1)},
      {"two elements on", elements_on(2)},
      {"the next draw's", elements_on(4)},
  };
  for (const Row& row : rows)
    for (const double probability : {0.2, 0.5})
      EXPECT_LT(std::abs(correlation(probability, row.other)), 4 / std::sqrt(kDraws)) << row.what;
}

/// Where draws hang together in any way, counts of what is kept vary more or less than coins do.
TEST(DropoutMask, CountsVaryAsThoseOfCoins) {
  std::vector<double> by_sample(kSamples * kSteps), by_element(kFeatures);
  for_all([&](const Place& at) {
    if (!kept(0.5, at)) return;
    ++by_sample[at.step * kSamples + at.sample];
    ++by_element[static_cast<std::size_t>(at.element)];
  });
  const auto expect_coins = [](const std::vector<double>& counts, double draws) {
    double sum = 0;  // chi-squared, of one degree of freedom for each count
    for (const double count : counts)
      sum += (count - draws / 2) * (count - draws / 2) / (draws / 4);
    const auto n = static_cast<double>(counts.size());
    EXPECT_NEAR(sum, n, 4 * std::sqrt(2 * n));
  };
  expect_coins(by_sample, kFeatures);
  expect_coins(by_element, double{kSamples} * kSteps);
}

TEST(DropoutMask, NoSampleOfARunHasAnothersMask) {
  std::set<std::vector<bool>> seen;
  for (std::uint32_t step = 0; step < 500; ++step)
    for (std::uint64_t sample = 0; sample < 8; ++sample)
      for (const int layer : {3, 6}) {
        std::vector<bool> mask;
        for (std::int64_t element = 0; element < kFeatures; ++element)
          mask.push_back(kept(0.5, {4, step, layer, sample, element}));
        EXPECT_TRUE(seen.insert(mask).second) << step << " " << sample << " " << layer;
      }
}

/// Sum of squares of what a linear layer of ones puts out over samples of ones.
class SumOfKept {
 public:
  explicit SumOfKept(double probability)
      : graph_(build_graph({{"dropout", "drop", {{"probability", probability}}},
                            {"linear", "sum", {{"outputs", 1}, {"bias", false}}}},
                           {{kWidth}, 0, 0, 1})),
        inputs_(kBatch * kWidth, 1.0f),
        targets_(kBatch, 0.0f) {
    batch_ = {inputs_.data(), nullptr, targets_.data(), kBatch, 5, 17, 32};
  }
  const Graph& graph() const { return graph_; }
  const Batch& batch() const { return batch_; }
  double trained(const BasicProgram<float>& program, BasicExecutor<float>& executor) const {
    return train<float>(program, graph_, batch_, executor, ones_, 1.0f).result.loss_sum;
  }
  double evaluated(const BasicProgram<float>& program, BasicExecutor<float>& executor) const {
    return executor.evaluate(flat_memory(program, ones_).data(), nullptr, batch_).loss_sum;
  }
  /// By the masks.
  double expected(double probability) const {
    const DropoutMask mask(probability, graph_.layers.front().number, kWidth);
    double sum = 0;
    for (int n = 0; n < kBatch; ++n) {
      double output = 0;
      for (std::int64_t i = 0; i < kWidth; ++i)
        output += mask.keeps(batch_, n, i) ? 1 / (1 - probability) : 0;
      sum += output * output;
    }
    return sum;
  }

  static constexpr int kBatch = 48, kWidth = 21;

 private:
  Graph graph_;
  std::vector<float> inputs_, targets_;
  std::vector<std::vector<float>> ones_{std::vector<float>(kWidth, 1.0f)};
  Batch batch_;
};

TEST(Dropout, DividesByTheChanceInTrainingAndIsOffInEvaluation) {
  for (const double probability : {0.25, 0.5, 0.75}) {
    const SumOfKept sum(probability);
    const auto expect_sums = [&](const char* device, const BasicProgram<float>& program,
                                 BasicExecutor<float>& executor) {
      SCOPED_TRACE(std::string(device) + ", probability " + std::to_string(probability));
      const double expected = sum.expected(probability);
      EXPECT_NEAR(sum.trained(program, executor), expected, 1e-5 * expected);
      EXPECT_EQ(sum.evaluated(program, executor), double{SumOfKept::kBatch} * 21 * 21);
    };
    const auto reference = reference::compile<float>(sum.graph(), SumOfKept::kBatch);
    expect_sums("reference", *reference, *reference->executor());
    const auto cpu = cpu::compile(sum.graph(), SumOfKept::kBatch);
    expect_sums("cpu", *cpu, *cpu->executor());
    const cuda::CudaProgram cuda(some_gpu(), sum.graph(), SumOfKept::kBatch, Precision::fp32);
    GpuExecutor executor(cuda, 0);
    expect_sums("cuda", cuda, executor);
  }
}

}  // namespace
}  // namespace thalweg::engine::test
