#include "engine/comm/reduction/types.h"

namespace thalweg::engine::comm {

std::size_t size_of(Type type) {
  static constexpr std::size_t kSizes[] = {8, 4, 2, 2, 4, 8};
  return kSizes[static_cast<int>(type)];
}

const char* name_of(Type type) {
  static constexpr const char* kNames[] = {"f64", "f32", "f16", "bf16", "i32", "i64"};
  return kNames[static_cast<int>(type)];
}

const char* name_of(Op op) {
  static constexpr const char* kNames[] = {"sum", "average", "min", "max"};
  return kNames[static_cast<int>(op)];
}

}  // namespace thalweg::engine::comm
