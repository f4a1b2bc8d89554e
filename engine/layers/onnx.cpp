// A .onnx file is a message of Protocol Buffers (protobuf.dev, "Encoding"): fields one after
// another, each a key (number and wire type, a varint) and a value; messages within messages are
// bytes with their length before them. The few messages that a model needs (onnx/onnx.proto) are
// written here by hand: their field numbers are the format, which never changes them.
#include "engine/layers/onnx.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace thalweg::engine::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

constexpr std::int64_t kIrVersion = 8;             // that of opset 17
constexpr std::size_t kMaxBytes = (1u << 31) - 1;  // of a message
enum DataType : std::int64_t { kFloat = 1, kInt64 = 7 };

/// A message under construction.
class Message {
 public:
  void integer(int field, std::int64_t value) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(value));
  }
  void real(int field, float value) {
    key(field, 5);
    raw(&value, sizeof value);
  }
  void bytes(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    out_ += value;
  }
  void message(int field, const Message& value) { bytes(field, value.out_); }
  /// Encoded as the field of a larger message already.
  void encoded(const std::string& fields) { out_ += fields; }
  const std::string& str() const { return out_; }

 private:
  void key(int field, unsigned wire_type) {
    varint(static_cast<std::uint64_t>(field) << 3 | wire_type);
  }
  void varint(std::uint64_t value) {
    for (; value > 0x7f; value >>= 7)
      out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  void raw(const void* data, std::size_t size) {
    out_.append(static_cast<const char*>(data), size);
  }

  std::string out_;
};

// Fields of GraphProto.
enum { kNode = 1, kGraphName = 2, kInitializer = 5, kInput = 11, kOutput = 12 };

Message tensor(const std::string& name, const Shape& shape, DataType type, const void* values,
               std::size_t bytes) {
  Message t;
  for (const std::int64_t size : shape)
    t.integer(1, size);
  t.integer(2, type);
  t.bytes(8, name);
  t.bytes(9, {static_cast<const char*>(values), bytes});
  return t;
}

Message attribute(const Attribute& from) {
  enum Type { kReal = 1, kWhole = 2, kText = 3, kWholes = 7 };
  Message a;
  a.bytes(1, from.name);
  Type type = kWhole;
  if (const auto* whole = std::get_if<std::int64_t>(&from.value)) {
    a.integer(3, *whole);
  } else if (const auto* number = std::get_if<float>(&from.value)) {
    a.real(2, *number);
    type = kReal;
  } else if (const auto* text = std::get_if<std::string>(&from.value)) {
    a.bytes(4, *text);
    type = kText;
  } else {
    for (const std::int64_t value : std::get<Integers>(from.value))
      a.integer(8, value);
    type = kWholes;
  }
  a.integer(20, type);
  return a;
}

/// ValueInfoProto: the batch has any size.
Message value_info(const std::string& name, DataType type, const Shape& sample) {
  Message shape;
  Message batch;
  batch.bytes(2, "batch");
  shape.message(1, batch);
  for (const std::int64_t size : sample) {
    Message dimension;
    dimension.integer(1, size);
    shape.message(1, dimension);
  }
  Message tensor_type, any_type, info;
  tensor_type.integer(1, type);
  tensor_type.message(2, shape);
  any_type.message(1, tensor_type);
  info.bytes(1, name);
  info.message(2, any_type);
  return info;
}

}  // namespace

std::string Builder::fresh(const std::string& what) {
  return layer_ + "/" + what + "_" + std::to_string(count_++);
}

std::string Builder::node(const std::string& op, const std::vector<std::string>& inputs,
                          std::vector<Attribute> attributes, int output) {
  Message n;
  for (const std::string& input : inputs)
    n.bytes(1, input);
  const std::string name = fresh(op);
  for (int i = 0; i < output; ++i)
    n.bytes(2, "");
  n.bytes(2, name);
  n.bytes(3, name);
  n.bytes(4, op);
  for (const Attribute& a : attributes)
    n.message(5, attribute(a));
  Message in_graph;
  in_graph.message(kNode, n);
  nodes_ += in_graph.str();
  return name;
}

std::string Builder::floats(const Shape& shape, const std::vector<float>& values) {
  const std::string name = fresh("constant");
  Message in_graph;
  in_graph.message(kInitializer,
                   tensor(name, shape, kFloat, values.data(), values.size() * sizeof(float)));
  constants_ += in_graph.str();
  return name;
}

std::string Builder::number(float value) {
  return floats({}, {value});
}

std::string Builder::integers(const Integers& values) {
  const std::string name = fresh("constant");
  Message in_graph;
  in_graph.message(kInitializer, tensor(name, {static_cast<std::int64_t>(values.size())}, kInt64,
                                        values.data(), values.size() * sizeof(values[0])));
  constants_ += in_graph.str();
  return name;
}

std::string Builder::reshape(const std::string& x, const Integers& shape) {
  return node("Reshape", {x, integers(shape)});
}

std::string Builder::transpose(const std::string& x, const Integers& order) {
  return node("Transpose", {x}, {{"perm", order}});
}

std::string Builder::pick(const std::string& x, std::int64_t index) {
  return node("Squeeze",
              {node("Gather", {x, integers({index})}, {{"axis", std::int64_t{0}}}), integers({0})});
}

std::string Builder::attend(const std::string& q, const std::string& k, const std::string& v,
                            std::int64_t positions, std::int64_t width, std::int64_t depth,
                            bool causal) {
  const std::string scaled =
      node("Mul", {q, number(static_cast<float>(1 / std::sqrt(static_cast<double>(depth))))});
  std::string scores = node("MatMul", {scaled, transpose(k, {0, 1, 3, 2})});
  if (causal) {
    std::vector<float> mask(static_cast<std::size_t>(positions * positions));
    for (std::int64_t i = 0; i < positions; ++i)
      for (std::int64_t j = i + 1; j < positions; ++j)
        mask[static_cast<std::size_t>(i * positions + j)] = -std::numeric_limits<float>::infinity();
    scores = node("Add", {scores, floats({positions, positions}, mask)});
  }
  const std::string weights = node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  return reshape(transpose(node("MatMul", {weights, v}), {0, 2, 1, 3}), {0, positions, width});
}

/// Puts the graph together.
class File {
 public:
  std::string write(const Graph& graph, const std::vector<Weight>& weights,
                    const std::string& version) {
    Message g;
    g.bytes(kGraphName, "thalweg");
    bool tokens = false;
    std::vector<std::string> values{"input"};
    auto weight = weights.begin();
    for (const LayerPlan& layer : graph.layers) {
      builder_.layer_ = layer.name;
      std::vector<std::string> inputs, own;
      for (const int from : layer.from) {
        inputs.push_back(values[static_cast<std::size_t>(from)]);
        tokens = tokens || (from == 0 && layer.kind->tokens);
      }
      for (std::size_t i = 0; i < layer.parameters.size() + layer.statistics.size(); ++i)
        own.push_back((weight++)->name);
      values.push_back(form_of(*layer.kind)(builder_, layer, inputs, own));
    }
    Message last;
    last.bytes(1, values.back());
    last.bytes(2, "output");
    last.bytes(4, "Identity");
    g.encoded(builder_.nodes_);
    g.message(kNode, last);
    for (const Weight& w : weights)
      g.message(kInitializer, tensor(w.name, w.shape, kFloat, w.values,
                                     static_cast<std::size_t>(elements(w.shape)) * sizeof(float)));
    g.encoded(builder_.constants_);
    g.message(kInput, value_info("input", tokens ? kInt64 : kFloat, graph.input));
    g.message(kOutput, value_info("output", kFloat, graph.layers.back().out));
    Message operators;
    operators.integer(2, opset);
    Message model;
    model.integer(1, kIrVersion);
    model.bytes(2, "thalweg");
    model.bytes(3, version);
    model.message(7, g);
    model.message(8, operators);
    if (model.str().size() > kMaxBytes)
      throw std::invalid_argument(
          "the model is larger than the 2 GiB that an ONNX file can hold; use .safetensors");
    return model.str();
  }

 private:
  Builder builder_;
};

std::string write_model(const Graph& graph, const std::vector<Weight>& weights,
                        const std::string& version) {
  return File().write(graph, weights, version);
}

}  // namespace thalweg::engine::onnx
