// What a vendor's library does on a GPU: matrix products (cuBLASLt), convolutions, fused attention
// and LSTMs (cuDNN). Each call is planned once for its shapes, may be done in several
// algorithms, and runs on any stream of that GPU. Emulated by plain loops on an emulated GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/gpu/gpu.h"
#include "engine/gpu/types.h"

namespace thalweg::engine::gpu {

/// A planned call. Immutable but for choose(), which is for set-up; thread-safe to run. Tensors and
/// workspaces begin at multiples of 16 bytes but where Product::alignment says less.
class Call {
 public:
  virtual ~Call() = default;
  virtual std::string name() const = 0;  ///< "conv 64x3x3x64 forward": for reports
  /// All that its algorithms depend on beside the GPU and the libraries: calls of one key take the
  /// same time in the same algorithm. Empty only where there is one algorithm.
  virtual std::string key() const { return ""; }
  /// At least 1, at most 8. Algorithm 0 is what the library thinks best. All give the same bits
  /// again when run again. The first call may take seconds, since some algorithms are compiled.
  virtual int algorithms() const { return 1; }
  /// Empty where there is no such algorithm. The same algorithms have the same names again, and
  /// other algorithms others.
  virtual std::string algorithm_name(int algorithm) const {
    return algorithm < algorithms() ? std::to_string(algorithm) : "";
  }
  virtual std::size_t workspace(int algorithm) const { return (void)algorithm, 0; }
  virtual void choose(int algorithm) { chosen_ = algorithm; }
  int chosen() const { return chosen_; }
  /// Tensors in the order that the maker says; `workspace` has workspace(chosen()) bytes. Nothing
  /// is waited for. Throws GpuError.
  virtual void run(Stream& stream, std::span<void* const> tensors, void* workspace) const = 0;

 private:
  int chosen_ = 0;
};

/// C = alpha A B (+ E) (+ bias of each column) (relu); all row by row: A (m, k), or (k, m) where
/// `transpose_a`; B (k, n), or (n, k) where `transpose_b`; C (m, n). Sums are 32-bit floats. C is
/// f32, or bf16 where A and B are.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  Type a = Type::f32, b = Type::f32, c = Type::f32;  ///< a and b are equal
  std::int64_t row_a = 0, row_b = 0, row_c = 0;      ///< elements from row to row; 0: contiguous
  int batch = 1;
  std::int64_t step_a = 0, step_b = 0, step_c = 0;  ///< elements from one of the batch to the next
  float alpha = 1;
  /// Bytes that a, b, c and their steps are multiples of: 16, or a smaller power of two.
  std::uint32_t alignment = 16;
  /// + E, which has the type of C and lies as it does; what C holds where no E is given.
  bool accumulate = false;
  bool bias = false;  ///< n numbers of the type of C
  bool relu = false;
  /// Besides: the sum over k of each of A's m rows, as floats: what a bias's gradient is to that of
  /// its weights. Of one product (no batch) of f32, without bias and relu.
  bool sums_of_a = false;
  Products products = Products::fp32;
};

/// Images or volumes with the channels innermost: (n, d..., c); weights (k, r..., c). Sums are
/// 32-bit floats.
struct Convolution {
  enum class Pass {
    forward,          ///< tensors: x, w, y (bias: then k numbers of `type`)
    backward_data,    ///< tensors: dy, w, dx
    backward_weights  ///< tensors: x, dy, dw (floats, whatever `type`, but rounded to it in most
                      ///< of a library's algorithms)
  };
  Pass pass = Pass::forward;
  Type type = Type::f32;  ///< of x, y, w
  std::int64_t n = 0, c = 0, k = 0;
  std::vector<std::int64_t> in, out, kernel;  ///< 2 or 3 numbers
  int stride = 1, padding = 0;
  bool bias = false, relu = false;  ///< forward only
  Products products = Products::fp32;
};

/// softmax(scale Q K^T) V for every head of every sample; bf16. `causal`: query i looks at keys 0
/// to i. Rows of a head's Q, K, V and output
/// are `width` neighbours; sample, position and head strides in elements.
struct FusedAttention {
  std::int64_t samples = 0, heads = 0, queries = 0, keys = 0, width = 0;
  struct Strides {
    std::int64_t sample = 0, position = 0, head = 0;
  } q, k, v, o;  ///< gradients have the strides of their values
  float scale = 1;
  bool causal = false;
  /// forward: q, k, v, o, stats (samples x heads x queries floats: the
  /// logarithms of the sums of exp(scale q k)). backward: q, k, v, o, d_o,
  /// stats, dq, dk, dv.
  bool backward = false;
};

/// Stacked LSTM layers of equal width, from h = c = 0, over sequences of equal length:
/// x (samples, positions, features) to y (samples, positions, width), which each layer takes from
/// the one below it. The sums of a layer's gates are weight_ih x + bias_ih + weight_hh h + bias_hh,
/// `width` each of the input, forget, cell and output gate, as in PyTorch.
struct Recurrence {
  Type type = Type::f32;  ///< of all tensors but gradients of weights; c may be rounded to it
  std::int64_t samples = 0, positions = 0, features = 0, width = 0;
  int layers = 1;
  Products products = Products::fp32;
};
/// "weights" are weight_ih (4 width, features or width), weight_hh (4 width, width), bias_ih and
/// bias_hh (4 width) of the first layer, then of the next.
struct RecurrenceCalls {
  std::shared_ptr<Call> training;  ///< tensors: x, y, reserve, weights; null: the library has none
  std::shared_ptr<Call> evaluation;  ///< tensors: x, y, weights
  /// Tensors: x, y, dy, reserve, dx, weights, their gradients (floats). It changes what training
  /// has saved: once for each training pass. Takes the algorithm that `training` has taken.
  std::shared_ptr<Call> backward;
  std::size_t reserve = 0;  ///< bytes, enough for every algorithm
};

/// Makes calls. Thread-safe.
class Library {
 public:
  virtual ~Library() = default;
  /// Tensors: a, b, c, bias, e, sums of a; the last ones may be left out. Null where the library
  /// cannot do `sums_of_a` beside a product of that shape, which is noted as a refusal.
  virtual std::unique_ptr<Call> product(const Product& shape) const = 0;
  virtual std::unique_ptr<Call> convolution(const Convolution& shape) const = 0;
  /// Null where the library has none for that shape; then products and a softmax do it.
  virtual std::unique_ptr<Call> attention(const FusedAttention& shape) const = 0;
  /// Runs what it offers once, for no algorithm to fail later: memory of the call's sizes is asked
  /// for and given back. Nothing where the library has none for that shape; then products and loops
  /// do it.
  virtual RecurrenceCalls recurrence(const Recurrence& shape) const = 0;
  /// "cuBLASLt 120804, cuDNN 90800, CUDA driver 12080": what algorithms depend on beside the GPU.
  virtual std::string versions() const = 0;
};

/// A library would not do `call` (Call::name()), or not in some algorithm: for refusals().
/// Thread-safe.
void note_refusal(const std::string& call, const std::string& why);
/// What was noted so far in this process, each `why` once with the first call that met it:
/// "attention 512x512x136 forward: ...". For a run's journal and a bench's rows. Thread-safe.
std::vector<std::string> refusals();

}  // namespace thalweg::engine::gpu
