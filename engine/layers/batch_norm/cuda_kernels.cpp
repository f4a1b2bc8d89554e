// Mean and variance: each slice of rows gives its own mean and its squares around it, which are
// joined without cancellation (Chan, Golub and LeVeque, The American Statistician 37, 1983). What
// passes over tensors need of a column is made once, where its sums are complete.
#include "engine/layers/batch_norm/cuda_kernels.h"

#include <cmath>
#include <type_traits>

#include "engine/device/cuda/columns.h"

namespace thalweg::engine::cuda {
namespace {

using gpu::Pack;

template <int width>
THALWEG_HOST_DEVICE Pack<float, width> pack_at(const float* vector, std::int64_t at) {
  return *reinterpret_cast<const Pack<float, width>*>(vector + at);
}

/// Sums of a slice: its mean and the sum of squares around that, taken around a first element.
template <class T>
struct Moments {
  static constexpr int sums = 2;
  template <int width>
  using Constants = Pack<T, width>;
  const T* x;
  std::int64_t rows, columns;
  template <int width>
  THALWEG_HOST_DEVICE Pack<T, width> at(std::int64_t outer, std::int64_t row,
                                        std::int64_t column) const {
    return *reinterpret_cast<const Pack<T, width>*>(x + (outer * rows + row) * columns + column);
  }
  template <int width>
  THALWEG_HOST_DEVICE float add(const Pack<T, width>& first, int k, float* into,
                                float value) const {
    const float d = value - gpu::load(first.at[k]);
    into[0] += d;
    into[1] += d * d;
    return d;
  }
  template <int width>
  THALWEG_HOST_DEVICE void end(const Pack<T, width>& first, int k, float* into,
                               std::int64_t count) const {
    const float mean = into[0] / static_cast<float>(count);
    const float squares = into[1] - into[0] * mean;
    into[0] = gpu::load(first.at[k]) + mean;
    into[1] = squares < 0 ? 0 : squares;
  }
  THALWEG_HOST_DEVICE static void merge(float* into, float n, const float* from, float m) {
    const float d = from[0] - into[0], share = m / (n + m);
    into[0] += d * share;
    into[1] += from[1] + d * d * n * share;
  }
};

/// The coefficients of columns.
struct Fold {
  NormVectors of;
  std::int64_t columns, group, all;  ///< all: outer * columns
  float epsilon;
  float* coefficients;
  THALWEG_HOST_DEVICE void put(std::int64_t outer, std::int64_t column, float mean,
                               float variance) const {
    const std::int64_t i = outer * columns + column;
    coefficients[i] = mean;
    coefficients[all + i] = 1 / std::sqrt(variance + epsilon) * of.weight[column];
    coefficients[2 * all + i] = of.bias[column];
  }
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    put(i / columns, i % columns, of.mean[i / group], of.variance[i / group]);
  }
};

/// Where each column is alone.
struct PutMoments {
  Fold fold;
  float rows;
  THALWEG_HOST_DEVICE void operator()(std::int64_t outer, std::int64_t column,
                                      const float* sums) const {
    const float variance = sums[1] / rows;
    fold.of.mean[column] = sums[0];
    fold.of.variance[column] = variance;
    fold.put(outer, column, sums[0], variance);
  }
};

/// Else they are kept for their groups.
using Pair = Pack<float, 2>;
struct PutPairs {
  Pair* totals;  ///< (outer, columns)
  std::int64_t columns;
  THALWEG_HOST_DEVICE void operator()(std::int64_t outer, std::int64_t column,
                                      const float* sums) const {
    totals[outer * columns + column] = {{sums[0], sums[1]}};
  }
};
struct JoinGroups {
  const Pair* totals;
  Fold fold;
  float rows;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t first = i * fold.group;
    float sums[2] = {totals[first].at[0], totals[first].at[1]};
    for (std::int64_t k = 1; k < fold.group; ++k)
      Moments<float>::merge(sums, rows * static_cast<float>(k), totals[first + k].at, rows);
    const float variance = sums[1] / (rows * static_cast<float>(fold.group));
    fold.of.mean[i] = sums[0];
    fold.of.variance[i] = variance;
    for (std::int64_t k = 0; k < fold.group; ++k)
      fold.put(first / fold.columns, first % fold.columns + k, sums[0], variance);
  }
};

template <int width>
struct Coefficients {
  Pack<float, width> mean, scale, bias;
  THALWEG_HOST_DEVICE float result(int k, float x) const {
    return (x - mean.at[k]) * scale.at[k] + bias.at[k];
  }
};
struct CoefficientsOf {
  const float* vectors;
  std::int64_t columns, all;
  template <int width>
  THALWEG_HOST_DEVICE Coefficients<width> at(std::int64_t outer, std::int64_t column) const {
    const std::int64_t i = outer * columns + column;
    return {pack_at<width>(vectors, i), pack_at<width>(vectors, all + i),
            pack_at<width>(vectors, 2 * all + i)};
  }
};
CoefficientsOf coefficients_of(const NormShape& shape, const float* coefficients) {
  return {coefficients, shape.tensor.columns, shape.columns()};
}

template <bool relu>
struct Normalize {
  template <int width>
  using Constants = Coefficients<width>;
  CoefficientsOf of;
  template <int width>
  THALWEG_HOST_DEVICE Coefficients<width> at(std::int64_t outer, std::int64_t column) const {
    return of.at<width>(outer, column);
  }
  template <int width>
  THALWEG_HOST_DEVICE float value(const Coefficients<width>& c, int k, float x) const {
    return end(c.result(k, x));
  }
  template <int width>
  THALWEG_HOST_DEVICE float value(const Coefficients<width>& c, int k, float x, float added) const {
    return end(c.result(k, x) + added);
  }
  THALWEG_HOST_DEVICE static float end(float y) { return relu && y < 0 ? 0 : y; }
};

/// Sums of dy and of dy (x - mean). Whether relu let x pass is computed anew: a pass over y less.
template <bool relu>
struct SumGradients {
  static constexpr int sums = 2;
  template <int width>
  using Constants = Coefficients<width>;
  CoefficientsOf of;
  template <int width>
  THALWEG_HOST_DEVICE Coefficients<width> at(std::int64_t outer, std::int64_t,
                                             std::int64_t column) const {
    return of.at<width>(outer, column);
  }
  template <int width>
  THALWEG_HOST_DEVICE float add(const Coefficients<width>& c, int k, float* into, float x,
                                float dy) const {
    if (relu && !(c.result(k, x) > 0)) return 0;
    into[0] += dy;
    into[1] += dy * (x - c.mean.at[k]);
    return dy;
  }
  template <int width>
  THALWEG_HOST_DEVICE void end(const Coefficients<width>&, int, float*, std::int64_t) const {}
  THALWEG_HOST_DEVICE static void merge(float* into, float, const float* from, float) {
    into[0] += from[0];
    into[1] += from[1];
  }
};

/// The same before a relu that put out y after a sum: it returns the gradient of that sum, as it is
/// rounded for whoever reads it.
template <class T>
struct SumGradientsOfSum : SumGradients<false> {
  template <int width>
  THALWEG_HOST_DEVICE float add(const Coefficients<width>& c, int k, float* into, float x, float y,
                                float dy) const {
    const float passed = gpu::load(gpu::store<T>(y > 0 ? dy : 0));
    return SumGradients<false>::add<width>(c, k, into, x, passed);
  }
  template <int width>
  THALWEG_HOST_DEVICE float add(const Coefficients<width>& c, int k, float* into, float x, float y,
                                float dy, float other) const {
    return add<width>(c, k, into, x, y, dy + other);
  }
};

/// What the gradient of x is made of, from means over the rows of dy weight and of that times
/// (x - mean).
struct InputVectors {
  const float* variance;
  float epsilon;
  std::int64_t group, all;
  float* inputs;
  THALWEG_HOST_DEVICE float inverse(std::int64_t group_number) const {
    return 1 / std::sqrt(variance[group_number] + epsilon);
  }
  THALWEG_HOST_DEVICE void put(std::int64_t i, float inverse, float gradient, float along) const {
    inputs[i] = inverse * inverse * inverse * along;
    inputs[all + i] = inverse * gradient;
  }
};

/// Where each column is alone.
struct PutBatchNormGradients {
  InputVectors to;
  const float* weight;
  float count;
  float *d_weight, *d_bias;
  THALWEG_HOST_DEVICE void operator()(std::int64_t, std::int64_t column, const float* sums) const {
    const float inverse = to.inverse(column), share = weight[column] / count;
    d_bias[column] = sums[0];
    d_weight[column] = sums[1] * inverse;
    to.put(column, inverse, sums[0] * share, sums[1] * share);
  }
};

/// Else: the parameters' gradients of all `outer` together,
struct JoinGradients {
  const Pair* totals;
  InputVectors to;
  std::int64_t outer, columns;
  float *d_weight, *d_bias;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t column) const {
    float gradient = 0, along = 0;
    for (std::int64_t o = block.rank(); o < outer; o += block.size()) {
      const std::int64_t i = o * columns + column;
      gradient += totals[i].at[0];
      along += totals[i].at[1] * to.inverse(i / to.group);
    }
    gradient = block.sum(gradient);
    along = block.sum(along);
    if (block.rank() != 0) return;
    d_bias[column] = gradient;
    d_weight[column] = along;
  }
};
/// and each group's sums.
struct JoinGroupGradients {
  const Pair* totals;
  InputVectors to;
  const float* weight;
  std::int64_t columns;
  float count;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t first = i * to.group;
    float gradient = 0, along = 0;
    for (std::int64_t k = 0; k < to.group; ++k) {
      const float times = weight[first % columns + k];
      gradient += times * totals[first + k].at[0];
      along += times * totals[first + k].at[1];
    }
    for (std::int64_t k = 0; k < to.group; ++k)
      to.put(first + k, to.inverse(i), gradient / count, along / count);
  }
};

template <bool relu>
struct InputGradient {
  CoefficientsOf of;
  const float* inputs;
  template <int width>
  struct Constants {
    Coefficients<width> of;
    Pack<float, width> along, gradient;
  };
  template <int width>
  THALWEG_HOST_DEVICE Constants<width> at(std::int64_t outer, std::int64_t column) const {
    const std::int64_t i = outer * of.columns + column;
    return {of.at<width>(outer, column), pack_at<width>(inputs, i),
            pack_at<width>(inputs, of.all + i)};
  }
  template <int width>
  THALWEG_HOST_DEVICE float value(const Constants<width>& c, int k, float x, float dy) const {
    if (relu && !(c.of.result(k, x) > 0)) dy = 0;
    return dy * c.of.scale.at[k] - (x - c.of.mean.at[k]) * c.along.at[k] - c.gradient.at[k];
  }
};

/// work(std::true_type or std::false_type)
template <class Work>
void with_flag(bool flag, const Work& work) {
  if (flag) return work(std::true_type());
  work(std::false_type());
}

Fold fold_of(const NormShape& shape, const NormVectors& vectors, float* coefficients) {
  return {vectors, shape.tensor.columns, shape.group, shape.columns(), shape.epsilon, coefficients};
}

/// With `end`, of the kind that is wanted where columns are alone or not.
template <class End>
void sum_gradients(gpu::Stream& stream, gpu::Type type, const NormShape& shape,
                   const NormGradients& tensors, const CoefficientsOf& of, float* parts,
                   const End& end) {
  gpu::with_type(type, [&](auto t) {
    using T = decltype(t);
    const auto* const x = static_cast<const T*>(tensors.x);
    const auto* const dy = static_cast<const T*>(tensors.dy);
    const auto* const y = static_cast<const T*>(tensors.y);
    const auto* const other = static_cast<const T*>(tensors.other);
    if (y == nullptr) {
      with_flag(shape.relu, [&](auto relu) {
        reduce_columns(stream, shape.tensor, SumGradients<decltype(relu)::value>{of}, end, parts, x,
                       dy);
      });
      return;
    }
    const SumGradientsOfSum<T> f{{of}};
    const columns::Kept<T> kept{static_cast<T*>(tensors.dy)};
    if (other == nullptr)
      reduce_columns_to(stream, shape.tensor, f, end, parts, kept, x, y, dy);
    else
      reduce_columns_to(stream, shape.tensor, f, end, parts, kept, x, y, dy, other);
  });
}

/// Behind the parts of the sums.
Pair* totals_of(const NormShape& shape, float* parts) {
  return reinterpret_cast<Pair*>(parts + norm_parts(shape) - 2 * shape.columns());
}

}  // namespace

std::int64_t norm_parts(const NormShape& shape) {
  return column_parts(shape.tensor, 2) + 2 * shape.columns();
}

void channel_moments(gpu::Stream& stream, gpu::Type type, const NormShape& shape, const void* x,
                     const NormVectors& vectors, float* parts, float* coefficients) {
  const Columns& at = shape.tensor;
  const Fold fold = fold_of(shape, vectors, coefficients);
  const auto rows = static_cast<float>(at.rows);
  Pair* const totals = totals_of(shape, parts);
  gpu::with_type(type, [&](auto t) {
    using T = decltype(t);
    const auto* const from = static_cast<const T*>(x);
    const Moments<T> f{from, at.rows, at.columns};
    if (shape.alone())
      reduce_columns(stream, at, f, PutMoments{fold, rows}, parts, from);
    else
      reduce_columns(stream, at, f, PutPairs{totals, at.columns}, parts, from);
  });
  if (!shape.alone()) gpu::for_each(stream, shape.groups(), JoinGroups{totals, fold, rows});
}

void channel_coefficients(gpu::Stream& stream, const NormShape& shape, const NormVectors& vectors,
                          float* coefficients) {
  gpu::for_each(stream, shape.columns(), fold_of(shape, vectors, coefficients));
}

void channel_normalize(gpu::Stream& stream, gpu::Type type, const NormShape& shape, const void* x,
                       const void* added, const float* coefficients, void* y) {
  gpu::with_type(type, [&](auto t) {
    using T = decltype(t);
    const auto *const from = static_cast<const T*>(x), *const more = static_cast<const T*>(added);
    auto* const to = static_cast<T*>(y);
    with_flag(shape.relu, [&](auto relu) {
      const Normalize<decltype(relu)::value> f{coefficients_of(shape, coefficients)};
      if (more == nullptr) return map_columns(stream, shape.tensor, f, to, from);
      map_columns(stream, shape.tensor, f, to, from, more);
    });
  });
}

void channel_gradients(gpu::Stream& stream, gpu::Type type, const NormShape& shape,
                       const NormGradients& tensors, const NormVectors& vectors,
                       const float* coefficients, float* parts, float* inputs, float* d_weight,
                       float* d_bias) {
  const Columns& at = shape.tensor;
  const CoefficientsOf of = coefficients_of(shape, coefficients);
  const InputVectors to{vectors.variance, shape.epsilon, shape.group, shape.columns(), inputs};
  const auto count = static_cast<float>(at.rows * shape.group);
  if (shape.alone())
    return sum_gradients(stream, type, shape, tensors, of, parts,
                         PutBatchNormGradients{to, vectors.weight, count, d_weight, d_bias});
  Pair* const totals = totals_of(shape, parts);
  sum_gradients(stream, type, shape, tensors, of, parts, PutPairs{totals, at.columns});
  gpu::for_each_row(stream, at.columns, 64,
                    JoinGradients{totals, to, at.outer, at.columns, d_weight, d_bias});
  gpu::for_each(stream, shape.groups(),
                JoinGroupGradients{totals, to, vectors.weight, at.columns, count});
}

void channel_input_gradient(gpu::Stream& stream, gpu::Type type, const NormShape& shape,
                            const void* x, const void* dy, const float* coefficients,
                            const float* inputs, void* dx) {
  gpu::with_type(type, [&](auto t) {
    using T = decltype(t);
    with_flag(shape.relu, [&](auto relu) {
      map_columns(
          stream, shape.tensor,
          InputGradient<decltype(relu)::value>{coefficients_of(shape, coefficients), inputs},
          static_cast<T*>(dx), static_cast<const T*>(x), static_cast<const T*>(dy));
    });
  });
}

}  // namespace thalweg::engine::cuda
