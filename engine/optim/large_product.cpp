// oneDNN's matmul: it blocks for the caches and has kernels in bfloat16. A primitive is made for
// each call; oneDNN keeps the last ones (some microseconds where it does).
#include "engine/optim/large_product.h"

#include <algorithm>
#include <atomic>
#include <dnnl.hpp>
#include <type_traits>

#include "engine/tensor/single_thread.h"

namespace thalweg::engine::optim {
namespace {

using ProductMemory = dnnl::memory;

template <class T>
constexpr ProductMemory::data_type type_of_product =
    std::is_same_v<T, Bf16> ? ProductMemory::data_type::bf16 : ProductMemory::data_type::f32;

/// (rows, columns), `step` elements between rows in memory, or between columns where transposed.
template <class T>
struct MatrixAt {
  T* data;
  std::size_t rows, columns, step;
  Stored stored = Stored::plain;

  ProductMemory::desc desc() const {
    const auto n = [](std::size_t size) { return static_cast<ProductMemory::dim>(size); };
    const bool plain = stored == Stored::plain;
    return {{n(rows), n(columns)},
            type_of_product<std::remove_const_t<T>>,
            ProductMemory::dims{plain ? n(step) : 1, plain ? 1 : n(step)}};
  }
  ProductMemory memory(const dnnl::engine& engine) const {
    return {desc(), engine, const_cast<void*>(static_cast<const void*>(data))};
  }
};

template <class T>
MatrixAt<const T> matrix_at(const T* data, std::size_t rows, std::size_t columns, Stored stored) {
  return {data, rows, columns, stored == Stored::plain ? columns : rows, stored};
}

dnnl::matmul matmul_of(const dnnl::engine& engine, const ProductMemory::desc& a,
                       const ProductMemory::desc& b, const ProductMemory::desc& c,
                       const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul({engine, a, b, c, attributes});
#else
  return dnnl::matmul({{a, b, c}, attributes, engine});
#endif
}

template <class T>
void run_product(const MatrixAt<const T>& a, const MatrixAt<const T>& b, float add,
                 const MatrixAt<float>& c) {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const SingleThread guard;
  dnnl::primitive_attr attributes;
  if (add != 0) {
    dnnl::post_ops ops;
    ops.append_sum(add);
    attributes.set_post_ops(ops);
  }
  dnnl::stream stream(engine);
  matmul_of(engine, a.desc(), b.desc(), c.desc(), attributes)
      .execute(stream, {{DNNL_ARG_SRC, a.memory(engine)},
                        {DNNL_ARG_WEIGHTS, b.memory(engine)},
                        {DNNL_ARG_DST, c.memory(engine)}});
  stream.wait();
}

std::atomic<bool> only_portable = false;

// Shorter panels, and halves of smaller matrices, lose more in oneDNN than they spare.
constexpr std::size_t kPanel = 256, kHalvedFrom = 512;

}  // namespace

bool is_large(std::size_t m, std::size_t n, std::size_t k) {
  return m * n * k >= std::size_t{1} << 19 && !only_portable.load(std::memory_order_relaxed);
}

void multiply_portably(bool on) {
  only_portable = on;
}

bool multiplies_bf16() {
  const auto bits = [](dnnl::cpu_isa of) { return static_cast<unsigned>(of); };
  const unsigned needed = bits(dnnl::cpu_isa::avx512_core_bf16);
  return (bits(dnnl::get_effective_cpu_isa()) & needed) == needed;
}

template <class T>
void multiply_large(std::size_t m, std::size_t n, std::size_t k, const T* a, Stored a_is,
                    const T* b, Stored b_is, float add, float* c) {
  run_product<T>(matrix_at(a, m, k, a_is), matrix_at(b, k, n, b_is), add, {c, m, n, n});
}

template <class T>
void multiply_by_transpose_large(std::size_t n, std::size_t k, const T* a, Stored a_is, float add,
                                 float* c) {
  if (n < kHalvedFrom) return multiply_large(n, n, k, a, a_is, a, the_other(a_is), add, c);
  // Panels of rows up to the diagonal; the rest mirrors them.
  const MatrixAt<const T> left = matrix_at(a, n, k, a_is);
  for (std::size_t first = 0; first < n; first += kPanel) {
    const std::size_t end = std::min(first + kPanel, n);
    MatrixAt<const T> rows = left, columns = matrix_at(a, k, n, the_other(a_is));
    rows.data += first * (a_is == Stored::plain ? left.step : 1);
    rows.rows = end - first;
    columns.columns = end;
    run_product<T>(rows, columns, add, {c + first * n, end - first, end, n});
    for (std::size_t j = 0; j < first; ++j)
      for (std::size_t i = first; i < end; ++i)
        c[j * n + i] = c[i * n + j];
  }
}

template void multiply_large(std::size_t, std::size_t, std::size_t, const float*, Stored,
                             const float*, Stored, float, float*);
template void multiply_large(std::size_t, std::size_t, std::size_t, const Bf16*, Stored,
                             const Bf16*, Stored, float, float*);
template void multiply_by_transpose_large(std::size_t, std::size_t, const float*, Stored, float,
                                          float*);
template void multiply_by_transpose_large(std::size_t, std::size_t, const Bf16*, Stored, float,
                                          float*);

}  // namespace thalweg::engine::optim
