// Mean and variance: each slice of rows gives its own mean and its squares around it, which are
// joined without cancellation (Chan, Golub and LeVeque, The American Statistician 37, 1983).
#include "engine/device/cuda/channel_norm.h"

#include <cmath>
#include <type_traits>

#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

/// Two sums of one column.
using Pair = gpu::Pack<float, 2>;

/// Of a slice: its mean and the sum of squares around that, taken around its first element.
template <class T>
struct SliceMoments {
  static constexpr int sums = 2;
  using Constants = float;
  const T* x;
  std::int64_t rows, columns;
  THALWEG_HOST_DEVICE float at(std::int64_t outer, std::int64_t row, std::int64_t column) const {
    return gpu::load(x[(outer * rows + row) * columns + column]);
  }
  THALWEG_HOST_DEVICE float add(float first, float* into, float value) const {
    const float d = value - first;
    into[0] += d;
    into[1] += d * d;
    return d;
  }
  THALWEG_HOST_DEVICE void end(float first, float* into, std::int64_t count) const {
    const float mean = into[0] / static_cast<float>(count);
    const float squares = into[1] - into[0] * mean;
    into[0] = first + mean;
    into[1] = squares < 0 ? 0 : squares;
  }
};

struct JoinMoments {
  const Pair* slices;  ///< (outer, count of slices, columns)
  std::int64_t count, rows, columns, group;
  float *mean, *variance;  ///< (outer, columns / group)

  template <class Team>
  THALWEG_HOST_DEVICE void operator()(Team team, std::int64_t i) const {
    const std::int64_t groups = columns / group, outer = i / groups;
    const Pair* const first = slices + outer * count * columns + i % groups * group;
    const float start = first->at[0], total = static_cast<float>(rows * group);
    float sum = 0, squares = 0;
    for (std::int64_t e = team.rank(); e < count * group; e += team.size())
      sum += rows_of(e / group) * (first[e / group * columns + e % group].at[0] - start);
    const float middle = start + team.sum(sum) / total;
    for (std::int64_t e = team.rank(); e < count * group; e += team.size()) {
      const Pair slice = first[e / group * columns + e % group];
      const float d = slice.at[0] - middle;
      squares += slice.at[1] + rows_of(e / group) * d * d;
    }
    squares = team.sum(squares);
    if (team.rank() != 0) return;
    mean[i] = middle;
    variance[i] = squares / total;
  }
  THALWEG_HOST_DEVICE float rows_of(std::int64_t slice) const {
    return static_cast<float>((rows - slice + count - 1) / count);
  }
};

/// What a column is normalised by.
struct Scales {
  const float *mean, *variance, *weight, *bias;
  std::int64_t columns, group;
  float epsilon;

  struct Constants {
    float mean, inverse, weight, bias;
    THALWEG_HOST_DEVICE float result(float x) const {
      return (x - mean) * (inverse * weight) + bias;
    }
  };
  THALWEG_HOST_DEVICE std::int64_t group_of(std::int64_t outer, std::int64_t column) const {
    return outer * (columns / group) + column / group;
  }
  THALWEG_HOST_DEVICE Constants at(std::int64_t outer, std::int64_t column) const {
    const std::int64_t g = group_of(outer, column);
    return {mean[g], 1 / std::sqrt(variance[g] + epsilon), weight[column], bias[column]};
  }
};

template <bool relu>
struct Normalize {
  using Constants = Scales::Constants;
  Scales scales;
  THALWEG_HOST_DEVICE Constants at(std::int64_t outer, std::int64_t column) const {
    return scales.at(outer, column);
  }
  THALWEG_HOST_DEVICE float operator()(const Constants& c, float x) const {
    return end(c.result(x));
  }
  THALWEG_HOST_DEVICE float operator()(const Constants& c, float x, float added) const {
    return end(c.result(x) + added);
  }
  THALWEG_HOST_DEVICE static float end(float y) { return relu && y < 0 ? 0 : y; }
};

/// Sums of dy and of dy times the normalised x. Whether relu let x pass is computed anew: a pass
/// over y less.
template <bool relu>
struct SumSlopes {
  static constexpr int sums = 2;
  using Constants = Scales::Constants;
  Scales scales;
  THALWEG_HOST_DEVICE Constants at(std::int64_t outer, std::int64_t, std::int64_t column) const {
    return scales.at(outer, column);
  }
  THALWEG_HOST_DEVICE float add(const Constants& c, float* into, float x, float dy) const {
    if (relu && !(c.result(x) > 0)) return 0;
    into[0] += dy;
    into[1] += dy * (x - c.mean) * c.inverse;
    return dy;
  }
  THALWEG_HOST_DEVICE void end(const Constants&, float*, std::int64_t) const {}
};

/// The same before a relu that put out y after a sum: it returns the slope of that sum, as it is
/// rounded for whoever reads it.
template <class T>
struct SumSlopesOfSum : SumSlopes<false> {
  using SumSlopes<false>::Constants;
  THALWEG_HOST_DEVICE float add(const Constants& c, float* into, float x, float y, float dy) const {
    const float passed = gpu::load(gpu::store<T>(y > 0 ? dy : 0));
    return SumSlopes<false>::add(c, into, x, passed);
  }
  THALWEG_HOST_DEVICE float add(const Constants& c, float* into, float x, float y, float dy,
                                float other) const {
    return add(c, into, x, y, dy + other);
  }
};

struct JoinSlopes {
  const Pair* slices;  ///< (outer, count of slices, columns)
  std::int64_t count, columns;
  const float* weight;  ///< of the last three, where each column is alone; else null
  Pair* totals;         ///< (outer, columns), times the weight
  float *d_weight, *d_bias;

  template <class Team>
  THALWEG_HOST_DEVICE void operator()(Team team, std::int64_t i) const {
    const std::int64_t outer = i / columns, column = i % columns;
    float slope = 0, along = 0;
    for (std::int64_t s = team.rank(); s < count; s += team.size()) {
      const Pair slice = slices[(outer * count + s) * columns + column];
      slope += slice.at[0];
      along += slice.at[1];
    }
    slope = team.sum(slope);
    along = team.sum(along);
    if (team.rank() != 0) return;
    const float times = weight == nullptr ? 1 : weight[column];
    totals[i] = {{slope * times, along * times}};
    if (weight == nullptr) return;
    d_bias[column] = slope;
    d_weight[column] = along;
  }
};

struct SumGradients {
  const Pair* totals;
  std::int64_t outer, columns;
  float *d_weight, *d_bias;
  template <class Team>
  THALWEG_HOST_DEVICE void operator()(Team team, std::int64_t column) const {
    float slope = 0, along = 0;
    for (std::int64_t o = team.rank(); o < outer; o += team.size()) {
      const Pair of = totals[o * columns + column];
      slope += of.at[0];
      along += of.at[1];
    }
    slope = team.sum(slope);
    along = team.sum(along);
    if (team.rank() != 0) return;
    d_bias[column] = slope;
    d_weight[column] = along;
  }
};

struct SumGroups {
  const Pair* totals;  ///< (outer, columns)
  const float* weight;
  std::int64_t columns, group;
  Pair* slopes;  ///< (outer, columns / group)
  template <class Team>
  THALWEG_HOST_DEVICE void operator()(Team team, std::int64_t i) const {
    const std::int64_t groups = columns / group, first = i % groups * group;
    float slope = 0, along = 0;
    for (std::int64_t k = team.rank(); k < group; k += team.size()) {
      const Pair of = totals[i / groups * columns + first + k];
      slope += weight[first + k] * of.at[0];
      along += weight[first + k] * of.at[1];
    }
    slope = team.sum(slope);
    along = team.sum(along);
    if (team.rank() == 0) slopes[i] = {{slope, along}};
  }
};

template <bool relu>
struct InputSlope {
  Scales scales;
  const Pair* slopes;
  float count;
  struct Constants {
    Scales::Constants scale;
    float slope, along;
  };
  THALWEG_HOST_DEVICE Constants at(std::int64_t outer, std::int64_t column) const {
    const Pair of = slopes[scales.group_of(outer, column)];
    return {scales.at(outer, column), of.at[0] / count, of.at[1] / count};
  }
  THALWEG_HOST_DEVICE float operator()(const Constants& c, float x, float dy) const {
    if (relu && !(c.scale.result(x) > 0)) dy = 0;
    const float normal = (x - c.scale.mean) * c.scale.inverse;
    return c.scale.inverse * (dy * c.scale.weight - c.slope - normal * c.along);
  }
};

template <class T>
const T* constant(const Frame& frame, TensorId x) {
  return frame.as<T>(x);
}

/// work(std::true_type or std::false_type)
template <class Work>
void with_flag(bool flag, const Work& work) {
  if (flag) return work(std::true_type());
  work(std::false_type());
}

Scales scales_of(const Frame& frame, const ChannelNorm& norm) {
  return {frame.floats(norm.mean),
          frame.floats(norm.variance),
          frame.floats(norm.weight),
          frame.floats(norm.bias),
          norm.shape.columns,
          norm.group,
          norm.epsilon};
}

/// Slices of SumSlopesOfSum; dy becomes the slope of the sum.
template <class T>
void sum_slopes_of_sum(const Frame& frame, const ChannelNorm& norm, TensorId dy, float* parts) {
  const SumSlopesOfSum<T> f{{scales_of(frame, norm)}};
  const columns::Kept<T> to{frame.as<T>(dy)};
  const T *const x = constant<T>(frame, norm.x), *const y = constant<T>(frame, norm.y),
                 *const slope = constant<T>(frame, dy);
  if (norm.other < 0) return sum_slices_to(frame.queue, norm.shape, f, parts, to, x, y, slope);
  sum_slices_to(frame.queue, norm.shape, f, parts, to, x, y, slope, constant<T>(frame, norm.other));
}

/// The parameters' gradients, and what every group's input slopes are made of.
TensorId sum_slopes(Builder& b, const ChannelNorm& norm, TensorId dy) {
  const Columns shape = norm.shape;
  const bool alone = shape.outer == 1 && norm.group == 1;
  const std::int64_t slices = slices_of(shape), columns = shape.outer * shape.columns;
  const Type type = b.desc(dy).type;
  const TensorId d_weight = b.gradient(norm.parameter), d_bias = b.gradient(norm.parameter + 1);
  const TensorId parts = b.scratch(slices * columns, sizeof(Pair));
  const TensorId totals = b.scratch(columns, sizeof(Pair));
  b.kernel(Builder::Pass::backward,
           {norm.x, dy, norm.y, norm.other, norm.mean, norm.variance, norm.weight, norm.bias, parts,
            totals, d_weight, d_bias},
           [=](const Frame& frame) {
             const Scales scales = scales_of(frame, norm);
             gpu::with_type(type, [&](auto t) {
               using T = decltype(t);
               if (norm.y >= 0) return sum_slopes_of_sum<T>(frame, norm, dy, frame.floats(parts));
               with_flag(norm.relu, [&](auto relu) {
                 sum_slices(frame.queue, shape, SumSlopes<decltype(relu)::value>{scales},
                            frame.floats(parts), constant<T>(frame, norm.x),
                            constant<T>(frame, dy));
               });
             });
             for_each_sum(frame.queue, columns, slices,
                          JoinSlopes{frame.as<Pair>(parts), slices, shape.columns,
                                     alone ? scales.weight : nullptr, frame.as<Pair>(totals),
                                     frame.floats(d_weight), frame.floats(d_bias)});
           });
  if (alone) return totals;
  const std::int64_t groups = shape.outer * (shape.columns / norm.group);
  const TensorId slopes = b.scratch(groups, sizeof(Pair));
  b.kernel(Builder::Pass::backward, {totals, norm.weight, slopes, d_weight, d_bias},
           [=](const Frame& frame) {
             for_each_sum(frame.queue, shape.columns, shape.outer,
                          SumGradients{frame.as<Pair>(totals), shape.outer, shape.columns,
                                       frame.floats(d_weight), frame.floats(d_bias)});
             for_each_sum(frame.queue, groups, norm.group,
                          SumGroups{frame.as<Pair>(totals), frame.floats(norm.weight),
                                    shape.columns, norm.group, frame.as<Pair>(slopes)});
           });
  return slopes;
}

}  // namespace

ChannelNorm channel_norm(Builder& b, const Node& node, const Columns& shape, std::int64_t group,
                         TensorId x) {
  ChannelNorm norm;
  norm.shape = shape;
  norm.group = group;
  norm.epsilon = static_cast<float>(node.layer->real("epsilon"));
  norm.relu = node.relu;
  norm.parameter = node.first_parameter;
  norm.x = x;
  norm.weight = b.parameter(norm.parameter);
  norm.bias = b.parameter(norm.parameter + 1);
  return norm;
}

void measure(Builder& b, Builder::Pass pass, const ChannelNorm& norm) {
  const Columns shape = norm.shape;
  const std::int64_t slices = slices_of(shape);
  const Type type = b.desc(norm.x).type;
  const TensorId parts = b.scratch(shape.outer * slices * shape.columns, sizeof(Pair));
  b.kernel(pass, {norm.x, parts, norm.mean, norm.variance}, [=](const Frame& frame) {
    gpu::with_type(type, [&](auto t) {
      using T = decltype(t);
      const T* const x = frame.as<T>(norm.x);
      sum_slices(frame.queue, shape, SliceMoments<T>{x, shape.rows, shape.columns},
                 frame.floats(parts), x);
    });
    for_each_sum(frame.queue, shape.outer * (shape.columns / norm.group), slices * norm.group,
                 JoinMoments{frame.as<Pair>(parts), slices, shape.rows, shape.columns, norm.group,
                             frame.floats(norm.mean), frame.floats(norm.variance)});
  });
}

void normalize(Builder& b, Builder::Pass pass, const ChannelNorm& norm, TensorId y) {
  const Type type = b.desc(norm.x).type;
  std::vector<TensorId> touched{norm.x, norm.mean, norm.variance, norm.weight, norm.bias, y};
  if (norm.added >= 0) touched.push_back(norm.added);
  b.kernel(pass, touched, [=](const Frame& frame) {
    const Scales scales = scales_of(frame, norm);
    gpu::with_type(type, [&](auto t) {
      using T = decltype(t);
      with_flag(norm.relu, [&](auto relu) {
        const Normalize<decltype(relu)::value> f{scales};
        const T* const x = constant<T>(frame, norm.x);
        if (norm.added < 0) return map_columns(frame.queue, norm.shape, f, frame.as<T>(y), x);
        map_columns(frame.queue, norm.shape, f, frame.as<T>(y), x, constant<T>(frame, norm.added));
      });
    });
  });
}

TensorId normalize_backward(Builder& b, const ChannelNorm& norm, TensorId dy) {
  const TensorId slopes = sum_slopes(b, norm, dy);
  const Type type = b.desc(dy).type;
  TensorId dx = dy;
  if (b.wants_input_gradient()) {
    dx = b.like(norm.x);
    const auto count = static_cast<float>(norm.shape.rows * norm.group);
    b.kernel(Builder::Pass::backward,
             {norm.x, dy, norm.mean, norm.variance, norm.weight, norm.bias, slopes, dx},
             [=](const Frame& frame) {
               const Scales scales = scales_of(frame, norm);
               gpu::with_type(type, [&](auto t) {
                 using T = decltype(t);
                 with_flag(norm.relu, [&](auto relu) {
                   map_columns(
                       frame.queue, norm.shape,
                       InputSlope<decltype(relu)::value>{scales, frame.as<Pair>(slopes), count},
                       frame.as<T>(dx), constant<T>(frame, norm.x), constant<T>(frame, dy));
                 });
               });
             });
  }
  b.ready(norm.parameter);
  b.ready(norm.parameter + 1);
  return dx;
}

}  // namespace thalweg::engine::cuda
