// Dense matrices, row-major and plain, for optimizers that see a tensor as one: (out, rest).
#pragma once

#include <cstddef>
#include <vector>

#include "engine/optim/optimizer.h"

namespace thalweg::engine::optim {

/// Whether a matrix is in memory as it is meant, or its transpose is.
enum class Stored { plain, transposed };
inline Stored the_other(Stored stored) {
  return stored == Stored::plain ? Stored::transposed : Stored::plain;
}

/// c (m, n) = a (m, k) b (k, n), with a^T where a is stored (k, m), b^T where b is stored (n, k).
/// Each element is summed in the order of k, whatever the width of the vector unit: the same bits
/// everywhere. Large products of floats (large_product.h) are oneDNN's: it chooses the order by the
/// sizes and by the processor's instructions and caches, so the bits are the same on any number of
/// ranks and threads, on one kind of processor. c must not overlap a or b. Thread-safe.
void multiply(std::size_t m, std::size_t n, std::size_t k, const float* a, Stored a_is,
              const float* b, Stored b_is, float* c);
/// From now on no product of this process is oneDNN's, which takes longer and has the same bits on
/// all kinds of processors: for replicas on nodes of several kinds. Thread-safe.
void multiply_portably(bool on);
void multiply(std::size_t m, std::size_t n, std::size_t k, const double* a, Stored a_is,
              const double* b, Stored b_is, double* c);
/// c (n, n) = a a^T of a (n, k), which is symmetric but for rounding; otherwise as multiply().
void multiply_by_transpose(std::size_t n, std::size_t k, const float* a, Stored a_is, float* c);
void multiply_by_transpose(std::size_t n, std::size_t k, const double* a, Stored a_is, double* c);

/// Eigenvectors of a symmetric (n, n) as the columns of `vectors`, by falling eigenvalue. Eigen's
/// SelfAdjointEigenSolver. Throws std::runtime_error where it does not converge (NaN).
void symmetric_eigen(std::size_t n, const double* a, double* vectors, double* values);
/// An orthonormal basis of the columns of `a`, in their order, in its place: Q of a QR
/// decomposition.
void orthonormalize(std::size_t n, double* a);

/// How optimizers of matrices see a tensor: a convolution's (out, in, kh, kw) is (out, in kh kw).
/// Vectors have one row.
struct MatrixShape {
  std::size_t rows = 1, columns = 0;
  std::size_t count() const { return rows * columns; }
  bool is_matrix() const { return rows > 1 && columns > 1; }
};
MatrixShape matrix_shape(const Shape& shape);

/// Memory of this thread for passing values, one chunk for each slot below 16; valid until the next
/// call with that slot.
template <class T>
T* scratch(int slot, std::size_t count);

/// A tensor's weights and gradient in the plain layout, while it is updated.
template <class T>
class PlainTensor {
 public:
  PlainTensor(const Layout<T>* layout, const Segment& segment, std::size_t count,
              const OptimizerMemory<T>& memory);
  T* w() { return w_; }
  T* g() { return g_; }
  /// Puts the weights back.
  void store() const;

 private:
  const Layout<T>* layout_;
  int parameter_;
  T* device_w_;
  T* w_;
  T* g_;
};

}  // namespace thalweg::engine::optim
