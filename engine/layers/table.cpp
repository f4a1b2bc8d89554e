#include "engine/layers/table.h"

#include <stdexcept>
#include <utility>

#include "engine/layers/onnx.h"
#include "jobspec/schema.h"

namespace thalweg::engine {

// One row per layer: layers::NAME() in the reference.cpp of its folder says what it is,
// cpu::NAME and cuda::NAME (cpu.cpp, cuda.cpp) compute it, onnx::NAME (onnx.cpp) writes it.
// clang-format off
#define THALWEG_LAYERS(ROW) \
  ROW(linear) \
  ROW(conv2d) \
  ROW(conv3d) \
  ROW(conv_transpose2d) \
  ROW(conv_transpose3d) \
  ROW(max_pool2d) \
  ROW(max_pool3d) \
  ROW(avg_pool2d) \
  ROW(avg_pool3d) \
  ROW(relu) \
  ROW(leaky_relu) \
  ROW(tanh) \
  ROW(sigmoid) \
  ROW(gelu) \
  ROW(silu) \
  ROW(global_avg_pool) \
  ROW(batch_norm) \
  ROW(group_norm) \
  ROW(dropout) \
  ROW(flatten) \
  ROW(embedding) \
  ROW(positions) \
  ROW(layer_norm) \
  ROW(rms_norm) \
  ROW(attention) \
  ROW(cross_attention) \
  ROW(slice) \
  ROW(pad) \
  ROW(lstm) \
  ROW(repeat) \
  ROW(add) \
  ROW(concat) \
  ROW(upsample)
// clang-format on

#define THALWEG_DECLARE(name) \
  namespace cpu {             \
  LayerFunction name;         \
  }                           \
  namespace cuda {            \
  LayerFunction name;         \
  }                           \
  namespace onnx {            \
  LayerFunction name;         \
  }                           \
  namespace layers {          \
  LayerKind name();           \
  }
THALWEG_LAYERS(THALWEG_DECLARE)
#undef THALWEG_DECLARE

namespace {

LayerKind row(const char* name, LayerKind kind, cpu::LayerFunction* cpu,
              cuda::LayerFunction* cuda) {
  kind.name = name;
  kind.cpu = cpu;
  kind.cuda = cuda;
  return kind;
}

}  // namespace

const jobspec::Table<LayerKind>& layer_table() {
#define THALWEG_ROW(name) row(#name, layers::name(), cpu::name, cuda::name),
  static const jobspec::Table<LayerKind> table("kind of layer", {THALWEG_LAYERS(THALWEG_ROW)});
#undef THALWEG_ROW
  return table;
}

onnx::LayerFunction& onnx::form_of(const LayerKind& kind) {
#define THALWEG_FORM(row) \
  if (kind.name == #row) return onnx::row;
  THALWEG_LAYERS(THALWEG_FORM)
#undef THALWEG_FORM
  throw std::logic_error("no layer " + kind.name);
}

}  // namespace thalweg::engine
