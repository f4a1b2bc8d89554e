// cross_entropy: as in device/reference/cross_entropy.cpp. The logits of a position are read twice:
// for the largest one and the sum of powers together, and for the gradient, which is of the type
// that the layer before would round it to. Of few classes a thread takes a position, of many a
// team.
#include <cmath>
#include <type_traits>

#include "engine/device/cuda/label_losses.h"
#include "engine/device/cuda/layer.h"

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

struct Options {
  float spread = 0;      ///< what smoothing puts on each class
  float kept = 1;        ///< what it leaves the label
  float weight_sum = 0;  ///< of the classes
  bool images = false;
};

/// What a pass over the logits of a position finds.
struct Found {
  float largest, sum;  ///< sum of exp(x - largest)
  float weighted;      ///< sum of weight (x - x of the label), where labels are smoothed
  int best, above;
};

/// `width` classes are taken at once; G: the type of the slopes.
template <int width, class G>
struct Positions {
  const float* logits;
  const std::int32_t* labels;
  const std::int32_t* partners;  ///< null: samples are not blended
  const float* partner_shares;
  const float* shares;   ///< null: all 1
  const float* weights;  ///< of the classes; null: all 1
  const ShardKey* key;
  std::int64_t positions;  ///< of a sample
  int classes;
  Options options;
  G* gradient;  ///< null: none; may be `logits`

  using Logits = gpu::Pack<float, width>;
  using Slopes = gpu::Pack<G, width>;

  THALWEG_HOST_DEVICE float weight(int c) const { return weights == nullptr ? 1 : weights[c]; }

  template <class Group>
  THALWEG_HOST_DEVICE Found look(const Group& group, const float* x, float of_label) const {
    constexpr float lowest = -3.402823466e38f;
    const auto* packs = reinterpret_cast<const Logits*>(x);
    Found mine{lowest, 0, 0, classes, 0};
    for (int p = group.rank(); p < classes / width; p += group.size()) {
      const Logits in = packs[p];
      for (int k = 0; k < width; ++k) {
        const int c = p * width + k;
        const float v = in.at[k], over = v - mine.largest;
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
    const float* x = logits + row * classes;
    const int label = sample < key->samples ? labels[row] : no_label;
    if (label == no_label) return set_slopes(group, row, [](int, float) { return 0.0f; });
    const int partner = partners == nullptr ? label : partners[row];
    const float other = partners == nullptr ? 0 : partner_shares[sample];
    const float of_label = x[label], of_partner = x[partner];
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
        out.at[k] = gpu::store<G>(slope(p * width + k, in.at[k]));
      to[p] = out;
    }
  }
};

template <class P>
struct EachAlone {
  P of;
  std::int64_t rows, slice;
  LossSums* sums;
  THALWEG_HOST_DEVICE void operator()(gpu::Team team, std::int64_t number) const {
    const std::int64_t end = (number + 1) * slice < rows ? (number + 1) * slice : rows;
    double mine[1 + most_sums] = {};
    for (std::int64_t row = number * slice + team.rank(); row < end; row += team.size())
      of.one(Alone(), row, mine);
    write_sums(team, mine, sums + number);
  }
};

template <class P>
struct EachTogether {
  P of;
  std::int64_t rows, slice;
  LossSums* sums;
  THALWEG_HOST_DEVICE void operator()(gpu::Team team, std::int64_t number) const {
    const std::int64_t end = (number + 1) * slice < rows ? (number + 1) * slice : rows;
    double mine[1 + most_sums] = {};
    for (std::int64_t row = number * slice; row < end; ++row)
      of.one(team, row, mine);
    write_sums(team, mine, sums + number);
  }
};

Options options_of(const LossPlan& plan) {
  Options options;
  const double smoothing = plan.options.find("smoothing")->as_double();
  double sum = 0;
  for (int c = 0; c < plan.data.classes; ++c)
    sum += plan.weight(c);
  options.spread = static_cast<float>(smoothing / plan.data.classes);
  options.kept = static_cast<float>(1 - smoothing);
  options.weight_sum = static_cast<float>(sum);
  options.images = plan.of_images();
  return options;
}

}  // namespace

TensorId cross_entropy(Builder& b, TensorId output) {
  const LossPlan& plan = b.loss();
  const std::int64_t positions = plan.positions, rows = b.samples() * positions;
  const int classes = plan.data.classes;
  const bool alone = classes <= 32;
  const int team = alone ? 128 : classes <= 512 ? 32 : classes <= 4096 ? 128 : 512;
  const Slices slices = slices_of(rows, alone ? team : 1);
  const Options options = options_of(plan);
  const LabelTensors labels = add_labels(b, output, true);
  const TensorId given = b.labels(), partners = b.partner_labels(), parts = b.partner_shares();
  const TensorId weights =
      plan.weights.empty()
          ? -1
          : b.constant(std::vector<float>(plan.weights.begin(), plan.weights.end()));
  const TensorId sums = b.scratch(slices.count, sizeof(LossSums)), result = b.result();
  const TensorId gradient = b.narrow_loss_slope(output);
  const Type type = b.desc(gradient).type;
  const auto add = [=](const Frame& frame, bool training, auto g, auto w) {
    using G = decltype(g);
    using P = Positions<decltype(w)::value, G>;
    const P of{frame.floats(output),
               labels_of(frame, labels, given, training),
               frame.blended ? frame.as<std::int32_t>(partners) : nullptr,
               frame.floats(parts),
               frame.floats(labels.shares),
               frame.floats(weights),
               frame.key,
               positions,
               classes,
               options,
               training ? frame.as<G>(gradient) : nullptr};
    auto* const to = frame.as<LossSums>(sums);
    if (alone)
      gpu::for_each_row(frame.queue, slices.count, team, EachAlone<P>{of, rows, slices.size, to});
    else
      gpu::for_each_row(frame.queue, slices.count, team,
                        EachTogether<P>{of, rows, slices.size, to});
  };
  for (const bool training : {true, false})
    b.loss_kernel({output, sums, labels.drawn, labels.shares, training ? gradient : -1}, training,
                  [=](const Frame& frame) {
                    gpu::with_type(type, [&](auto g) {
                      if (classes % 4 == 0)
                        add(frame, training, g, std::integral_constant<int, 4>());
                      else
                        add(frame, training, g, std::integral_constant<int, 1>());
                    });
                    add_up_loss(frame, sums, slices.count, result);
                  });
  return gradient;
}

}  // namespace thalweg::engine::cuda
