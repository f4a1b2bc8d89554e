// concat: rows of different widths, concatenated: channels of every place, features of every sample
// or position.
#include "engine/device/concat.h"

#include "engine/device/cuda/builder.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

/// Rows of `columns` packs of T; from row to row there are from_row and to_row of them.
template <class T, int width>
struct CopyRows {
  const gpu::Pack<T, width>* from;
  gpu::Pack<T, width>* to;
  std::int64_t columns, from_row, to_row;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t row = i / columns, column = i % columns;
    to[row * to_row + column] = from[row * from_row + column];
  }
};

/// A part of every row of the whole.
struct Part {
  std::int64_t rows, columns, first, whole;

  template <class T, int width>
  void copy(gpu::Stream& stream, bool into_whole, const T* from, T* to) const {
    using Pack = gpu::Pack<T, width>;
    const T* const start = into_whole ? from : from + first;
    T* const end = into_whole ? to + first : to;
    const std::int64_t own = columns / width, all = whole / width;
    gpu::for_each(
        stream, rows * own,
        CopyRows<T, width>{reinterpret_cast<const Pack*>(start), reinterpret_cast<Pack*>(end), own,
                           into_whole ? own : all, into_whole ? all : own});
  }
};

/// From the part's own memory into the whole, or the other way.
void add_copy(Builder& b, Builder::Pass pass, const Part& part, bool into_whole, TensorId from,
              TensorId to) {
  const Type type = b.desc(from).type;
  b.kernel(pass, {from, to}, [=](const Frame& frame) {
    // A power of two divides all three where it divides them joined by or.
    gpu::with_packs(type, part.columns | part.first | part.whole, [&](auto t, auto w) {
      using T = decltype(t);
      part.copy<T, decltype(w)::value>(frame.stream, into_whole, frame.as<T>(from),
                                       frame.as<T>(to));
    });
  });
}

}  // namespace

TensorId concat(Builder& b, const Node& node, TensorId) {
  const std::size_t axis = concat_axis(node.layer->in) + 1;
  std::vector<TensorId> xs;
  for (std::size_t k = 0; k < b.inputs(); ++k)
    xs.push_back(b.in_type(Builder::Pass::both, b.input(k), b.type()));
  Shape dims = b.desc(xs[0]).dims;
  const std::int64_t rows = b.desc(xs[0]).count() / dims[axis];
  std::vector<Part> parts;
  std::int64_t whole = 0;
  for (const TensorId x : xs) {
    const std::int64_t columns = b.desc(x).dims[axis];
    parts.push_back({rows, columns, whole, 0});
    whole += columns;
  }
  dims[axis] = whole;
  const TensorId y = b.activation(dims, b.type());
  for (std::size_t k = 0; k < xs.size(); ++k) {
    parts[k].whole = whole;
    add_copy(b, Builder::Pass::both, parts[k], true, xs[k], y);
  }

  b.on_backward_to_all([=, &b](TensorId given) {
    const TensorId dy = b.in_type(Builder::Pass::backward, given, b.type());
    std::vector<TensorId> dxs;
    for (std::size_t k = 0; k < xs.size(); ++k) {
      const bool wanted = b.wants_input_gradient(k);
      dxs.push_back(wanted ? b.like(xs[k]) : dy);
      if (wanted) add_copy(b, Builder::Pass::backward, parts[k], false, dy, dxs[k]);
    }
    return dxs;
  });
  return b.in_type(Builder::Pass::both, y, b.output_type());
}

}  // namespace thalweg::engine::cuda
