// quadratic-deep: the data of DeepOBS' problem of that name (Schneider et al., ICLR 2019): points x
// with independent normal coordinates. Its parameters theta start at ones; here they are the bias
// of a linear layer over an input that is always 0 (model mlp without hidden layers), which starts
// at zeros: so the targets are x - 1. The loss is `quadratic_deep`.
#include "engine/data/table.h"
#include "engine/tensor/numpy_random.h"

namespace thalweg::engine::data {
namespace {

constexpr std::size_t kSize = 100;
constexpr std::uint32_t kTrainingSeed = 42, kTestSeed = 43;
constexpr double kNoise = 0.6;
constexpr std::size_t kTraining = 1000;
constexpr std::size_t kTest = 896;  // of 1000, in batches of 128 whose rest is dropped

class QuadraticDeep final : public Dataset {
 public:
  QuadraticDeep() : Dataset({.input = {1}, .classes = 0, .labels = 0, .targets = kSize}) {
    fill(kTrainingSeed, kTraining);
    fill(kTestSeed, kTest);
  }
  std::size_t size() const override { return kTraining + kTest; }
  std::size_t own_validation() const override { return kTest; }
  void copy(std::size_t, float* out) const override { *out = 0; }
  void copy_labels(std::size_t, std::int32_t*) const override {}
  void copy_targets(std::size_t index, float* out) const override {
    for (std::size_t i = 0; i < kSize; ++i)
      out[i] = values_[index * kSize + i] - 1;
  }

 private:
  void fill(std::uint32_t seed, std::size_t samples) {
    NumpyRandom random(seed);
    for (std::size_t i = 0; i < samples * kSize; ++i)
      values_.push_back(static_cast<float>(kNoise * random.normal()));
  }
  std::vector<float> values_;
};

}  // namespace

Row quadratic_deep() {
  return {"quadratic-deep",
          "DeepOBS' noisy quadratic of 100 parameters: with model mlp, hidden [], and loss "
          "quadratic_deep; needs no files",
          {},
          [](const Options&, HeaderFacts*) -> std::unique_ptr<Dataset> {
            return std::make_unique<QuadraticDeep>();
          }};
}

}  // namespace thalweg::engine::data
