// The logits of a position are read twice: for the largest one and the sum of powers together, and
// for the gradient, which is of the type that the layer before would round it to. Of few classes a
// thread takes a position, of many a team.
#include "engine/device/cuda/cross_entropy_kernels.h"

#include <cmath>
#include <type_traits>

#include "engine/device/cuda/label_losses.h"

namespace thalweg::engine::cuda {
namespace {

/// A team of one.
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

/// What a pass over the logits of a position finds.
struct Found {
  float largest, sum;  ///< sum of exp(x - largest)
  float weighted;      ///< sum of weight (x - x of the label), where labels are smoothed
  int best, above;
};

/// `width` classes are taken at once; L: the type of the logits, G: of the slopes.
template <int width, class L, class G>
struct Positions {
  const L* logits;
  const std::int32_t* labels;
  const std::int32_t* partners;  ///< null: samples are not blended
  const float* partner_shares;
  const float* shares;   ///< null: all 1
  const float* weights;  ///< of the classes; null: all 1
  const ShardKey* key;
  std::int64_t positions;  ///< of a sample
  int classes;
  CrossEntropyShape options;
  G* gradient;  ///< null: none; may be `logits`

  using Logits = gpu::Pack<L, width>;
  using Slopes = gpu::Pack<G, width>;

  THALWEG_HOST_DEVICE float weight(int c) const { return weights == nullptr ? 1 : weights[c]; }

  template <class Group>
  THALWEG_HOST_DEVICE Found look(const Group& group, const L* x, float of_label) const {
    constexpr float lowest = -3.402823466e38f;
    const auto* packs = reinterpret_cast<const Logits*>(x);
    Found mine{lowest, 0, 0, classes, 0};
#if defined(__CUDA_ARCH__)
#pragma unroll 2
#endif
    for (int p = group.rank(); p < classes / width; p += group.size()) {
      const Logits in = packs[p];
      for (int k = 0; k < width; ++k) {
        const int c = p * width + k;
        const float v = gpu::load(in.at[k]), over = v - mine.largest;
        const float power = std::exp(over > 0 ? -over : over);
        mine.sum = over > 0 ? mine.sum * power + 1 : mine.sum + power;
        mine.best = over > 0 ? c : mine.best;
        mine.largest = over > 0 ? v : mine.largest;
        mine.above += v > of_label ? 1 : 0;
        if (options.spread > 0) mine.weighted += weight(c) * (v - of_label);
      }
    }
    Found all{};
    all.largest = group.max(mine.largest);
    all.sum = group.sum(mine.sum * std::exp(mine.largest - all.largest));
    all.best = -group.max(mine.largest == all.largest ? -mine.best : -classes);
    all.above = group.sum(mine.above);
    if (options.spread > 0) all.weighted = group.sum(mine.weighted);
    return all;
  }

  template <class Group>
  THALWEG_HOST_DEVICE void one(const Group& group, std::int64_t row, double* mine) const {
    const std::int64_t sample = row / positions;
    const L* x = logits + row * classes;
    const int label = sample < key->samples ? labels[row] : no_label;
    if (label == no_label) return set_slopes(group, row, [](int, float) { return 0.0f; });
    const int partner = partners == nullptr ? label : partners[row];
    const float other = partners == nullptr ? 0 : partner_shares[sample];
    const float of_label = gpu::load(x[label]), of_partner = gpu::load(x[partner]);
    const Found found = look(group, x, of_label);
    const float at_label = weight(label) * options.kept * (1 - other);
    const float at_partner = weight(partner) * options.kept * other;
    float all = at_label + at_partner;
    float expected =
        at_label * (of_label - found.largest) + at_partner * (of_partner - found.largest);
    if (options.spread > 0) {
      all += options.spread * options.weight_sum;
      expected +=
          options.spread * (found.weighted + options.weight_sum * (of_label - found.largest));
    }
    const float share = shares == nullptr ? 1 : shares[sample];
    if (group.rank() == 0) {
      mine[0] += static_cast<double>(share * (all * std::log(found.sum) - expected));
      const bool known = found.sum == found.sum;
      count_label(known ? found.best : no_label, label, found.above, options.images, mine);
    }
    const float scale = key->scale * share, factor = scale * all / found.sum;
    set_slopes(group, row, [&](int c, float logit) {
      float wanted = options.spread > 0 ? options.spread * weight(c) : 0;
      if (c == label) wanted += at_label;
      if (c == partner) wanted += at_partner;
      return factor * std::exp(logit - found.largest) - scale * wanted;
    });
  }

  /// Of every class slope(class, logit). A logit is read before its slope is written.
  template <class Group, class Slope>
  THALWEG_HOST_DEVICE void set_slopes(const Group& group, std::int64_t row,
                                      const Slope& slope) const {
    if (gradient == nullptr) return;
    const auto* from = reinterpret_cast<const Logits*>(logits + row * classes);
    auto* to = reinterpret_cast<Slopes*>(gradient + row * classes);
    for (int p = group.rank(); p < classes / width; p += group.size()) {
      const Logits in = from[p];
      Slopes out;
      for (int k = 0; k < width; ++k)
        out.at[k] = gpu::store<G>(slope(p * width + k, gpu::load(in.at[k])));
      to[p] = out;
    }
  }
};

/// A slice of positions, each done by a Group: a thread of the team or all of it.
template <class P, class Group>
struct EachSlice {
  static constexpr bool alone = std::is_same_v<Group, Alone>;
  P of;
  std::int64_t rows, slice;
  LossSums* sums;
  THALWEG_HOST_DEVICE void operator()(gpu::Team team, std::int64_t number) const {
    const std::int64_t end = (number + 1) * slice < rows ? (number + 1) * slice : rows;
    double mine[1 + most_sums] = {};
    for (std::int64_t row = number * slice + (alone ? team.rank() : 0); row < end;
         row += alone ? team.size() : 1)
      of.one(Group(), row, mine);
    write_sums(team, mine, sums + number);
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
void run(gpu::Queue& queue, const CrossEntropyShape& shape, const CrossEntropyInputs& inputs,
         G* gradient, LossSums* parts) {
  using P = Positions<width, L, G>;
  const P of{static_cast<const L*>(inputs.logits),
             inputs.labels,
             inputs.partners,
             inputs.partner_shares,
             inputs.shares,
             inputs.weights,
             inputs.key,
             shape.positions,
             shape.classes,
             shape,
             gradient};
  const std::int64_t rows = shape.samples * shape.positions;
  const Slices slices = slices_in(shape);
  const int team = team_of(shape.classes);
  if (by_threads(shape.classes))
    return gpu::for_each_row(queue, slices.count, team,
                             EachSlice<P, Alone>{of, rows, slices.size, parts});
  gpu::for_each_row(queue, slices.count, team,
                    EachSlice<P, gpu::Team>{of, rows, slices.size, parts});
}

}  // namespace

std::int64_t cross_entropy_parts(const CrossEntropyShape& shape) {
  return slices_in(shape).count;
}

void cross_entropy(gpu::Queue& queue, const CrossEntropyShape& shape,
                   const CrossEntropyInputs& inputs, gpu::Type type, void* gradient,
                   LossSums* parts, double* result) {
  gpu::with_type(inputs.type, [&](auto l) {
    gpu::with_type(type, [&](auto g) {
      using L = decltype(l);
      using G = decltype(g);
      constexpr int width = 16 / static_cast<int>(sizeof(L));
      auto* const to = static_cast<G*>(gradient);
      if (shape.classes % width == 0)
        run<width, L>(queue, shape, inputs, to, parts);
      else
        run<1, L>(queue, shape, inputs, to, parts);
    });
  });
  add_up_loss(queue, parts, slices_in(shape).count, result);
}

}  // namespace thalweg::engine::cuda
