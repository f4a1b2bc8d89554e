// cuDNN has only three engines for the input gradients of some of ResNet-50's convolutions, most of
// them with kernels of one place, which are products: all three passes with the channels innermost
// and nothing to gather. Which is faster, only a clock can say, so that they stand in one call.
#include "engine/gpu/convolution_algorithms.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "engine/gpu/library_loops.h"

namespace thalweg::engine::gpu {
namespace {

using Pass = Convolution::Pass;

constexpr int kMax = 8;  // Call::algorithms()
constexpr int kOthers = 2;

std::int64_t volume(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

bool is_product(const Convolution& c) {
  return volume(c.kernel) == 1 && c.stride == 1 && c.padding == 0;
}

/// x is (positions, c), y (positions, k), w (k, c).
Product product_of(const Convolution& c) {
  Product p;
  const std::int64_t positions = c.n * volume(c.out);
  p.a = p.b = p.c = c.type;
  p.products = c.products;
  switch (c.pass) {
    case Pass::forward:
      p.m = positions, p.n = c.k, p.k = c.c;
      p.transpose_b = true;
      p.bias = c.bias, p.relu = c.relu;
      break;
    case Pass::backward_data:
      p.m = positions, p.n = c.c, p.k = c.k;
      break;
    case Pass::backward_weights:
      p.m = c.k, p.n = c.c, p.k = positions;
      p.transpose_a = true;
      p.c = Type::f32;
  }
  return p;
}

/// What dx is of dy: each output that a value has reached gives its gradient back at the opposite
/// place of the kernel. Nothing where that convolution would need a negative padding.
std::optional<Convolution> turned(const Convolution& c) {
  const bool equal_sides = std::all_of(c.kernel.begin(), c.kernel.end(),
                                       [&](std::int64_t side) { return side == c.kernel[0]; });
  if (c.pass != Pass::backward_data || c.stride != 1 || !equal_sides || c.kernel[0] - 1 < c.padding)
    return std::nullopt;
  Convolution forward = c;
  forward.pass = Pass::forward;
  std::swap(forward.c, forward.k);
  std::swap(forward.in, forward.out);
  forward.padding = static_cast<int>(c.kernel[0]) - 1 - c.padding;
  return forward;
}

class ManyAlgorithms final : public Call {
 public:
  ManyAlgorithms(std::unique_ptr<Call> call, const Convolution& shape, const Library& library)
      : call_(std::move(call)), shape_(shape), library_(library) {}

  std::string name() const override { return call_->name(); }
  std::string key() const override { return call_->key(); }
  int algorithms() const override { return own() + others(); }
  std::string algorithm_name(int algorithm) const override {
    const At at = find(algorithm);
    if (at.call == nullptr) return "";
    return at.call == call_.get() ? at.call->algorithm_name(at.algorithm)
                                  : prefix() + at.call->algorithm_name(at.algorithm);
  }
  std::size_t workspace(int algorithm) const override {
    const At at = find(algorithm);
    if (at.call == nullptr)
      throw GpuError(name() + " has no algorithm " + std::to_string(algorithm));
    return (at.call == call_.get() ? 0 : turned_bytes()) + at.call->workspace(at.algorithm);
  }
  void choose(int algorithm) override {
    const At at = find(algorithm);
    if (at.call == nullptr)
      throw GpuError(name() + " has no algorithm " + std::to_string(algorithm));
    at.call->choose(at.algorithm);
    by_other_ = at.call != call_.get();
    Call::choose(algorithm);
  }

  void run(Stream& stream, std::span<void* const> tensors, void* workspace) const override {
    if (!by_other_) return call_->run(stream, tensors, workspace);
    std::vector<void*> at(tensors.begin(), tensors.end());
    if (is_product(shape_)) {
      if (shape_.pass == Pass::backward_weights) std::swap(at[0], at[1]);
    } else {
      if (workspace == nullptr) throw GpuError(name() + " runs without its workspace");
      turn_weights(stream, shape_.type, {shape_.k, volume(shape_.kernel), shape_.c}, at[1],
                   workspace);
      at[1] = workspace;
      workspace = static_cast<char*>(workspace) + turned_bytes();
    }
    other()->run(stream, at, workspace);
  }

 private:
  struct At {
    Call* call;
    int algorithm;
  };

  /// Null: no such algorithm. Makes no algorithm of a later one.
  At find(int algorithm) const {
    if (algorithm < kMax - kOthers && !call_->algorithm_name(algorithm).empty())
      return {call_.get(), algorithm};
    algorithm -= own();
    return algorithm >= 0 && algorithm < others() ? At{other(), algorithm} : At{nullptr, 0};
  }
  int own() const { return std::min(call_->algorithms(), kMax - kOthers); }
  int others() const { return other() == nullptr ? 0 : std::min(other()->algorithms(), kOthers); }
  std::string prefix() const { return is_product(shape_) ? "product " : "turned "; }
  /// Of the flipped weights, at the workspace's begin.
  std::size_t turned_bytes() const {
    if (is_product(shape_)) return 0;
    const auto count = static_cast<std::size_t>(shape_.k * volume(shape_.kernel) * shape_.c);
    return (count * size_of(shape_.type) + 255) / 256 * 256;
  }

  /// Null where the library refuses.
  Call* other() const {
    std::call_once(once_, [&] {
      try {
        other_ = is_product(shape_) ? library_.product(product_of(shape_))
                                    : library_.convolution(*turned(shape_));
      } catch (const GpuError& error) {
        note_refusal(name(), error.what());
      }
    });
    return other_.get();
  }

  std::unique_ptr<Call> call_;
  Convolution shape_;
  const Library& library_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<Call> other_;
  bool by_other_ = false;
};

}  // namespace

std::unique_ptr<Call> with_other_algorithms(std::unique_ptr<Call> call, const Convolution& shape,
                                            const Library& library) {
  if (!is_product(shape) && !turned(shape)) return call;
  return std::make_unique<ManyAlgorithms>(std::move(call), shape, library);
}

}  // namespace thalweg::engine::gpu
