// Cross-entropy of blended samples: the weighted sum of the losses for either label.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/device/batch.h"
#include "engine/device/executor.h"
#include "engine/nn/model.h"
#include "engine/tensor/buffer.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;

struct Passed {
  double loss;
  std::vector<float> gradient;
};

Passed pass(const Model& model, const float* parameters, const Batch& batch) {
  Buffer gradient = Buffer::of_floats(model.parameter_floats());
  const ShardResult result =
      model.executor()->train(parameters, batch, 1.0f, gradient.floats(), nullptr, {});
  std::vector<float> plain(static_cast<std::size_t>(model.parameter_count()));
  model.to_plain(gradient.floats(), plain.data());
  return {result.loss_sum, std::move(plain)};
}

class BlendedLabels : public testing::TestWithParam<const char*> {};

TEST_P(BlendedLabels, WeighTheLossesOfBoth) {
  const std::vector<float> inputs{0.3f, -1.0f, 2.0f, 0.5f, 0.1f, -0.7f, 1.5f, 0.0f};
  const std::vector<std::int32_t> own{0, 2}, labels_b{1, 2};
  const std::vector<float> shares{0.3f, 0.8f};
  for (const jobspec::Value& loss :
       {jobspec::Value(Map{{"name", "cross_entropy"}}),
        jobspec::Value(Map{{"name", "cross_entropy"}, {"smoothing", 0.1}}),
        jobspec::Value(Map{{"name", "cross_entropy"}, {"class_weights", List{1.0, 0.0, 0.5}}})}) {
    const auto model =
        build_model(Map{{"name", "mlp"}, {"hidden", List{5}}}, {{4}, 3}, 2, GetParam(), loss);
    Buffer parameters = Buffer::of_floats(model->parameter_floats());
    model->initialize(5, parameters.floats(), nullptr);
    Batch batch;
    batch.inputs = inputs.data();
    batch.labels = own.data();
    batch.samples = 2;
    batch.labels_b = labels_b.data();
    batch.shares_b = shares.data();
    const Passed blended = pass(*model, parameters.floats(), batch);
    // The same, sample by sample and label by label.
    const auto single =
        build_model(Map{{"name", "mlp"}, {"hidden", List{5}}}, {{4}, 3}, 1, "reference", loss);
    std::vector<float> plain(static_cast<std::size_t>(model->parameter_count()));
    model->to_plain(parameters.floats(), plain.data());
    Buffer same = Buffer::of_floats(single->parameter_floats());
    single->from_plain(plain.data(), same.floats());
    double expected = 0;
    std::vector<double> gradient(plain.size());
    for (std::size_t n = 0; n < 2; ++n)
      for (const bool of_b : {false, true}) {
        Batch one;
        one.inputs = inputs.data() + 4 * n;
        one.labels = (of_b ? labels_b : own).data() + n;
        one.samples = 1;
        const Passed passed = pass(*single, same.floats(), one);
        const auto share = static_cast<double>(of_b ? shares[n] : 1 - shares[n]);
        expected += share * passed.loss;
        for (std::size_t i = 0; i < gradient.size(); ++i)
          gradient[i] += share * static_cast<double>(passed.gradient[i]);
      }
    EXPECT_NEAR(blended.loss, expected, 1e-5);
    for (std::size_t i = 0; i < gradient.size(); ++i)
      EXPECT_NEAR(static_cast<double>(blended.gradient[i]), gradient[i], 1e-5);
    const std::vector<std::int32_t> wrong{1, 3};
    batch.labels_b = wrong.data();
    EXPECT_THROW(pass(*model, parameters.floats(), batch), std::invalid_argument);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, BlendedLabels, testing::Values("reference", "cpu"));

}  // namespace
}  // namespace thalweg::engine
