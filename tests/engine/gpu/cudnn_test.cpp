// What we ask of cuDNN, where there is no GPU: its "deviceless" mode makes plans for one that is
// only described. Every convolution of the models is planned for an H200; attention, whose engines
// are compiled and loaded by a driver, is accepted and offered engines.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/gpu/cudnn_attention.h"
#include "engine/gpu/cudnn_convolution.h"
#include "engine/gpu/cudnn_recurrence.h"

namespace thalweg::engine::gpu {
namespace {

// The properties that cuDNN asks for, of an H200.
const char* const kH200 = R"({"deviceName":"NVIDIA H200","cudaDeviceId":0,"deviceVer":900,
"driverVer":13000,"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],
"regsPerBlock":65536,"multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,
"maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,
"maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,
"pciDeviceId":1,"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1980000,
"memClockRateKHz":3201000,"l2CacheSize":62914560,"totalGlobalMem":150754820096})";

class Cudnn : public testing::Test {
 protected:
  void SetUp() override {
    try {
      (void)cudnn();
    } catch (const GpuError& error) {
      GTEST_SKIP() << error.what();
    }
    target_ = std::make_unique<CudnnTarget>(kH200);
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

/// ResNet-50 of 224x224 (He et al., 2016; with the stride in the 3x3 too, as usual since).
std::vector<Convolution> resnet50() {
  std::vector<Convolution> shapes{conv(32, 3, 64, 224, 2, 7, 2, 3)};
  std::int64_t in = 64, size = 56;
  for (const std::int64_t narrow : {64, 128, 256, 512}) {
    const std::int64_t wide = 4 * narrow;
    const int stride = narrow == 64 ? 1 : 2;
    shapes.push_back(conv(32, in, wide, size, 2, 1, stride, 0));
    shapes.push_back(conv(32, in, narrow, size, 2, 1, 1, 0));
    shapes.push_back(conv(32, in, narrow, size, 2, 1, stride, 0));
    shapes.push_back(conv(32, narrow, narrow, size, 2, 3, stride, 1));
    size /= stride;
    shapes.push_back(conv(32, narrow, narrow, size, 2, 3, 1, 1));
    shapes.push_back(conv(32, narrow, wide, size, 2, 1, 1, 0));
    shapes.push_back(conv(32, wide, narrow, size, 2, 1, 1, 0));
    in = wide;
  }
  return shapes;
}

/// CosmoFlow of 4 x 128^3 in both its published forms.
std::vector<Convolution> cosmoflow() {
  std::vector<Convolution> shapes;
  std::int64_t in = 4, size = 128;
  for (const std::int64_t out : {32, 64, 128, 256, 512}) {
    shapes.push_back(conv(4, in, out, size, 3, 3, 1, 1));
    in = out, size /= 2;
  }
  shapes.push_back(conv(4, 4, 16, 128, 3, 3, 1, 0));
  shapes.push_back(conv(4, 16, 32, 63, 3, 4, 1, 0));
  shapes.push_back(conv(4, 32, 64, 30, 3, 4, 1, 0));
  shapes.push_back(conv(4, 64, 128, 13, 3, 3, 2, 0));
  shapes.push_back(conv(4, 128, 256, 6, 3, 3, 1, 0));
  shapes.push_back(conv(4, 256, 256, 4, 3, 2, 1, 0));
  shapes.push_back(conv(4, 256, 256, 3, 3, 2, 1, 0));
  return shapes;
}

/// U-Net of volumes (Cicek et al., 2016); transposed convolutions are those of 2, turned round.
std::vector<Convolution> unet3d() {
  std::vector<Convolution> shapes;
  std::int64_t in = 1, size = 64;
  for (const std::int64_t narrow : {32, 64, 128, 256}) {
    shapes.push_back(conv(2, in, narrow, size, 3, 3, 1, 1));
    shapes.push_back(conv(2, narrow, 2 * narrow, size, 3, 3, 1, 1));
    if (narrow > 32) {
      shapes.push_back(conv(2, 2 * narrow, 2 * narrow, 2 * size, 3, 2, 2, 0));
      shapes.push_back(conv(2, 3 * narrow, narrow, 2 * size, 3, 3, 1, 1));
    }
    in = 2 * narrow, size /= 2;
  }
  shapes.push_back(conv(2, 64, 3, 64, 3, 1, 1, 0));
  return shapes;
}

std::vector<Convolution> small_nets() {
  return {conv(128, 1, 32, 28, 2, 3, 1, 1), conv(128, 32, 64, 14, 2, 3, 1, 1),
          conv(128, 1, 32, 28, 2, 5, 1, 2), conv(128, 3, 64, 32, 2, 5, 1, 2)};
}

TEST_F(Cudnn, PlansEveryConvolutionOfTheModels) {
  int planned = 0;
  for (const auto& shapes : {resnet50(), cosmoflow(), unet3d(), small_nets()})
    for (Convolution shape : shapes)
      for (const auto pass : {Convolution::Pass::forward, Convolution::Pass::backward_data,
                              Convolution::Pass::backward_weights})
        for (const bool fused : {false, true})
          for (const Type type : {Type::f32, Type::bf16})
            for (const Products products : {Products::fp32, Products::tf32}) {
              if (fused && pass != Convolution::Pass::forward) continue;
              if (type == Type::bf16 && products == Products::tf32) continue;
              shape.pass = pass, shape.type = type, shape.products = products;
              shape.bias = shape.relu = fused;
              ++planned;
              if (type == Type::bf16 && pass == Convolution::Pass::backward_weights) {
                // Engines that write floats are compiled; without a driver each try takes long.
                const CudnnPlans plans(*target_, graph_of(shape, {false, false, false}), {});
                EXPECT_FALSE(plans.none());
                continue;
              }
              std::unique_ptr<Call> call;
              ASSERT_NO_THROW(call = cudnn_convolution(*target_, shape)) << shape.n;
              EXPECT_LT(call->workspace(0), std::size_t{8} << 30) << call->name();
              EXPECT_NE(call->way_name(0).find("engine"), std::string::npos);
            }
  EXPECT_GT(planned, 500);
}

TEST_F(Cudnn, PlansGradientsOfWeightsInBf16) {
  for (Convolution shape : small_nets()) {
    shape.pass = Convolution::Pass::backward_weights, shape.type = Type::bf16;
    ASSERT_NO_THROW((void)cudnn_convolution(*target_, shape));
  }
}

TEST_F(Cudnn, OffersOtherWays) {
  Convolution shape = conv(32, 64, 64, 56, 2, 3, 1, 1);
  shape.type = Type::bf16;
  const auto call = cudnn_convolution(*target_, shape);
  EXPECT_EQ(call->ways(), 8);
  EXPECT_NE(call->way_name(0), call->way_name(1));
}

TEST_F(Cudnn, TensorCoresAreLeftOutWhereFloatsAreMultipliedAsTheyAre) {
  Convolution shape = conv(32, 64, 64, 56, 2, 3, 1, 1);
  const CudnnPlans plain(*target_, graph_of(shape, {}), {false});
  const CudnnPlans rounded(*target_, graph_of(shape, {}), {true});
  EXPECT_GT(plain.offered(), 0u);
  EXPECT_GT(rounded.offered(), plain.offered());
}

/// NVIDIA's stand-in for a driver, which only answers that it is none: engines that are compiled
/// are then offered, though no plan of them can be finished.
bool have_driver() {
  return dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr ||
         dlopen(THALWEG_STUB_DRIVER, RTLD_NOW | RTLD_GLOBAL) != nullptr;
}

TEST_F(Cudnn, OffersEnginesForAttention) {
  if (!have_driver()) GTEST_SKIP() << dlerror();
  struct Model {
    const char* name;
    std::int64_t samples, heads, positions;
    bool causal;
  };
  for (const Model& model :
       {Model{"GPT", 8, 12, 1024, true}, Model{"BERT-large", 8, 16, 512, false},
        Model{"odd length", 4, 8, 77, false}})
    for (const bool backward : {false, true}) {
      FusedAttention f;
      f.samples = model.samples, f.heads = model.heads, f.width = 64;
      f.queries = f.keys = model.positions;
      // Q, K and V beside each other, as one product makes them.
      const std::int64_t row = f.heads * f.width;
      f.q = f.k = f.v = {3 * row * f.queries, 3 * row, f.width};
      f.o = {row * f.queries, row, f.width};
      f.scale = 0.125f, f.causal = model.causal, f.backward = backward;
      const CudnnPlans plans(*target_, graph_of(f), {});
      EXPECT_GT(plans.offered(), 0u) << model.name << (backward ? " backward" : " forward");
    }
}

TEST_F(Cudnn, OffersEnginesForGradientsOfWeightsInFloats) {
  if (!have_driver()) GTEST_SKIP() << dlerror();
  for (Convolution shape : {conv(32, 64, 64, 56, 2, 3, 1, 1), conv(4, 32, 64, 64, 3, 3, 1, 1)}) {
    shape.type = Type::bf16, shape.pass = Convolution::Pass::backward_weights;
    const CudnnPlans plans(*target_, graph_of(shape, {}), {});
    EXPECT_GT(plans.offered(), 0u);
  }
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
