// The logits of a position are read twice: for the largest one and the sum of powers together, and
// for the gradient, which is of the type that the layer before would round it to. Of few classes a
// thread takes a position, of many a thread block: the kernel of cuda_native.h, which does the
// same with fewer barriers and powers; the functors here are its truth and run on the host.
#include "engine/losses/cross_entropy/cuda_kernels.h"

#include <type_traits>

#include "engine/losses/cross_entropy/cuda_positions.h"
#include "engine/losses/cuda.h"
#if defined(__CUDACC__)
#include "engine/losses/cross_entropy/cuda_native.h"
#endif

namespace thalweg::engine::cuda {
namespace {

/// A block of one.
struct Alone {
  THALWEG_HOST_DEVICE int size() const { return 1; }
  THALWEG_HOST_DEVICE int rank() const { return 0; }
  template <class T>
  THALWEG_HOST_DEVICE T sum(T mine) const {
    return mine;
  }
  template <class T>
  THALWEG_HOST_DEVICE T max(T mine) const {
    return mine;
  }
};

template <class Group, int width, class L, class G>
THALWEG_HOST_DEVICE Found look(const Group& group, const Positions<width, L, G>& of,
                               std::int64_t row, float of_label) {
  using P = Positions<width, L, G>;
  const auto* packs = reinterpret_cast<const typename P::Logits*>(of.logits + row * of.classes);
  Found mine = of.nothing();
  for (int p = group.rank(); p < of.classes / width; p += group.size()) {
    const typename P::Logits in = packs[p];
    for (int k = 0; k < width; ++k) {
      const int c = p * width + k;
      const float v = gpu::load(in.at[k]), over = v - mine.largest;
      const float power = P::power(over > 0 ? -over : over);
      mine.sum = over > 0 ? mine.sum * power + 1 : mine.sum + power;
      mine.best = over > 0 ? c : mine.best;
      mine.largest = over > 0 ? v : mine.largest;
      mine.above += v > of_label ? 1 : 0;
      if (of.options.spread > 0) mine.weighted += of.weight(c) * (v - of_label);
    }
  }
  Found all{};
  all.largest = group.max(mine.largest);
  all.sum = group.sum(mine.sum * P::power(mine.largest - all.largest));
  all.best = -group.max(mine.largest == all.largest ? -mine.best : -of.classes);
  all.above = group.sum(mine.above);
  if (of.options.spread > 0) all.weighted = group.sum(mine.weighted);
  return all;
}

/// A slice of positions, each done by a Group: a thread of the block or all of it.
template <class P, class Group>
struct EachSlice {
  static constexpr bool alone = std::is_same_v<Group, Alone>;
  P of;
  std::int64_t rows, slice;
  LossSums* sums;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t number) const {
    const std::int64_t end = (number + 1) * slice < rows ? (number + 1) * slice : rows;
    double mine[1 + max_sums] = {};
    for (std::int64_t row = number * slice + (alone ? block.rank() : 0); row < end;
         row += alone ? block.size() : 1) {
      const Group group;
      const Wanted wanted = of.wanted(row);
      if (wanted.label == no_label)
        of.leave_out(group, row);
      else
        of.finish(group, row, wanted, look(group, of, row, wanted.of_label), mine);
    }
    write_sums(block, mine, sums + number);
  }
};

bool by_threads(int classes) {
  return classes <= 32;
}
int team_of(int classes) {
  return by_threads(classes) ? 128 : classes <= 512 ? 32 : classes <= 4096 ? 128 : 512;
}
Slices slices_in(const CrossEntropyShape& shape) {
  return slices_of(shape.samples * shape.positions,
                   by_threads(shape.classes) ? team_of(shape.classes) : 1);
}

/// `width` classes at once.
template <int width, class L, class G>
void run(gpu::Stream& stream, const CrossEntropyShape& shape, const CrossEntropyInputs& inputs,
         G* gradient, LossSums* parts) {
  using P = Positions<width, L, G>;
  const P of{static_cast<const L*>(inputs.logits),
             inputs.labels,
             inputs.labels_b,
             inputs.shares_b,
             inputs.shares,
             inputs.weights,
             inputs.key,
             shape.positions,
             shape.classes,
             shape,
             gradient};
  const std::int64_t rows = shape.samples * shape.positions;
  const Slices slices = slices_in(shape);
  const int block = team_of(shape.classes);
  if (by_threads(shape.classes))
    return gpu::for_each_row(stream, slices.count, block,
                             EachSlice<P, Alone>{of, rows, slices.size, parts});
  if (stream.emulated())
    return stream.on_host([each = EachSlice<P, gpu::ThreadBlock>{of, rows, slices.size, parts},
                           count = slices.count] {
      for (std::int64_t i = 0; i < count; ++i)
        each(gpu::ThreadBlock(), i);
    });
#if defined(__CUDACC__)
  gpu::launch(stream, cross_entropy_rows<width, L, G>, dim3(static_cast<unsigned>(slices.count)),
              dim3(static_cast<unsigned>(block)), of, rows, slices.size, parts);
#endif
}

}  // namespace

std::int64_t cross_entropy_parts(const CrossEntropyShape& shape) {
  return slices_in(shape).count;
}

void cross_entropy(gpu::Stream& stream, const CrossEntropyShape& shape,
                   const CrossEntropyInputs& inputs, gpu::Type type, void* gradient,
                   LossSums* parts, double* result) {
  gpu::with_type(inputs.type, [&](auto l) {
    gpu::with_type(type, [&](auto g) {
      using L = decltype(l);
      using G = decltype(g);
      constexpr int width = 16 / static_cast<int>(sizeof(L));
      auto* const to = static_cast<G*>(gradient);
      if (shape.classes % width == 0)
        run<width, L>(stream, shape, inputs, to, parts);
      else
        run<1, L>(stream, shape, inputs, to, parts);
    });
  });
  add_up_loss(stream, parts, slices_in(shape).count, result);
}

}  // namespace thalweg::engine::cuda
