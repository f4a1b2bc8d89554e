// The bits of the curves of small trials, written down: a change of the engine that is to leave the
// arithmetic alone must leave them too, on every number of ranks. Which kernels oneDNN makes
// decides the bits, so there is a table for each kind of processor that has been written down
// (reference_curves.yaml); elsewhere the test skips. THALWEG_RECORD_CURVES=1 prints the table of
// this one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <dnnl.hpp>
#include <iostream>
#include <map>

#include "engine/tensor/random.h"
#include "tests/engine/train/support.h"
#include "tests/support/npy.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Trial;
using jobspec::Value;

struct Reference {
  std::string name;  ///< MODEL_OPTIMIZER, with _bf16 in bf16
  Map model, data;
  Map optimizer;
  std::string precision = "fp32";
  int steps = 12;
};

std::vector<Reference> references() {
  const Map blobs{{"name", "synthetic"}, {"samples", 240}};
  const Map grey{
      {"name", "shapes"}, {"samples", 240}, {"size", 12}, {"channels", 1}, {"classes", 4}};
  const Map colour{
      {"name", "shapes"}, {"samples", 240}, {"size", 16}, {"channels", 3}, {"classes", 4}};
  const Map tokens{{"name", "copy"}, {"samples", 240}, {"words", 4}, {"symbols", 12}};
  const Map mlp{{"name", "mlp"}, {"hidden", jobspec::List{32, 24}}, {"dropout", 0.1}};
  const Map lenet{{"name", "lenet"}, {"dropout", 0.2}};
  const Map resnet{{"name", "resnet"}, {"depth", 18}};
  const Map gpt{{"name", "gpt"}, {"layers", 2}, {"heads", 2}, {"width", 32}, {"dropout", 0.1}};
  const Map lstm{{"name", "lstm_lm"}, {"width", 24}, {"dropout", 0.1}};
  const Map unet{{"name", "unet"}, {"depth", 2}, {"channels", 4}};
  const Map pixels{{"name", "arrays"}};
  const auto with = [](const char* name, double lr) { return Map{{"name", name}, {"lr", lr}}; };
  return {{"mlp_sgd", mlp, blobs, with("sgd", 0.1)},
          {"mlp_muon", mlp, blobs, with("muon", 0.02)},
          {"lenet_adamw", lenet, grey, with("adamw", 0.002)},
          {"lenet_lamb", lenet, grey, with("lamb", 0.01)},
          {"resnet18_sgd", resnet, colour, with("sgd", 0.05), "fp32", 4},
          {"resnet18_lamb", resnet, colour, with("lamb", 0.01), "fp32", 4},
          {"gpt_adamw", gpt, tokens, with("adamw", 0.003)},
          {"gpt_muon", gpt, tokens, with("muon", 0.02)},
          {"lstm_sgd", lstm, tokens, with("sgd", 0.5)},
          {"lstm_adamw", lstm, tokens, with("adamw", 0.005)},
          {"unet_adamw", unet, pixels, with("adamw", 0.005)},
          {"unet_lamb", unet, pixels, with("lamb", 0.01)},
          {"lenet_adamw_bf16", lenet, grey, with("adamw", 0.002), "bf16"},
          {"gpt_adamw_bf16", gpt, tokens, with("adamw", 0.003), "bf16"}};
}

/// Images of noise whose pixels are labelled by their sign.
void write_pixels(const std::filesystem::path& folder) {
  constexpr std::size_t samples = 240, size = 8, pixels = size * size;
  std::vector<float> inputs(samples * pixels);
  std::vector<std::int32_t> labels(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = uniform01(philox(5, Stream::noise, 0, i)[0]) - 0.5f;
    labels[i] = inputs[i] > 0 ? 1 : 0;
  }
  test::write_file(folder / "inputs.npy", test::npy_text("<f4", {samples, 1, size, size}, inputs));
  test::write_file(folder / "labels.npy", test::npy_text("<i4", {samples, pixels}, labels));
}

Trial trial_of(const Reference& reference, const std::filesystem::path& folder) {
  Trial trial;
  trial.seed = 11;
  trial.train =
      Map{{"model", reference.model},
          {"data", reference.data},
          {"batch", Map{{"global", 24}, {"shards", 6}}},
          {"steps", reference.steps},
          {"optimizer", reference.optimizer},
          {"schedule", Map{{"decay", "cosine"}, {"warmup", "linear"}, {"warmup_steps", 3}}},
          {"precision", reference.precision},
          {"device", "cpu"},
          {"log", Map{{"every", 1}}}};
  if (reference.data.front().second.as_string() == "arrays") {
    write_pixels(folder);
    trial.train.set("data.inputs", (folder / "inputs.npy").string());
    trial.train.set("data.labels", (folder / "labels.npy").string());
  }
  return trial;
}

/// FNV-1a of the curve's lines.
std::string hash_of(const std::vector<std::string>& lines) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::string& line : lines)
    for (const char c : line + "\n")
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

/// What oneDNN makes its kernels by.
std::string processor() {
  const dnnl_version_t* version = dnnl_version();
  return "onednn-" + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch) + " isa-" +
         std::to_string(static_cast<unsigned>(dnnl::get_effective_cpu_isa())) + " l2-" +
         std::to_string(sysconf(_SC_LEVEL2_CACHE_SIZE) / 1024) + "K";
}

bool makes_bf16() {
  const auto bits = [](dnnl::cpu_isa of) { return static_cast<unsigned>(of); };
  const unsigned wanted = bits(dnnl::cpu_isa::avx512_core_bf16);
  return (bits(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

std::vector<std::string> curve_on(int ranks, const Reference& reference) {
  const test::TempDir folder;
  Trial trial = trial_of(reference, folder.path());
  trial.resources.ranks_per_node = ranks;
  run_to_end(trial, folder.path() / "run", ranks);
  return curve({folder.path() / "run"});
}

class ReferenceCurves : public testing::TestWithParam<Reference> {};

TEST_P(ReferenceCurves, AreTheBitsThatWereWrittenDown) {
  const Reference& reference = GetParam();
  if (reference.precision == "bf16" && !makes_bf16())
    GTEST_SKIP() << "this processor does not multiply bf16";
  const Value table = jobspec::read_yaml(
      test::read_file(THALWEG_SOURCE_DIR "/tests/engine/train/reference_curves.yaml"), "table");
  const Value* const known = table.find(processor());
  const bool records = std::getenv("THALWEG_RECORD_CURVES") != nullptr;
  if (known == nullptr && !records)
    GTEST_SKIP() << "no curves were written down for " << processor()
                 << "; THALWEG_RECORD_CURVES=1 prints them";
  std::string hash;
  for (const int ranks : {1, 2, 3}) {
    const std::vector<std::string> lines = curve_on(ranks, reference);
    ASSERT_GE(lines.size(), static_cast<std::size_t>(reference.steps));
    const std::string found = hash_of(lines);
    if (ranks == 1) hash = found;
    EXPECT_EQ(found, hash) << ranks << " ranks";
  }
  if (records) {
    std::cout << "  " << reference.name << ": \"" << hash << "\"   # " << processor() << "\n";
    return;
  }
  const Value* const written = known->find(reference.name);
  ASSERT_NE(written, nullptr) << "not in reference_curves.yaml";
  EXPECT_EQ(hash, written->as_string());
}

// The matrices of the table are small; these are multiplied by oneDNN, Muon's in bfloat16.
TEST(CurvesOfLargeMatrices, HaveTheSameBitsOnAnyNumberOfRanks) {
  for (const char* optimizer : {"muon", "soap"}) {
    Reference reference;
    for (const Reference& row : references())
      if (row.name == "gpt_muon") reference = row;
    Value model(reference.model);
    model.set("width", 128);
    reference.model = model.as_map();
    reference.optimizer = Map{{"name", optimizer}, {"lr", 0.01}};
    reference.steps = 3;
    std::vector<std::string> first;
    for (const int ranks : {1, 2, 3}) {
      const std::vector<std::string> lines = curve_on(ranks, reference);
      ASSERT_GE(lines.size(), 3u);
      if (ranks == 1) first = lines;
      EXPECT_EQ(lines, first) << optimizer << ", " << ranks << " ranks";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, ReferenceCurves, testing::ValuesIn(references()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::engine
