// What we ask of cuDNN, where there is no GPU: its "deviceless" mode makes plans for one that is
// only described, and a driver of the tests' own lets those be finished that are compiled. The
// models are compiled for such a GPU by the device itself: every call that a real one would plan is
// planned.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/device/cuda/kernel_choice.h"
#include "engine/device/cuda/padded_channels.h"
#include "engine/device/cuda/program.h"
#include "engine/gpu/cudnn_attention.h"
#include "engine/gpu/cudnn_convolution.h"
#include "engine/gpu/cudnn_rnn.h"
#include "engine/nn/model_table.h"
#include "tests/engine/gpu/described_gpu.h"
#include "tests/support/models.h"

namespace thalweg::engine::gpu {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

struct Kind {
  std::string name;
  std::string properties;  ///< those that cuDNN asks for, as JSON
};

/// A GPU of compute capability 9.0 with 132 multiprocessors.
Kind hopper(const std::string& name, const std::string& product, int memory_khz,
            std::int64_t l2_bytes, std::int64_t bytes) {
  return {name, fmt::format(R"({{"deviceName":"{}","cudaDeviceId":0,"deviceVer":900,
"driverVer":13000,"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],
"regsPerBlock":65536,"multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,
"maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,
"maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,
"pciDeviceId":1,"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1980000,
"memClockRateKHz":{},"l2CacheSize":{},"totalGlobalMem":{}}})",
                            product, memory_khz, l2_bytes, bytes)};
}
const Kind kH100 = hopper("H100", "NVIDIA H100 80GB HBM3", 2619000, 50 << 20, 85045673984);
const Kind kH200 = hopper("H200", "NVIDIA H200", 3201000, 60 << 20, 150754820096);

/// "" where cuDNN is there.
std::string why_no_cudnn() {
  try {
    (void)fake_driver_kernels();
    (void)cudnn();
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

class Cudnn : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_cudnn(); !why.empty()) GTEST_SKIP() << why;
    target_ = std::make_unique<CudnnTarget>(kH200.properties);
  }
  std::unique_ptr<CudnnTarget> target_;
};

Convolution conv(std::int64_t n, std::int64_t c, std::int64_t k, std::int64_t in, int directions,
                 std::int64_t kernel, int stride, int padding) {
  Convolution shape;
  const auto d = static_cast<std::size_t>(directions);
  shape.n = n, shape.c = c, shape.k = k, shape.stride = stride, shape.padding = padding;
  shape.in.assign(d, in), shape.kernel.assign(d, kernel);
  shape.out.assign(d, (in + 2 * padding - kernel) / stride + 1);
  return shape;
}

/// "engine 62" of "engine 62 2=1 27=4"; "product 0"; "turned engine" of a convolution of turned
/// weights.
std::string engine_of(const std::string& algorithm) {
  return algorithm.substr(0, algorithm.find(' ', algorithm.find(' ') + 1));
}

std::set<std::string> engines_of(const Call& call) {
  std::set<std::string> engines;
  for (int algorithm = 0; algorithm < call.algorithms(); ++algorithm)
    engines.insert(engine_of(call.algorithm_name(algorithm)));
  return engines;
}

struct Compiled {
  Kind kind;
  test::ModelCase model;
};

void PrintTo(const Compiled& c, std::ostream* out) {
  *out << c.model.name << " on " << c.kind.name;
}

class CudnnModels : public testing::TestWithParam<Compiled> {
 protected:
  static constexpr std::size_t kLimit = std::size_t{1} << 30;  // of thalweg-train

  void SetUp() override {
    if (const std::string why = why_no_cudnn(); !why.empty()) GTEST_SKIP() << why;
    target_ = std::make_unique<CudnnTarget>(GetParam().kind.properties);
    library_ = std::make_unique<PlanningLibrary>(*target_);
    gpu_ = std::make_unique<DescribedGpu>(*library_);
  }
  std::unique_ptr<cuda::CudaProgram> compile(Precision precision) {
    const test::ModelCase& c = GetParam().model;
    CompileOptions options = precision;
    options.kernels.workspace = kLimit;
    return std::make_unique<cuda::CudaProgram>(*gpu_, build_model_graph(c.model, c.data), c.batch,
                                               options);
  }
  /// One call of each key, without products.
  static std::vector<Call*> calls_of(const cuda::CudaProgram& program) {
    std::set<std::string> keys{""};
    std::vector<Call*> calls;
    for (const cuda::LibraryCall& call : program.plan().calls)
      if (keys.insert(call.call->key()).second) calls.push_back(call.call.get());
    return calls;
  }

  std::unique_ptr<CudnnTarget> target_;
  std::unique_ptr<PlanningLibrary> library_;
  std::unique_ptr<DescribedGpu> gpu_;
};

class LargeCudnnModels : public CudnnModels {};

/// Every algorithm is finished, those too that are only asked for by measuring, some of which take
/// a second to compile.
TEST_P(LargeCudnnModels, HaveAllTheirWaysInBf16) {
  const auto program = compile(Precision::bf16);
  const std::vector<Call*> calls = calls_of(*program);
  for (Call* const call : calls) {
    EXPECT_LE(call->workspace(call->chosen()), kLimit) << call->name();
    EXPECT_LE(call->algorithms(), 8) << call->name();
    const bool attends = call->key().starts_with("attention");
    const PlanningLibrary::Made& made = library_->made().at(call->key());
    if (!attends) {
      EXPECT_GE(engines_of(*call).size(), 4u) << call->name();
      continue;
    }
    EXPECT_EQ(call->chosen(), 0) << call->name();
    EXPECT_THAT(made.kernels, HasSubstr("sm90")) << call->name();
  }
  const std::string& model = GetParam().model.name;
  EXPECT_EQ(library_->recurrences().empty(), !model.starts_with("lstm"));
  for (const Recurrence& shape : library_->recurrences())
    EXPECT_NE(descriptor_of(shape, CUDNN_RNN_ALGO_STANDARD), nullptr);
  EXPECT_EQ(calls.empty(), model.starts_with("lstm"));
}

TEST_P(CudnnModels, ArePlannedOnce) {
  const auto first = compile(Precision::bf16), second = compile(Precision::bf16);
  for (const auto& [key, made] : library_->made()) {
    EXPECT_GE(made.calls, 2) << key;
    EXPECT_LT(made.max_ms_after_first, 50) << key;
  }
}

// 8 channels: images of 3 and 4 would be copied into a workspace of 206 and 537 MB.
TEST_P(CudnnModels, HaveFirstLayersThatCudnnNeedNotPadInBf16) {
  int padded = 0;
  const auto program = compile(Precision::bf16);
  for (const Call* const call : calls_of(*program)) {
    const auto& shape = library_->made().at(call->key()).convolution;
    if (!shape || shape->c != cuda::padded_channels) continue;
    ++padded;
    EXPECT_LT(call->workspace(0), std::size_t{16} << 20) << call->name();
  }
  const std::set<std::string> few_channels{"resnet50", "cosmoflow", "cnn3d"};
  EXPECT_EQ(padded, few_channels.contains(GetParam().model.name) ? 2 : 0);
}

TEST_P(CudnnModels, ArePlannedInFloats) {
  for (const Precision precision : {Precision::fp32, Precision::tf32}) {
    const auto program = compile(precision);
    for (const Call* const call : calls_of(*program)) {
      EXPECT_LT(call->workspace(0), std::size_t{8} << 30) << call->name();
      EXPECT_THAT(call->algorithm_name(0), StartsWith("engine ")) << call->name();
    }
  }
}

std::vector<Compiled> compiled(const std::vector<test::ModelCase>& models) {
  std::vector<Compiled> all;
  for (const Kind& kind : {kH100, kH200})
    for (const test::ModelCase& model : models)
      all.push_back({kind, model});
  return all;
}

std::string name_of_test(const testing::TestParamInfo<Compiled>& test) {
  return test.param.model.name + "_" + test.param.kind.name;
}

INSTANTIATE_TEST_SUITE_P(Large, LargeCudnnModels,
                         testing::ValuesIn(compiled(test::gpu_model_cases())), name_of_test);
INSTANTIATE_TEST_SUITE_P(Large, CudnnModels, testing::ValuesIn(compiled(test::gpu_model_cases())),
                         name_of_test);
INSTANTIATE_TEST_SUITE_P(Small, CudnnModels, testing::ValuesIn(compiled(test::model_cases())),
                         name_of_test);

TEST_F(Cudnn, GradientsOfBf16WeightsAreWrittenInBf16FirstAndInFloatsToo) {
  Convolution shape = conv(256, 64, 64, 56, 2, 3, 1, 1);
  shape.pass = Convolution::Pass::backward_weights, shape.type = Type::bf16;
  const auto call = cudnn_convolution(*target_, shape);
  ASSERT_EQ(call->algorithms(), 8);
  for (int algorithm = 0; algorithm < 7; ++algorithm)
    EXPECT_EQ(call->algorithm_name(algorithm).find("in floats"), std::string::npos)
        << call->algorithm_name(algorithm);
  EXPECT_THAT(call->algorithm_name(7), HasSubstr("in floats"));
  EXPECT_EQ(call->algorithm_name(8), "");
  // The bf16 weights lie in the workspace until they are widened.
  for (int algorithm = 0; algorithm < 7; ++algorithm)
    EXPECT_GE(call->workspace(algorithm), 64u * 64 * 9 * 2) << algorithm;
}

TEST_F(Cudnn, PlansOfOneShapeAreMadeOnceByAnyThread) {
  Convolution shape = conv(32, 64, 64, 56, 2, 3, 1, 1);
  shape.type = Type::bf16;
  int graphs = 0;
  std::mutex mutex;
  std::vector<std::shared_ptr<const CudnnPlans>> plans(8);
  std::vector<std::thread> threads;
  for (auto& mine : plans)
    threads.emplace_back([&] {
      mine = target_->plans("a key", "a call",
                            [&] {
                              const std::lock_guard lock(mutex);
                              ++graphs;
                              return graph_of(shape, {});
                            },
                            {});
      EXPECT_TRUE(mine->has(0));
      EXPECT_EQ(mine->count(), CudnnPlans::kAlgorithms);
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(graphs, 1);
  for (const auto& mine : plans)
    EXPECT_EQ(mine, plans[0]);
}

TEST_F(Cudnn, OffersOtherAlgorithms) {
  Convolution shape = conv(32, 64, 64, 56, 2, 3, 1, 1);
  shape.type = Type::bf16;
  const auto call = cudnn_convolution(*target_, shape);
  EXPECT_EQ(call->algorithms(), 8);
  EXPECT_NE(call->algorithm_name(0), call->algorithm_name(1));
}

TEST_F(Cudnn, TensorCoresAreLeftOutWhereFloatsAreMultipliedAsTheyAre) {
  Convolution shape = conv(32, 64, 64, 56, 2, 3, 1, 1);
  const auto graph = [&] { return graph_of(shape, {}); };
  const CudnnPlans plain(*target_, "plain", graph, {false});
  const CudnnPlans rounded(*target_, "rounded", graph, {true});
  EXPECT_GT(plain.offered(), 0u);
  EXPECT_GT(rounded.offered(), plain.offered());
}

FusedAttention attention(std::int64_t samples, std::int64_t heads, std::int64_t positions,
                         bool causal, std::int64_t width = 64) {
  FusedAttention f;
  f.samples = samples, f.heads = heads, f.width = width;
  f.queries = f.keys = positions;
  // Q, K and V beside each other, as one product makes them.
  const std::int64_t row = heads * width;
  f.q = f.k = f.v = {3 * row * positions, 3 * row, width};
  f.o = {row * positions, row, width};
  f.scale = 0.125f, f.causal = causal;
  return f;
}

TEST_F(Cudnn, AttentionOfAnyLengthHasAKernel) {
  for (FusedAttention f :
       {attention(4, 8, 77, false), attention(2, 3, 40, true, 16), attention(3, 2, 6, true, 8)})
    for (const bool backward : {false, true}) {
      f.backward = backward;
      EXPECT_NE(cudnn_attention(*target_, f), nullptr) << f.queries;
    }
}

// Its leanest algorithm is an sm80 kernel, of 128 bytes less than the sm90 one.
TEST_F(Cudnn, AttentionThatWantsMoreThanTheLimitKeepsItsFirstKernel) {
  FusedAttention f = attention(16, 12, 2048, true);
  f.backward = true;
  const auto call = cudnn_attention(*target_, f);
  ASSERT_NE(call, nullptr);
  ASSERT_GT(call->workspace(0), std::size_t{1} << 30);
  EXPECT_EQ(cuda::choose_algorithm(*call, {std::size_t{1} << 30, nullptr}), 0);
}

TEST_F(Cudnn, TellsWhyItDoesNotAttend) {
  EXPECT_EQ(cudnn_attention(*target_, attention(2, 3, 40, true, 136)), nullptr);
  EXPECT_EQ(cudnn_attention(*target_, attention(2, 3, 50, true, 136)), nullptr);
  const std::vector<std::string> all = refusals();
  EXPECT_THAT(all,
              Contains("attention 40x40x136 causal forward: the width of a head is no multiple "
                       "of 8 or over 128"));
  EXPECT_THAT(all, testing::Not(Contains(HasSubstr("50x50x136"))));  // the same reason
}

// All that can be asked without a GPU: sizes of spaces and runs need one.
TEST_F(Cudnn, TakesLstms) {
  Recurrence r;
  r.samples = 128, r.positions = 128, r.features = 256, r.width = 1024, r.layers = 2;
  for (const auto algorithm : {CUDNN_RNN_ALGO_STANDARD, CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H})
    for (const Type type : {Type::f32, Type::bf16})
      for (const Products products : {Products::fp32, Products::tf32}) {
        r.type = type, r.products = products;
        constexpr std::size_t first_with_bf16 = 91300;
        if (type == Type::bf16 && cudnn().version() < first_with_bf16) {
          EXPECT_THROW((void)descriptor_of(r, algorithm), GpuError);
        } else {
          EXPECT_NE(descriptor_of(r, algorithm), nullptr);
        }
      }
}

TEST_F(Cudnn, NamesWhatItRefuses) {
  Convolution shape = conv(1, 8, 8, 4, 2, 3, 1, 1);
  shape.out = {9, 9};  // does not follow from the rest
  try {
    (void)cudnn_convolution(*target_, shape);
    FAIL();
  } catch (const GpuError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("conv 8x3x3x8 of 4x4 forward"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace thalweg::engine::gpu
