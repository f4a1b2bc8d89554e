#include "engine/device/cpu/interleave.h"

#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

/// Two floats as bf16 in one word, the first in its lower half.
THALWEG_INLINE std::uint32_t pair_of(float first, float second) {
  return static_cast<std::uint32_t>(to_bf16(second).bits) << 16 | to_bf16(first).bits;
}

/// `pairs` times two rows of `columns` floats.
THALWEG_SIMD void interleave_rows(const float* __restrict from, std::int64_t pairs,
                                  std::int64_t columns, std::uint32_t* __restrict to) {
  for (std::int64_t p = 0; p < pairs; ++p, from += 2 * columns, to += columns)
    for (std::int64_t i = 0; i < columns; ++i)
      to[i] = pair_of(from[i], from[columns + i]);
}

}  // namespace

Kernel interleave(TensorId from, const Desc& from_desc, TensorId to, const Desc& to_desc) {
  if (type_of(from_desc) != f32 || type_of(to_desc) != bf16) return {};
  const Blocking blocks = blocking_of(from_desc);
  if (blocks.sizes.size() != 2 || blocks.sizes[0] % 2 != 0) return {};
  Blocking wanted = blocks;
  wanted.sizes = {blocks.sizes[0] / 2, blocks.sizes[1], 2};
  wanted.dimensions = {blocks.dimensions[0], blocks.dimensions[1], blocks.dimensions[0]};
  if (blocking_of(to_desc) != wanted) return {};
  const std::int64_t columns = blocks.sizes[1];
  const std::int64_t pairs = static_cast<std::int64_t>(count_of(from_desc)) / (2 * columns);
  return [=](const Frame& frame) {
    interleave_rows(frame.floats(from), pairs, columns, frame.as<std::uint32_t>(to));
  };
}

}  // namespace thalweg::engine::cpu
