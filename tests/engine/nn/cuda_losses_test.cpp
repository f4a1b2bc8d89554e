// The losses of the cuda device against those of the reference device in float64, without layers:
// labels given, blended and drawn, metrics, samples that do not count.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "engine/device/cuda/builder.h"
#include "engine/device/reference/layer.h"
#include "jobspec/schema.h"
#include "on_gpu.h"
#include "support.h"
#include "tests/support/distance.h"

namespace thalweg::engine::test {
namespace {

using jobspec::List;
using jobspec::Map;

TensorId gradient_of_loss = -1;
cuda::LossFunction* made_by = nullptr;

TensorId made(cuda::Builder& builder, TensorId output) {
  return gradient_of_loss = made_by(builder, output);
}

struct Judged {
  ShardResult result;
  std::vector<float> gradient;  ///< in plain order
};

/// What a loss makes of outputs, which come through a relu: none is below 0.
class LossOnGpu {
 public:
  LossOnGpu(const InputShape& data, const Shape& output, const jobspec::Value& loss, int samples)
      : samples_(samples), output_(output) {
    InputShape shape = data;
    shape.sample = output;
    graph_ = build_graph({{"relu", "relu", {}}}, shape, loss);
    kind_ = *graph_.loss.kind;
    made_by = kind_.cuda;
    kind_.cuda = made;
    graph_.loss.kind = &kind_;
    const auto stream = machine_.stream();
    plan_ = cuda::Builder(*stream, graph_, samples, Precision::fp32).finish();
    gradient_ = gradient_of_loss;
  }

  const LossPlan& loss() const { return graph_.loss; }

  Judged judge(const std::vector<float>& outputs, const Batch& batch, float scale, bool training) {
    homes_.clear();
    const auto n = static_cast<std::size_t>(batch.samples);
    const InputShape& data = graph_.loss.data;
    const auto labels = static_cast<std::size_t>(data.labels);
    put(Home::arena, std::vector<float>(plan_.arena_bytes / sizeof(float), 777));
    put(Home::input, outputs);
    put(Home::constants, plan_.constants);
    put(Home::labels, batch.labels, n * labels, static_cast<std::size_t>(samples_) * labels);
    put(Home::targets, batch.targets, n * static_cast<std::size_t>(data.targets),
        static_cast<std::size_t>(samples_ * data.targets));
    put(Home::labels_b, batch.labels_b, n, static_cast<std::size_t>(samples_));
    put(Home::shares_b, batch.shares_b, n, static_cast<std::size_t>(samples_));
    put(Home::result, std::vector<double>(1 + max_sums, 777));
    const ShardKey key{batch.seed, batch.first_sample, batch.step, batch.samples, scale};
    gpu::Memory key_there(machine_, sizeof key, "a key");
    machine_.copy(key_there.data(), &key, sizeof key);
    std::vector<std::byte*> pointers;
    for (const cuda::Tensor& t : plan_.tensors) {
      const auto home = homes_.find(t.home);
      auto* start = home == homes_.end() ? nullptr : static_cast<std::byte*>(home->second.data());
      pointers.push_back(start == nullptr ? nullptr : start + t.offset);
    }
    const auto stream = machine_.stream();
    const cuda::Frame frame{pointers.data(), static_cast<const ShardKey*>(key_there.data()),
                            *stream, batch.labels_b != nullptr, batch.draw_labels};
    for (const auto* operations : {training ? &plan_.forward : &plan_.evaluation,
                                   training ? &plan_.loss : &plan_.evaluation_loss})
      for (const cuda::Operation& operation : *operations)
        operation.kernel(frame);
    stream->wait();
    Judged judged;
    double numbers[1 + max_sums];
    machine_.copy(numbers, homes_.at(Home::result).data(), sizeof numbers);
    judged.result.loss_sum = numbers[0];
    std::copy(numbers + 1, numbers + 1 + max_sums, judged.result.sums.begin());
    if (training) judged.gradient = plain(frame.floats(gradient_), outputs.size());
    return judged;
  }

 private:
  /// `count` numbers in the memory of `all`.
  template <class T>
  void put(Home home, const T* numbers, std::size_t count, std::size_t all) {
    gpu::Memory& there = homes_[home] = gpu::Memory(machine_, all * sizeof(T), "a test's numbers");
    if (numbers != nullptr && count > 0) machine_.copy(there.data(), numbers, count * sizeof(T));
  }
  template <class T>
  void put(Home home, const std::vector<T>& numbers) {
    put(home, numbers.data(), numbers.size(), numbers.size());
  }
  std::vector<float> plain(const float* there, std::size_t count) const {
    std::vector<float> lying(count), written(count);
    machine_.copy(lying.data(), there, count * sizeof(float));
    const bool images = output_.size() >= 3;
    const auto c = images ? static_cast<std::size_t>(output_[0]) : 1;
    const std::size_t places = count / static_cast<std::size_t>(samples_) / c;
    for (std::size_t i = 0; i < count; ++i)
      written[i] = lying[i / (c * places) * c * places + i % places * c + i / places % c];
    return written;
  }

  gpu::Gpu& machine_ = some_gpu();
  int samples_;
  Shape output_;
  Graph graph_;
  LossKind kind_;
  cuda::Plan plan_;
  TensorId gradient_ = -1;
  std::map<Home, gpu::Memory> homes_;
};

struct LossCase {
  std::string name;
  InputShape data;  ///< without the sample's shape
  Shape output;
  int samples;
  jobspec::Value loss;
  bool blended = false, drawn = false;
};

void PrintTo(const LossCase& c, std::ostream* out) {
  *out << c.name;
}

Judged reference_of(const LossPlan& loss, const std::vector<float>& outputs, const Batch& batch,
                    float scale, bool training) {
  Batch judged = batch;
  std::vector<std::int32_t> drawn;
  if (batch.draw_labels && training) {
    draw_labels(loss, outputs.data(), batch, drawn);
    judged.labels = drawn.data();
  }
  const std::vector<double> wide(outputs.begin(), outputs.end());
  std::vector<double> gradient(outputs.size(), 0.0);  // 0 where samples do not count
  LossCall<double> call;
  call.outputs = wide.data();
  call.batch = &judged;
  call.scale = static_cast<double>(scale);
  if (training) call.gradient = gradient.data();
  Judged result;
  result.result = loss.kind->reference->f64(loss, call);
  result.gradient.assign(gradient.begin(), gradient.end());
  return result;
}

class CudaLosses : public testing::TestWithParam<LossCase> {};

TEST_P(CudaLosses, MatchTheReference) {
  const LossCase& c = GetParam();
  LossOnGpu loss(c.data, c.output, c.loss, c.samples);
  InputShape shape = c.data;
  shape.sample = c.output;
  Data data(shape, c.samples), labels_b(shape, c.samples, 8);
  std::vector<float> outputs = data.inputs, shares;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = 4 + 2 * outputs[i];
  for (int n = 0; n < c.samples; ++n)
    shares.push_back(0.1f + 0.2f * static_cast<float>(n % 4));
  Batch batch = data.batch;
  batch.draw_labels = c.drawn;
  if (c.blended) {
    batch.labels_b = labels_b.labels.data();
    batch.shares_b = shares.data();
  }
  for (const int samples : {c.samples, std::max(1, c.samples - 1)})
    for (const bool training : {true, false}) {
      batch.samples = samples;
      const Judged expected = reference_of(loss.loss(), outputs, batch, 0.25f, training);
      const Judged found = loss.judge(outputs, batch, 0.25f, training);
      EXPECT_NEAR(found.result.loss_sum, expected.result.loss_sum,
                  1e-5 * std::abs(expected.result.loss_sum));
      for (std::size_t i = 0; i < max_sums; ++i)
        EXPECT_NEAR(found.result.sums[i], expected.result.sums[i], 1e-5 * expected.result.sums[i])
            << i;
      if (!training) continue;
      const double distance = relative_distance(found.gradient, expected.gradient);
      thalweg::test::note_distance(distance, 1e-5);
      EXPECT_LT(distance, 1e-5);
      const auto counted = static_cast<std::ptrdiff_t>(elements(c.output)) * samples;
      EXPECT_TRUE(std::all_of(found.gradient.begin() + counted, found.gradient.end(),
                              [](float gradient) { return gradient == 0; }));
    }
}

const Map cross{{"name", "cross_entropy"}};
const Map smoothed{{"name", "cross_entropy"}, {"smoothing", 0.2}};
const Map weighed{
    {"name", "cross_entropy"}, {"smoothing", 0.1}, {"class_weights", List{0.5, 1.0, 2.0}}};
const Map dice{{"name", "dice"}, {"epsilon", 0.5}};

InputShape labels(int classes, std::int64_t count = 1) {
  return {{}, classes, count};
}
InputShape targets(std::int64_t count) {
  return {{}, 0, 0, count};
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaLosses,
    testing::Values(
        LossCase{"FewClasses", labels(7), {7}, 9, cross},
        LossCase{"ManyClasses", labels(1000), {1000}, 5, cross},
        LossCase{"SmoothedManyClasses", labels(5000), {5000}, 3, smoothed},
        LossCase{"Positions", labels(40, 11), {11, 40}, 3, cross},
        LossCase{"Pixels", labels(3, 20), {3, 4, 5}, 3, weighed},
        LossCase{"ManyPixels", labels(3, 9000), {3, 90, 100}, 2, cross},
        LossCase{"ManyPixelsOfManyClasses", labels(40, 4500), {40, 45, 100}, 2, smoothed},
        LossCase{"Voxels", labels(3, 60), {3, 3, 4, 5}, 2, cross},
        LossCase{"Blended", labels(3), {3}, 6, weighed, true},
        LossCase{"BlendedManyClasses", labels(300), {300}, 6, smoothed, true},
        LossCase{"Drawn", labels(7), {7}, 40, cross, false, true},
        LossCase{"DrawnOfManyClasses", labels(600), {600}, 20, smoothed, false, true},
        LossCase{"DrawnPixels", labels(3, 20), {3, 4, 5}, 3, weighed, false, true},
        LossCase{"Dice", labels(3, 20), {3, 4, 5}, 3, dice},
        LossCase{"DiceOfPositions", labels(5, 20), {20, 5}, 3, dice},
        LossCase{"DiceOfManyPixels", labels(4, 9000), {4, 90, 100}, 2, dice},
        LossCase{"DiceOfDrawnLabels", labels(3, 20), {3, 4, 5}, 3, dice, false, true},
        LossCase{"SquaredError", targets(5000), {5000}, 3, Map{{"name", "mse"}}},
        LossCase{"AbsoluteErrorOfPixels", targets(40), {2, 4, 5}, 3, Map{{"name", "l1"}}},
        LossCase{"BinaryOfPixels", targets(40), {2, 4, 5}, 3, Map{{"name", "bce"}}},
        LossCase{"Quadratic", targets(100), {100}, 4, Map{{"name", "quadratic_deep"}}},
        LossCase{"QuadraticOfPixels", targets(100), {4, 5, 5}, 4, Map{{"name", "quadratic_deep"}}}),
    [](const auto& test) { return test.param.name; });

// Of two samples each has its own label drawn, and other ones in the next step.
TEST(CudaLosses, DrawByPlaceAndStep) {
  LossOnGpu loss(labels(4), {4}, cross, 12);
  const std::vector<float> outputs(48, 1.0f);
  Batch batch;
  batch.seed = 5;
  batch.samples = 12;
  batch.draw_labels = true;
  const auto gradient = [&](std::uint32_t step, std::uint64_t first) {
    batch.step = step;
    batch.first_sample = first;
    return loss.judge(outputs, batch, 1, true).gradient;
  };
  const std::vector<float> one = gradient(7, 0), moved = gradient(7, 3);
  EXPECT_NE(one, gradient(8, 0));
  EXPECT_TRUE(std::equal(one.begin() + 12, one.end(), moved.begin()));
}

TEST(CudaLosses, LogitsThatAreNoNumbersAreWrong) {
  LossOnGpu loss(labels(3), {3}, cross, 2);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::int32_t> zeros{0, 0};
  Batch batch;
  batch.labels = zeros.data();
  batch.samples = 2;
  const Judged found = loss.judge({9, 1, 1, nan, nan, nan}, batch, 1, true);
  EXPECT_TRUE(std::isnan(found.result.loss_sum));
  EXPECT_EQ(found.result.sums[0], 1);
  EXPECT_EQ(found.result.sums[1], 2);
}

}  // namespace
}  // namespace thalweg::engine::test
