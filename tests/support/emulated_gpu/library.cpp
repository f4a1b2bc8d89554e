#include "tests/support/emulated_gpu/library.h"

#include <bit>

#include "engine/gpu/convolution_algorithms.h"

namespace thalweg::engine::gpu {
namespace {

class EmulatedLibrary final : public Library {
 public:
  std::unique_ptr<Call> product(const Product& shape) const override {
    return emulated_product(shape);
  }
  std::unique_ptr<Call> convolution(const Convolution& shape) const override {
    return with_other_algorithms(emulated_convolution(shape), shape, *this);
  }
  // What layers do without the library is the same arithmetic.
  std::unique_ptr<Call> attention(const FusedAttention&) const override { return nullptr; }
  RecurrenceCalls recurrence(const Recurrence&) const override { return {}; }
  std::string versions() const override { return "loops of the host"; }
};

}  // namespace

const Library& emulated_library() {
  static const EmulatedLibrary only;
  return only;
}

float rounded_for(Products products, float x) {
  if (products == Products::fp32 || x != x) return x;
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu);
}

}  // namespace thalweg::engine::gpu
