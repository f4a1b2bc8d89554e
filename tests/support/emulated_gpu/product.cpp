#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/gpu/names.h"
#include "tests/support/emulated_gpu/library.h"

namespace thalweg::engine::gpu {
namespace {

using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<>;

template <class Work>
void with_matrix(std::int64_t rows, std::int64_t columns, MatrixAt<const float> at,
                 const Work& work) {
  if (at.transposed) {
    work(Eigen::Map<const Rows, 0, Stride>(at.data, columns, rows, Stride(at.row)).transpose());
  } else {
    work(Eigen::Map<const Rows, 0, Stride>(at.data, rows, columns, Stride(at.row)));
  }
}

class EmulatedProduct final : public Call {
 public:
  explicit EmulatedProduct(const Product& shape) : p_(with_rows(shape)) {}
  std::string name() const override { return name_of(p_); }
  std::string key() const override { return key_of(p_); }
  int algorithms() const override { return p_.k > 1 ? 2 : 1; }
  std::string algorithm_name(int algorithm) const override {
    return algorithm == 0 ? "whole" : algorithm < algorithms() ? "split k" : "";
  }
  /// Algorithm 1 adds up two parts of k by themselves, as libraries do for long sums.
  std::size_t workspace(int algorithm) const override {
    return algorithm == 0 ? 0 : sizeof(float) * static_cast<std::size_t>(p_.m * p_.n);
  }
  void run(Stream& stream, std::span<void* const> tensors, void* workspace) const override {
    if (this->workspace(chosen()) > 0 && workspace == nullptr)
      throw GpuError(name() + " runs without its workspace");
    for (const void* const tensor : tensors.first(3))
      if (reinterpret_cast<std::uintptr_t>(tensor) % p_.alignment != 0)
        throw GpuError(name() + ": a tensor does not begin at a multiple of " +
                       std::to_string(p_.alignment) + " bytes");
    const void* const bias = p_.bias ? tensors[3] : nullptr;
    const void* const added = addend_of(p_, tensors);
    auto* const part = chosen() == 0 ? nullptr : static_cast<float*>(workspace);
    auto* const sums = p_.sums_of_a ? static_cast<float*>(tensors[5]) : nullptr;
    stream.on_host(
        [p = p_, a = tensors[0], b = tensors[1], c = tensors[2], bias, added, part, sums] {
          for (int i = 0; i < p.batch; ++i)
            one(p, a, i * p.step_a, b, i * p.step_b, c, i * p.step_c, bias, added, part);
          if (sums != nullptr) sum_rows_of_a(p, a, sums);
        });
  }

 private:
  /// Side by side, as floats that the products read.
  static std::vector<float> read(const Product& p, const void* data, std::int64_t from,
                                 std::int64_t rows, std::int64_t columns, std::int64_t row) {
    std::vector<float> result(static_cast<std::size_t>(rows * columns));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        result[static_cast<std::size_t>(i * columns + j)] =
            rounded_for(p.products, load_at(p.a, data, from + i * row + j));
    return result;
  }

  /// `part`: m n floats; null: k is not split.
  static void one(const Product& p, const void* a, std::int64_t from_a, const void* b,
                  std::int64_t from_b, void* c, std::int64_t from_c, const void* bias,
                  const void* added, float* part) {
    const std::int64_t columns_a = p.transpose_a ? p.m : p.k;
    const std::int64_t columns_b = p.transpose_b ? p.k : p.n;
    const auto left = read(p, a, from_a, p.transpose_a ? p.k : p.m, columns_a, p.row_a);
    const auto right = read(p, b, from_b, p.transpose_b ? p.n : p.k, columns_b, p.row_b);
    std::vector<float> sums(static_cast<std::size_t>(p.m * p.n));
    const std::int64_t first = part == nullptr ? p.k : p.k / 2;
    const float* const rest_a = left.data() + first * (p.transpose_a ? columns_a : 1);
    const float* const rest_b = right.data() + first * (p.transpose_b ? 1 : columns_b);
    emulated_multiply(p.m, p.n, first, {left.data(), columns_a, p.transpose_a},
                      {right.data(), columns_b, p.transpose_b}, {sums.data(), p.n}, false);
    if (part != nullptr)
      emulated_multiply(p.m, p.n, p.k - first, {rest_a, columns_a, p.transpose_a},
                        {rest_b, columns_b, p.transpose_b}, {part, p.n}, false);
    for (std::int64_t i = 0; part != nullptr && i < p.m * p.n; ++i)
      sums[static_cast<std::size_t>(i)] += part[i];
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        const std::int64_t at = from_c + i * p.row_c + j;
        float value = p.alpha * sums[static_cast<std::size_t>(i * p.n + j)];
        if (added != nullptr) value += load_at(p.c, added, at);
        if (bias != nullptr) value += load_at(p.c, bias, j);
        if (p.relu && !(value > 0)) value = value != value ? value : 0;
        store_at(p.c, c, at, value);
      }
  }

  /// In floats, slice by slice: one running sum over a long k would lose what is added late.
  static void sum_rows_of_a(const Product& p, const void* a, float* sums) {
    constexpr std::int64_t slice = 64;
    for (std::int64_t i = 0; i < p.m; ++i) {
      sums[i] = 0;
      for (std::int64_t first = 0; first < p.k; first += slice) {
        float sum = 0;
        for (std::int64_t k = first; k < std::min(first + slice, p.k); ++k)
          sum += load_at(p.a, a, p.transpose_a ? k * p.row_a + i : i * p.row_a + k);
        sums[i] += sum;
      }
    }
  }

  Product p_;
};

}  // namespace

void emulated_multiply(std::int64_t m, std::int64_t n, std::int64_t k, MatrixAt<const float> a,
                       MatrixAt<const float> b, MatrixAt<float> c, bool accumulate) {
  Eigen::Map<Rows, 0, Stride> result(c.data, m, n, Stride(c.row));
  with_matrix(m, k, a, [&](const auto& left) {
    with_matrix(k, n, b, [&](const auto& right) {
      if (accumulate) {
        result.noalias() += left * right;
      } else {
        result.noalias() = left * right;
      }
    });
  });
}

std::unique_ptr<Call> emulated_product(const Product& shape) {
  refuse_types(shape);
  return std::make_unique<EmulatedProduct>(shape);
}

}  // namespace thalweg::engine::gpu
