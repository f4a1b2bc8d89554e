// What is reduced, and how.
#pragma once

#include <cstddef>

namespace thalweg::engine::comm {

/// f16 and bf16 are added up in f32 and rounded once per combination.
enum class Type { f64, f32, f16, bf16, i32, i64 };
/// average: the sum over all ranks divided by their number; of floating point types only.
enum class Op { sum, average, min, max };

std::size_t size_of(Type type);
const char* name_of(Type type);
const char* name_of(Op op);

}  // namespace thalweg::engine::comm
