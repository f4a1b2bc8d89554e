// gpt: a decoder with normalisation before each part (Radford et al., GPT-2): every position
// predicts the next token. bert: an encoder with normalisation after each part (Devlin et al.,
// arXiv:1810.04805) that predicts the tokens at masked positions. Both use gelu. encoder_decoder:
// the transformer of Vaswani et al. (arXiv:1706.03762) with relu, normalisation after each part and
// at the end of either side, as torch.nn.Transformer has it; a sample's first positions are the
// source, the others predict the next token of the target. All: learned positions, an output layer
// of its own (not the embedding's weights).
#include <stdexcept>
#include <string>

#include "engine/nn/model_table.h"

namespace thalweg::engine {
namespace {

struct Sizes {
  std::int64_t layers, heads, width, inner;
  double dropout;

  explicit Sizes(const jobspec::Options& options)
      : layers(options.integer("layers")),
        heads(options.integer("heads")),
        width(options.integer("width")),
        inner(options.integer_or("inner", 4 * width)),
        dropout(options.real("dropout")) {
    if (width % heads != 0)
      throw std::invalid_argument("model.heads: a width of " + std::to_string(width) +
                                  " is no multiple of " + std::to_string(heads) + " heads");
  }
};

class TransformerBuilder {
 public:
  explicit TransformerBuilder(const Sizes& sizes) : s_(sizes) {}

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
  /// Queries of the last layer, keys and values of `memory`.
  void attend_to(const std::string& name, const std::string& memory) {
    linear(name + ".q", s_.width);
    add("linear", name + ".kv", {{"outputs", 2 * s_.width}}, {memory});
    add("cross_attention", name + ".heads", {{"heads", s_.heads}}, {name + ".q", name + ".kv"});
    linear(name + ".proj", s_.width);
    drop(name + ".drop");
  }
  void think(const std::string& name, const char* activation = "gelu") {
    linear(name + ".fc", s_.inner);
    add(activation, name + "." + activation);
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

/// Part `part` of a block, joined to what was before it, and normalised.
template <class Part>
void add_part(TransformerBuilder& b, const std::string& block, int number, Part part) {
  const std::string before = b.last(), n = std::to_string(number);
  part();
  b.join(block + ".add" + n, before);
  b.add("layer_norm", block + ".ln" + n);
}

/// Positions of the source.
std::int64_t source_positions(const jobspec::Options& options, const InputShape& input) {
  const std::int64_t positions = input.sample.front();
  const std::int64_t source = options.integer_or("source", positions / 2);
  if (source < 1 || source >= positions)
    throw std::invalid_argument("of " + std::to_string(positions) + " positions " +
                                std::to_string(source) +
                                " cannot be the source: some are needed on either side");
  return source;
}

}  // namespace

void expect_tokens(const char* model, const InputShape& input) {
  if (input.vocabulary > 0 && input.labels == input.sample.front()) return;
  throw std::invalid_argument(std::string("model ") + model +
                              " expects tokens with a label at each position, and the data has " +
                              (input.vocabulary > 0 ? "one answer a sample" : "none"));
}

std::vector<LayerSpec> gpt(const jobspec::Options& options, const InputShape& input) {
  expect_tokens("gpt", input);
  const Sizes sizes(options);
  TransformerBuilder b(sizes);
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

std::vector<LayerSpec> bert(const jobspec::Options& options, const InputShape& input) {
  expect_tokens("bert", input);
  const Sizes sizes(options);
  TransformerBuilder b(sizes);
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

std::vector<LayerSpec> encoder_decoder(const jobspec::Options& options, const InputShape& input) {
  expect_tokens("encoder_decoder", input);
  const Sizes sizes(options);
  const std::int64_t source = source_positions(options, input);
  TransformerBuilder b(sizes);
  b.add("embedding", "tokens", {{"tokens", input.vocabulary}, {"width", sizes.width}});
  b.add("positions", "positions");
  b.drop("drop");
  const std::string embedded = b.last();
  b.add("slice", "source", {{"first", 0}, {"count", source}}, {embedded});
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const std::string block = "encoder" + std::to_string(i);
    add_part(b, block, 1, [&] { b.attend(block + ".attn", false); });
    add_part(b, block, 2, [&] { b.think(block + ".mlp", "relu"); });
  }
  b.add("layer_norm", "encoder.ln");
  const std::string memory = b.last();
  b.add("slice", "target", {{"first", source}, {"count", input.sample.front() - source}},
        {embedded});
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const std::string block = "decoder" + std::to_string(i);
    add_part(b, block, 1, [&] { b.attend(block + ".attn", true); });
    add_part(b, block, 2, [&] { b.attend_to(block + ".cross", memory); });
    add_part(b, block, 3, [&] { b.think(block + ".mlp", "relu"); });
  }
  b.add("layer_norm", "decoder.ln");
  b.linear("head", input.classes);
  b.add("pad", "answers", {{"before", source}});  // the source's own positions predict nothing
  return std::move(b.layers);
}

}  // namespace thalweg::engine
