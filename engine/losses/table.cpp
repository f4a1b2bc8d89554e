#include "engine/losses/table.h"

#include <utility>

#include "engine/device/reference/layer.h"
#include "jobspec/schema.h"

namespace thalweg::engine {

// One row per loss: losses::NAME() in the reference.cpp of its folder says what it is, cuda::NAME
// (cuda.cpp) computes it on GPUs.
// clang-format off
#define THALWEG_LOSSES(ROW) \
  ROW(cross_entropy) \
  ROW(dice) \
  ROW(mse) \
  ROW(l1) \
  ROW(quadratic_deep) \
  ROW(bce)
// clang-format on

#define THALWEG_DECLARE(name) \
  namespace cuda {            \
  LossFunction name;          \
  }                           \
  namespace losses {          \
  LossKind name();            \
  }
THALWEG_LOSSES(THALWEG_DECLARE)
#undef THALWEG_DECLARE

namespace {

LossKind row(const char* name, LossKind kind, cuda::LossFunction* cuda) {
  kind.name = name;
  if (kind.cpu == nullptr) kind.cpu = kind.reference->f32;
  kind.cuda = cuda;
  return kind;
}

}  // namespace

const jobspec::Table<LossKind>& loss_table() {
#define THALWEG_ROW(name) row(#name, losses::name(), cuda::name),
  static const jobspec::Table<LossKind> table("loss", {THALWEG_LOSSES(THALWEG_ROW)});
#undef THALWEG_ROW
  return table;
}

}  // namespace thalweg::engine
