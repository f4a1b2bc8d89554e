// What this processor can do, for tests that need it and skip elsewhere.
#pragma once

#include <stdexcept>

#include "engine/device/device.h"
#include "engine/nn/model_table.h"

namespace thalweg::test {

/// Whether the cpu device takes bf16 here.
inline bool multiplies_bf16() {
  try {
    const jobspec::Value mlp = jobspec::Map{{"name", "mlp"}};
    engine::cpu::compile(engine::build_model_graph(mlp, {{3}, 2}), 1, engine::Precision::bf16);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

}  // namespace thalweg::test
