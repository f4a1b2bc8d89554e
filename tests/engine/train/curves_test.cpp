// 200 steps of training of every family of models on the cuda device beside the cpu device: without
// a GPU on the emulated one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>

#include "engine/gpu/gpu.h"
#include "engine/tensor/random.h"
#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Trial;
using jobspec::Value;

constexpr int kSteps = 200;
constexpr int kFirst = 20;   // steps in which rounding has not grown yet
constexpr int kWindow = 20;  // steps of a mean: later ones differ as any two runs do

// Relative, of one step's loss: as of one pass (tests/engine/nn).
constexpr double kOfFirst = 1e-5;
// Of the means of windows, and of the mean loss at the start. Rounding grows with every step that
// takes a relu or a pool over an edge: here the cpu device and the reference, both in floats, part
// by up to 8e-3 (conv_lstm; resnet 2e-3, the others less). Finer mistakes are for the first steps
// to show: a learning rate that is too high by a hundredth is 2e-4 or more there.
constexpr double kOfWindow = 2e-2;
// In bf16 from fp32, of the same: every edge is crossed by some values. The emulated GPU's part by
// up to 5e-2 (lenet).
constexpr double kOfWindowInBf16 = 0.1;

struct Family {
  std::string name;
  Map model, data;
  double rate = 0.01;
};

void PrintTo(const Family& family, std::ostream* out) {
  *out << family.name;
}

Map layer(const char* kind, Map options = {}) {
  options.insert(options.begin(), {"kind", kind});
  return options;
}

/// Two residual blocks, the second with half the size and a projection.
Map residual_network() {
  List layers;
  const auto add = [&](const char* name, const char* from, Map layer) {
    layer.emplace_back("name", name);
    layer.emplace_back("inputs", List{from});
    layers.push_back(std::move(layer));
  };
  const auto conv = [&](const std::string& name, const char* from, int channels, int stride,
                        int kernel) {
    const std::string before = "conv_" + name;
    add(before.c_str(), from,
        layer("conv2d", {{"channels", channels},
                         {"kernel", kernel},
                         {"stride", stride},
                         {"padding", kernel / 2},
                         {"bias", false}}));
    add(name.c_str(), before.c_str(), layer("batch_norm"));
  };
  const auto sum = [&](const char* name, const char* branch, const char* shortcut) {
    Map layer{{"kind", "add"}, {"name", "sum"}, {"inputs", List{branch, shortcut}}};
    layer[1].second = std::string(name) + "_sum";
    layers.push_back(std::move(layer));
    layers.push_back(Map{{"kind", "relu"}, {"name", name}});
  };
  conv("stem", "input", 8, 1, 3);
  add("start", "stem", layer("relu"));
  conv("a1", "start", 8, 1, 3);
  add("a2", "a1", layer("relu"));
  conv("a3", "a2", 8, 1, 3);
  sum("a", "a3", "start");
  conv("b1", "a", 16, 2, 3);
  add("b2", "b1", layer("relu"));
  conv("b3", "b2", 16, 1, 3);
  conv("b4", "a", 16, 2, 1);
  sum("b", "b3", "b4");
  layers.push_back(layer("global_avg_pool"));
  layers.push_back(layer("linear", {{"outputs", "auto"}}));
  return {{"name", "graph"}, {"layers", std::move(layers)}};
}

/// CosmoFlow's layers, for volumes of 8^3.
Map volume_network() {
  List layers;
  for (const int channels : {4, 8, 16}) {
    layers.push_back(layer("conv3d", {{"channels", channels}, {"kernel", 3}, {"padding", 1}}));
    layers.push_back(layer("leaky_relu", {{"slope", 0.3}}));
    layers.push_back(layer("max_pool3d", {{"kernel", 2}}));
  }
  layers.push_back(layer("flatten"));
  layers.push_back(layer("linear", {{"outputs", 16}}));
  layers.push_back(layer("leaky_relu", {{"slope", 0.3}}));
  layers.push_back(layer("linear", {{"outputs", "auto"}}));
  layers.push_back(layer("tanh", {{"scale", 1.2}}));
  return {{"name", "graph"}, {"layers", std::move(layers)}};
}

std::vector<Family> families() {
  const auto transformer = [](const char* name) {
    return Map{{"name", name}, {"layers", 2}, {"heads", 2}, {"width", 16}, {"dropout", 0.1}};
  };
  const auto images = [](int channels) {
    return Map{
        {"name", "shapes"}, {"samples", 640}, {"size", 8}, {"channels", channels}, {"classes", 4}};
  };
  const Map tokens{{"name", "copy"}, {"samples", 640}, {"words", 4}, {"symbols", 12}};
  const Map fields{{"name", "gaussian-fields"},
                   {"samples", 640},
                   {"shape", List{1, 8, 8, 8}},
                   {"parameters", 3}};
  const Map blobs{{"name", "synthetic"}, {"samples", 640}};
  return {
      {"mlp", {{"name", "mlp"}, {"hidden", List{24, 24}}, {"dropout", 0.1}}, blobs},
      {"lenet", {{"name", "lenet"}}, images(1)},
      {"resnet", residual_network(), images(3)},
      {"gpt", transformer("gpt"), tokens},
      {"bert", transformer("bert"), tokens},
      {"cosmoflow", volume_network(), fields},
      {"unet3d", {{"name", "unet"}, {"depth", 1}, {"channels", 4}}, {{"name", "arrays"}}},
      {"lstm_lm", {{"name", "lstm_lm"}, {"width", 16}, {"dropout", 0.1}}, tokens, 0.3},
      {"conv_lstm",
       {{"name", "conv_lstm"}, {"width", 16}, {"channels", 4}, {"embedding", 8}},
       fields},
  };
}

Trial trial_of(const Family& family) {
  Trial trial;
  trial.seed = 7;
  trial.train =
      Map{{"model", family.model},
          {"data", family.data},
          {"batch", Map{{"global", 16}, {"shards", 2}}},
          {"steps", kSteps},
          {"optimizer", Map{{"name", "momentum"}, {"lr", family.rate}, {"momentum", 0.9}}},
          {"log", Map{{"every", 1}}},
          // Runs are compared that share no file of measured kernels.
          {"kernels", Map{{"measure", "never"}}},
          {"eval", Map{{"every", 1000}}},
          {"checkpoint", Map{{"every", 0}}}};
  return trial;
}

/// The loss of every step, as the journal has it.
std::vector<double> losses(Trial trial, const char* device, const char* precision = "fp32") {
  trial.train.set("device", device);
  trial.train.set("precision", precision);
  const test::TempDir folder;
  run_to_end(trial, folder.path(), 1);
  std::vector<double> all;
  for (const Value& line : lines_of(read_journal(folder.path()), "metrics"))
    for (const Value& point : line.find("points")->as_list())
      if (point.as_list()[0].as_string() == "train/loss")
        all.push_back(point.as_list()[2].as_double());
  return all;
}

/// As written by CpuCurves where the programs were built, for a machine whose time is dear: a line
/// "name loss loss ..." for each family. Empty where there is no such file.
std::vector<double> carried_losses(const std::string& name) {
  const char* const file = std::getenv("THALWEG_CPU_CURVES");
  std::ifstream in(file == nullptr ? "" : file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word != name) continue;
    std::vector<double> all;
    while (words >> word)
      all.push_back(std::stod(word));
    return all;
  }
  return {};
}

std::vector<double> cpu_losses(const Trial& trial, const std::string& name) {
  const std::vector<double> carried = carried_losses(name);
  return carried.empty() ? losses(trial, "cpu") : carried;
}

/// A file that numpy reads: `values` of `shape`, of type "<f4" or "<i4".
template <class T>
void write_npy(const std::filesystem::path& file, const char* type, const std::string& shape,
               const std::vector<T>& values) {
  std::string head =
      std::string("{'descr': '") + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  head.resize((10 + head.size() + 64) / 64 * 64 - 11, ' ');
  head += '\n';
  std::ofstream out(file, std::ios::binary);
  out << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(head.size() % 256)
      << static_cast<char>(head.size() / 256) << head;
  out.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(T)));
}

/// Volumes whose voxels are to be told apart: files in `folder`.
void write_volumes(Trial& trial, const std::filesystem::path& folder) {
  constexpr std::size_t samples = 160, voxels = 4 * 6 * 4;
  std::vector<float> inputs(samples * voxels);
  std::vector<std::int32_t> labels(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto bits = philox(5, Stream::noise, 0, i);
    inputs[i] = uniform01(bits[0]) - 0.5f;
    labels[i] = inputs[i] > 0 ? 1 : 0;
    inputs[i] += 0.5f * (uniform01(bits[1]) - 0.5f);
  }
  write_npy(folder / "inputs.npy", "<f4", "160, 1, 4, 6, 4", inputs);
  write_npy(folder / "labels.npy", "<i4", "160, 96", labels);
  trial.train.set("data.inputs", (folder / "inputs.npy").string());
  trial.train.set("data.labels", (folder / "labels.npy").string());
}

Trial trial_of(const Family& family, const std::filesystem::path& folder) {
  Trial trial = trial_of(family);
  if (family.name == "unet3d") write_volumes(trial, folder);
  return trial;
}

double mean(const std::vector<double>& values, int begin, int count) {
  return std::accumulate(values.begin() + begin, values.begin() + begin + count, 0.0) / count;
}

/// The largest relative difference of the first steps.
double apart_at_first(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < kFirst; ++i)
    most = std::max(most, std::abs(a[i] - b[i]) / std::abs(b[i]));
  return most;
}

/// The largest difference of the means of kWindow steps, of the first such mean.
double apart_in_windows(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (int i = 0; i + kWindow <= kSteps; ++i)
    most = std::max(most, std::abs(mean(a, i, kWindow) - mean(b, i, kWindow)));
  return most / std::abs(mean(b, 0, kWindow));
}

class GpuCurves : public testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    if (gpu::gpu_count() == 0) setenv("THALWEG_GPU", "emulated", 1);
  }
};

TEST_P(GpuCurves, AreTheCpusAndTheSameBitsAgain) {
  const Family& family = GetParam();
  const test::TempDir folder;
  const Trial trial = trial_of(family, folder.path());
  const std::vector<double> cpu = cpu_losses(trial, family.name), cuda = losses(trial, "cuda"),
                            bf16 = losses(trial, "cuda", "bf16");
  for (const auto* curve : {&cpu, &cuda, &bf16})
    ASSERT_EQ(curve->size(), static_cast<std::size_t>(kSteps));
  EXPECT_LT(mean(cpu, kSteps - kWindow, kWindow), 0.95 * mean(cpu, 0, kWindow)) << "learns nothing";
  const double first = apart_at_first(cuda, cpu), windows = apart_in_windows(cuda, cpu),
               windows_in_bf16 = apart_in_windows(bf16, cuda);
  EXPECT_LT(first, kOfFirst);
  EXPECT_LT(windows, kOfWindow);
  EXPECT_LT(windows_in_bf16, kOfWindowInBf16);
  EXPECT_EQ(losses(trial, "cuda"), cuda);
  EXPECT_EQ(losses(trial, "cuda", "bf16"), bf16);
  char text[128];
  std::snprintf(text, sizeof text, "%.1e in steps 1-%d, %.1e in windows, %.1e in bf16", first,
                kFirst, windows, windows_in_bf16);
  RecordProperty("apart", text);
}

/// Writes what carried_losses() reads.
void write_cpu_losses(const std::vector<Family>& of, const std::string& file) {
  std::ofstream out(file);
  for (const Family& family : of) {
    const test::TempDir folder;
    out << family.name;
    for (const double loss : losses(trial_of(family, folder.path()), "cpu")) {
      char text[40];
      std::snprintf(text, sizeof text, " %.17g", loss);
      out << text;
    }
    out << "\n";
  }
}

TEST(CpuCurves, AreWrittenWhereAsked) {
  const char* const file = std::getenv("THALWEG_WRITE_CPU_CURVES");
  if (file == nullptr) GTEST_SKIP() << "THALWEG_WRITE_CPU_CURVES names no file";
  write_cpu_losses(families(), file);
}

TEST(CpuCurves, AreTheSameNumbersWhenCarried) {
  const test::TempDir folder;
  const std::string file = folder.path() / "curves";
  const Family mlp = families()[0];
  write_cpu_losses({mlp}, file);
  setenv("THALWEG_CPU_CURVES", file.c_str(), 1);
  const std::vector<double> carried = carried_losses("mlp"), other = carried_losses("lenet");
  unsetenv("THALWEG_CPU_CURVES");
  EXPECT_EQ(carried, losses(trial_of(mlp), "cpu"));
  EXPECT_TRUE(other.empty());
  EXPECT_TRUE(carried_losses("mlp").empty());
}

INSTANTIATE_TEST_SUITE_P(Of, GpuCurves, testing::ValuesIn(families()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::engine
