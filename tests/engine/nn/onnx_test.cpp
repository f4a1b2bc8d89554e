// Models as ONNX files: their bytes taken apart again, and their outputs by onnxruntime where
// Python has it.
#include "engine/layers/onnx.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "cases.h"
#include "engine/device/executor.h"
#include "engine/layers/table.h"
#include "engine/nn/model_table.h"
#include "tests/support/process.h"

namespace thalweg::engine::test {
namespace {

using jobspec::List;
using jobspec::Map;
using thalweg::test::TempDir;

/// Fields of a Protocol Buffers message in their order: number and bytes, or number.
struct Field {
  int number = 0;
  std::uint64_t whole = 0;
  std::string_view bytes;
};

std::uint64_t take_varint(std::string_view& from) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(from.at(0));
    from.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

std::vector<Field> fields_of(std::string_view message) {
  std::vector<Field> fields;
  while (!message.empty()) {
    const std::uint64_t key = take_varint(message);
    Field field;
    field.number = static_cast<int>(key >> 3);
    if ((key & 7) == 0) {
      field.whole = take_varint(message);
    } else {
      const std::uint64_t size = (key & 7) == 5 ? 4 : take_varint(message);
      EXPECT_TRUE((key & 7) == 2 || (key & 7) == 5);
      if (size > message.size()) throw std::runtime_error("a field ends behind its message");
      field.bytes = message.substr(0, size);
      message.remove_prefix(size);
    }
    fields.push_back(field);
  }
  return fields;
}

std::vector<std::string> texts(std::string_view message, int number) {
  std::vector<std::string> all;
  for (const Field& f : fields_of(message))
    if (f.number == number) all.emplace_back(f.bytes);
  return all;
}
std::vector<std::int64_t> wholes(std::string_view message, int number) {
  std::vector<std::int64_t> all;
  for (const Field& f : fields_of(message))
    if (f.number == number) all.push_back(static_cast<std::int64_t>(f.whole));
  return all;
}

/// A graph, its weights and what evaluation makes of some samples.
struct Written {
  Graph graph;
  std::vector<std::vector<float>> values, statistics;
  std::vector<onnx::Weight> weights;
  std::string file;

  explicit Written(Graph of) : graph(std::move(of)), values(start_values(graph)) {
    std::size_t number = 0;
    std::uint64_t at = 0;
    for (const LayerPlan& layer : graph.layers)
      for (const StatisticPlan& s : layer.statistics) {
        std::vector<float> numbers(static_cast<std::size_t>(s.count));
        for (float& n : numbers)  // no variance is negative
          n = s.initial + 0.5f * uniform01(philox(3, Stream::noise, 0, at++)[0]);
        statistics.push_back(std::move(numbers));
      }
    std::size_t statistic = 0;
    for (const LayerPlan& layer : graph.layers) {
      for (const ParameterPlan& p : layer.parameters)
        weights.push_back({layer.name + "." + p.name, p.shape, values[number++].data()});
      for (const StatisticPlan& s : layer.statistics)
        weights.push_back(
            {layer.name + ".running_" + s.name, {s.count}, statistics[statistic++].data()});
    }
    file = onnx::write_model(graph, weights, "1.2.3");
  }

  std::vector<float> outputs(const Data& data) const {
    const auto program = reference::compile<float>(graph, data.batch.samples);
    const auto executor = program->executor();
    std::vector<float> running;
    for (const auto& s : statistics)
      running.insert(running.end(), s.begin(), s.end());
    const auto flat = flat_memory(*program, values);
    std::vector<float> out(
        static_cast<std::size_t>(data.batch.samples * elements(graph.layers.back().out)));
    ShardResult result;
    BasicShard<float> shard;
    shard.batch = data.batch;
    shard.parameters = flat.data();
    shard.running = running.data();
    shard.result = &result;
    shard.outputs = out.data();
    executor->evaluate(nullptr, shard);
    return out;
  }
};

/// Every row of the model table, small, and every layer in its small chain.
std::vector<Case> all_models() {
  std::vector<Case> all = small_cases();
  const auto add = [&](const char* name, Map model, const InputShape& input) {
    model.insert(model.begin(), {"name", name});
    Case c;
    c.name = std::string("model_") + name;
    c.input = input.sample;
    c.samples = 2;
    c.classes = input.classes;
    c.labels = input.labels;
    c.targets = input.targets;
    c.vocabulary = input.vocabulary;
    c.loss = jobspec::Value(std::move(model));  // marks a model: see case_graph
    all.push_back(std::move(c));
  };
  const InputShape image{{3, 16, 16}, 5}, digit{{1, 28, 28}, 5}, flat{{12}, 5},
      tokens{{6}, 11, 6, 0, 11}, volume{{2, 32, 32, 32}, 0, 0, 4}, pixels{{2, 16, 16}, 3, 256};
  const Map small{{"layers", 2}, {"heads", 2}, {"width", 16}};
  add("mlp", {{"hidden", List{9, 8}}, {"batch_norm", true}, {"dropout", 0.1}}, flat);
  add("lenet", {{"batch_norm", true}}, digit);
  add("simple_cnn", {}, digit);
  add("resnet", {{"depth", 18}}, image);
  add("resnet", {{"depth", 50}, {"stem", "imagenet"}}, {{3, 32, 32}, 5});
  add("cosmoflow", {{"channels", 4}}, volume);
  add("gpt", small, tokens);
  add("bert", small, tokens);
  add("encoder_decoder", small, tokens);
  add("lstm_lm", {{"width", 8}}, tokens);
  add("lstm", {{"width", 8}, {"layers", 2}}, {{6, 5}, 4});
  add("conv_lstm", {{"width", 8}, {"channels", 3}, {"embedding", 6}}, {{2, 8, 8, 8}, 0, 0, 3});
  add("unet", {{"depth", 2}, {"channels", 4}}, pixels);
  add("unet", {{"depth", 1}, {"channels", 4}}, {{2, 4, 4, 4}, 3, 64});
  add("flood_filling", {{"modules", 1}, {"channels", 4}}, {{2, 6, 6, 6}, 0, 0, 216});
  return all;
}

Graph case_graph(const Case& c) {
  if (!c.name.starts_with("model_")) return c.graph();
  return build_model_graph(c.loss, {c.input, c.classes, c.labels, c.targets, c.vocabulary});
}

class Onnx : public testing::TestWithParam<Case> {};

TEST_P(Onnx, HoldsTheGraphAndItsWeights) {
  const Written written(case_graph(GetParam()));
  EXPECT_EQ(wholes(written.file, 1), (std::vector<std::int64_t>{8}));
  EXPECT_EQ(texts(written.file, 3), (std::vector<std::string>{"1.2.3"}));
  EXPECT_EQ(wholes(texts(written.file, 8).at(0), 2), (std::vector<std::int64_t>{17}));
  const std::string graph = texts(written.file, 7).at(0);

  std::map<std::string, std::string> initializers;
  std::vector<std::string> names;
  for (const std::string& tensor : texts(graph, 5)) {
    names.push_back(texts(tensor, 8).at(0));
    EXPECT_TRUE(initializers.emplace(names.back(), tensor).second) << names.back() << " twice";
  }
  ASSERT_GE(names.size(), written.weights.size());
  for (std::size_t i = 0; i < written.weights.size(); ++i) {
    const onnx::Weight& w = written.weights[i];
    EXPECT_EQ(names[i], w.name);
    const std::string& tensor = initializers.at(w.name);
    EXPECT_EQ(wholes(tensor, 1), w.shape) << w.name;
    EXPECT_EQ(wholes(tensor, 2), (std::vector<std::int64_t>{1})) << "floats";
    const std::string raw = texts(tensor, 9).at(0);
    ASSERT_EQ(raw.size(), static_cast<std::size_t>(elements(w.shape)) * sizeof(float));
    EXPECT_EQ(std::memcmp(raw.data(), w.values, raw.size()), 0) << w.name;
  }

  // Each value is there before it is taken, and each weight is taken.
  std::set<std::string> known(names.begin(), names.end()), taken;
  known.insert({"input", ""});
  std::string last;
  for (const std::string& node : texts(graph, 1)) {
    for (const std::string& input : texts(node, 1)) {
      EXPECT_TRUE(known.count(input)) << input;
      taken.insert(input);
    }
    EXPECT_EQ(texts(node, 4).size(), 1u);
    for (const std::string& output : texts(node, 2)) {
      const bool fresh = output.empty() || known.insert(output).second;
      EXPECT_TRUE(fresh) << output << " twice";
      last = output;
    }
  }
  EXPECT_EQ(last, "output");
  for (const onnx::Weight& w : written.weights)
    EXPECT_TRUE(taken.count(w.name)) << w.name;

  // (batch, sample): a name, then numbers.
  const auto sizes = [&](int field, const std::string& name) {
    const std::string info = texts(graph, field).at(0);
    EXPECT_EQ(texts(info, 1).at(0), name);
    const std::string shape = texts(texts(texts(info, 2).at(0), 1).at(0), 2).at(0);
    Shape sample;
    for (const std::string& dimension : texts(shape, 1)) {
      const auto size = wholes(dimension, 1);
      const bool is_batch = texts(dimension, 2) == std::vector<std::string>{"batch"};
      sample.push_back(is_batch ? -1 : size.at(0));
    }
    return sample;
  };
  const auto with_batch = [](Shape sample) {
    sample.insert(sample.begin(), -1);
    return sample;
  };
  EXPECT_EQ(sizes(11, "input"), with_batch(written.graph.input));
  EXPECT_EQ(sizes(12, "output"), with_batch(written.graph.layers.back().out));
}

TEST(OnnxModels, HoldEveryLayerAndModel) {
  std::set<std::string> layers, models;
  for (const Case& c : all_models()) {
    for (const LayerPlan& layer : case_graph(c).layers)
      layers.insert(layer.kind->name);
    if (c.name.starts_with("model_")) models.insert(c.name.substr(6));
  }
  for (const LayerKind& kind : layer_table())
    EXPECT_TRUE(layers.count(kind.name)) << kind.name;
  for (const ModelKind& kind : model_table())
    EXPECT_TRUE(models.count(kind.name) || kind.name == std::string("graph")) << kind.name;
}

INSTANTIATE_TEST_SUITE_P(Of, Onnx, testing::ValuesIn(all_models()), [](const auto& test) {
  std::string name = test.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name + "_" + std::to_string(test.index);
});

void write_bytes(const std::filesystem::path& file, const void* data, std::size_t bytes) {
  thalweg::test::write_file(file, std::string(static_cast<const char*>(data), bytes));
}

TEST(OnnxRuntime, PutsOutWhatTheReferenceDoes) {
  if (thalweg::test::run({"python3", "-c", "import numpy, onnxruntime"}).code != 0)
    GTEST_SKIP() << "python3 has no onnxruntime (pip install onnxruntime)";
  const TempDir folder;
  int number = 0;
  for (const Case& c : all_models()) {
    const Written written(case_graph(c));
    const Data data({c.input, c.classes, c.labels, c.targets, c.vocabulary}, c.samples);
    const std::vector<float> outputs = written.outputs(data);
    std::string name = std::to_string(100 + number++) + "_" + c.name;
    std::replace(name.begin(), name.end(), ' ', '_');
    std::replace(name.begin(), name.end(), '/', '_');
    const auto stem = (folder.path() / name).string();
    thalweg::test::write_file(stem + ".onnx", written.file);
    if (c.vocabulary > 0) {
      const std::vector<std::int64_t> tokens(data.inputs.begin(), data.inputs.end());
      write_bytes(stem + ".in", tokens.data(), tokens.size() * sizeof tokens[0]);
    } else {
      write_bytes(stem + ".in", data.inputs.data(), data.inputs.size() * sizeof(float));
    }
    write_bytes(stem + ".out", outputs.data(), outputs.size() * sizeof(float));
  }
  const auto outcome = thalweg::test::run(
      {"python3", THALWEG_SOURCE_DIR "/tests/engine/nn/onnx_check.py", folder.path().string()});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  std::printf("%s", outcome.out.c_str());
}

}  // namespace
}  // namespace thalweg::engine::test
