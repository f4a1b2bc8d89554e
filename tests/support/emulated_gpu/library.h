// Calls of the emulated machine, by plain loops and Eigen's matrix product. For this folder only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/gpu/library.h"
#include "engine/gpu/peers.h"

namespace thalweg::engine::gpu {

std::unique_ptr<Call> emulated_product(const Product& shape);
std::unique_ptr<Call> emulated_convolution(const Convolution& shape);

/// Calls of the emulated machine.
const Library& emulated_library();

/// Messages between the ranks of one process.
std::string emulated_peers_version();
PeersId new_emulated_peers_id();
std::unique_ptr<Peers> join_emulated_peers(Gpu& gpu, const PeersId& id, int rank, int ranks,
                                           std::function<void()> look);

/// A matrix in row-major memory, or the transpose of one.
template <class T>
struct MatrixAt {
  T* data;
  std::int64_t row;  ///< elements from row to row, as it lies in memory
  bool transposed = false;
};
/// c (m, n) = a (m, k) b (k, n), plus what c held where `accumulate`.
void emulated_multiply(std::int64_t m, std::int64_t n, std::int64_t k, MatrixAt<const float> a,
                       MatrixAt<const float> b, MatrixAt<float> c, bool accumulate);

/// As tensor cores read it where `products` is tf32: to the nearest with 10 bits of mantissa.
float rounded_for(Products products, float x);

inline float load_at(Type type, const void* data, std::int64_t i) {
  return type == Type::f32 ? static_cast<const float*>(data)[i]
                           : load(static_cast<const Bf16*>(data)[i]);
}
inline void store_at(Type type, void* data, std::int64_t i, float x) {
  if (type == Type::f32) {
    static_cast<float*>(data)[i] = x;
  } else {
    static_cast<Bf16*>(data)[i] = store<Bf16>(x);
  }
}

}  // namespace thalweg::engine::gpu
