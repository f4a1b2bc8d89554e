// lstm_lm: embedding, stacked LSTM layers, linear: every position predicts the next token
// (Zaremba et al., arXiv:1409.2329). lstm: the same over (positions, features) without embedding,
// one answer from the last position. conv_lstm: a 3-D convolutional network reads a volume, an
// lstm answers with one target after another (after Etalumis: Baydin et al., SC19).
#include <stdexcept>
#include <string>

#include "engine/nn/model_table.h"

namespace thalweg::engine {
namespace {

class LstmBuilder {
 public:
  explicit LstmBuilder(const jobspec::Options& options) : options_(options) {}

  void add(std::string kind, std::string name, jobspec::Map options = {}) {
    layers.push_back({std::move(kind), std::move(name), std::move(options), {}});
  }
  void drop(const std::string& name) {
    const double dropout = options_.real("dropout");
    if (dropout > 0) add("dropout", name, {{"probability", dropout}});
  }
  std::int64_t number(const char* option) const { return options_.integer(option); }
  /// One over another; of the last one all positions or only the last one.
  void lstms(bool last) {
    for (std::int64_t i = 0; i < number("layers"); ++i) {
      const std::string suffix = std::to_string(i);
      const bool top = i + 1 == number("layers");
      add("lstm", "lstm" + suffix, {{"width", number("width")}, {"last", last && top}});
      drop("drop" + suffix);
    }
  }

  std::vector<LayerSpec> layers;

 private:
  const jobspec::Options& options_;
};

}  // namespace

std::vector<LayerSpec> lstm_lm(const jobspec::Options& options, const InputShape& input) {
  expect_tokens("lstm_lm", input);
  LstmBuilder b(options);
  b.add("embedding", "tokens", {{"tokens", input.vocabulary}, {"width", options.integer("width")}});
  b.drop("drop");
  b.lstms(false);
  b.add("linear", "head", {{"outputs", input.classes}});
  return std::move(b.layers);
}

std::vector<LayerSpec> lstm(const jobspec::Options& options, const InputShape& input) {
  if (input.sample.size() != 2)
    throw std::invalid_argument("model lstm expects (positions, features), the data has " +
                                to_text(input.sample));
  LstmBuilder b(options);
  const bool each = input.classes > 0 && input.labels > 1;
  b.lstms(!each);
  b.add("linear", "head", {{"outputs", input.outputs()}});
  return std::move(b.layers);
}

std::vector<LayerSpec> conv_lstm(const jobspec::Options& options, const InputShape& input) {
  if (input.sample.size() != 4)
    throw std::invalid_argument(
        "model conv_lstm expects volumes (channels, depth, height, width), the data has " +
        to_text(input.sample));
  if (input.targets < 1)
    throw std::invalid_argument("model conv_lstm expects targets, which it predicts one by one");
  LstmBuilder b(options);
  const auto conv = [&](const std::string& number, std::int64_t channels) {
    b.add("conv3d", "conv" + number, {{"channels", channels}, {"kernel", 3}, {"padding", 1}});
    b.add("relu", "relu" + number);
  };
  const std::int64_t channels = b.number("channels");
  conv("1", channels);
  conv("2", channels);
  b.add("max_pool3d", "pool1", {{"kernel", 2}});
  conv("3", 2 * channels);
  conv("4", 2 * channels);
  b.add("max_pool3d", "pool2", {{"kernel", 2}});
  b.add("flatten", "flatten");
  b.add("linear", "embed", {{"outputs", b.number("embedding")}});
  b.add("relu", "embed_relu");
  b.add("repeat", "repeat", {{"positions", input.targets}});
  b.add("positions", "addresses");
  b.lstms(false);
  b.add("linear", "head", {{"outputs", 1}});
  return std::move(b.layers);
}

}  // namespace thalweg::engine
