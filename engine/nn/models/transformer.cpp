// gpt: a decoder with normalisation before each part (Radford et al., GPT-2): every position
// predicts the next token. bert: an encoder with normalisation after each part (Devlin et al.,
// arXiv:1810.04805) that predicts the tokens at masked positions. Both: learned positions, gelu, an
// output layer of its own (not the embedding's weights).
#include <stdexcept>
#include <string>

#include "engine/nn/model_table.h"

namespace thalweg::engine {
namespace {

struct Sizes {
  std::int64_t layers, heads, width, inner;
  double dropout;

  explicit Sizes(const jobspec::Value& options)
      : layers(options.find("layers")->as_int()),
        heads(options.find("heads")->as_int()),
        width(options.find("width")->as_int()),
        inner(options.find("inner")->is_int() ? options.find("inner")->as_int() : 4 * width),
        dropout(options.find("dropout")->as_double()) {
    if (width % heads != 0)
      throw std::invalid_argument("a width of " + std::to_string(width) + " is no multiple of " +
                                  std::to_string(heads) + " heads");
  }
};

class Builder {
 public:
  explicit Builder(const Sizes& sizes) : s_(sizes) {}

  void add(std::string kind, std::string name, jobspec::Map options = {},
           std::vector<std::string> inputs = {}) {
    layers.push_back({std::move(kind), std::move(name), std::move(options), std::move(inputs)});
  }
  void linear(const std::string& name, std::int64_t outputs, bool bias = true) {
    add("linear", name, {{"outputs", outputs}, {"bias", bias}});
  }
  void drop(const std::string& name) {
    if (s_.dropout > 0) add("dropout", name, {{"probability", s_.dropout}});
  }
  void attend(const std::string& name, bool causal) {
    linear(name + ".qkv", 3 * s_.width);
    add("attention", name + ".heads", {{"heads", s_.heads}, {"causal", causal}});
    linear(name + ".proj", s_.width);
    drop(name + ".drop");
  }
  void think(const std::string& name) {
    linear(name + ".fc", s_.inner);
    add("gelu", name + ".gelu");
    linear(name + ".proj", s_.width);
    drop(name + ".drop");
  }
  /// What was before the part, and the part.
  void join(const std::string& name, const std::string& before) {
    add("add", name, {}, {before, layers.back().name});
  }
  const std::string& last() const { return layers.back().name; }

  std::vector<LayerSpec> layers;

 private:
  const Sizes& s_;
};

}  // namespace

void expect_tokens(const char* model, const InputShape& input) {
  if (input.vocabulary > 0 && input.labels == input.sample.front()) return;
  throw std::invalid_argument(std::string("model ") + model +
                              " expects tokens with a label at each position, and the data has " +
                              (input.vocabulary > 0 ? "one answer a sample" : "none"));
}

std::vector<LayerSpec> gpt(const jobspec::Value& options, const InputShape& input) {
  expect_tokens("gpt", input);
  const Sizes sizes(options);
  Builder b(sizes);
  b.add("embedding", "tokens", {{"tokens", input.vocabulary}, {"width", sizes.width}});
  b.add("positions", "positions");
  b.drop("drop");
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const std::string block = "block" + std::to_string(i);
    const std::string before = b.last();
    b.add("layer_norm", block + ".ln1");
    b.attend(block + ".attn", true);
    b.join(block + ".add1", before);
    const std::string between = b.last();
    b.add("layer_norm", block + ".ln2");
    b.think(block + ".mlp");
    b.join(block + ".add2", between);
  }
  b.add("layer_norm", "ln_f");
  b.linear("head", input.classes, false);
  return std::move(b.layers);
}

std::vector<LayerSpec> bert(const jobspec::Value& options, const InputShape& input) {
  expect_tokens("bert", input);
  const Sizes sizes(options);
  Builder b(sizes);
  b.add("embedding", "tokens", {{"tokens", input.vocabulary}, {"width", sizes.width}});
  b.add("positions", "positions");
  b.add("layer_norm", "ln");
  b.drop("drop");
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const std::string block = "block" + std::to_string(i);
    const std::string before = b.last();
    b.attend(block + ".attn", false);
    b.join(block + ".add1", before);
    b.add("layer_norm", block + ".ln1");
    const std::string between = b.last();
    b.think(block + ".mlp");
    b.join(block + ".add2", between);
    b.add("layer_norm", block + ".ln2");
  }
  b.linear("transform", sizes.width);
  b.add("gelu", "transform.gelu");
  b.add("layer_norm", "transform.ln");
  b.linear("head", input.classes);
  return std::move(b.layers);
}

}  // namespace thalweg::engine
