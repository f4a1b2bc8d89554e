// cross_entropy: as in device/reference/cross_entropy.cpp. The logits of a position are read twice:
// for the largest one and the sum of powers together, and for the gradient. Of few classes a thread
// takes a position, of many a team.
#include <cmath>

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
  float* gradient;  ///< null: none; may be `logits`

  THALWEG_HOST_DEVICE float weight(int c) const { return weights == nullptr ? 1 : weights[c]; }

  template <class Group>
  THALWEG_HOST_DEVICE Found look(const Group& group, const float* x, float of_label) const {
    constexpr float lowest = -3.402823466e38f;
    Found mine{lowest, 0, 0, classes, 0};
    for (int c = group.rank(); c < classes; c += group.size()) {
      const float v = x[c], over = v - mine.largest;
      const float power = std::exp(over > 0 ? -over : over);
      mine.sum = over > 0 ? mine.sum * power + 1 : mine.sum + power;
      mine.best = over > 0 ? c : mine.best;
      mine.largest = over > 0 ? v : mine.largest;
      mine.above += v > of_label ? 1 : 0;
      if (options.spread > 0) mine.weighted += weight(c) * (v - of_label);
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
    float* dx = gradient == nullptr ? nullptr : gradient + row * classes;
    const int label = sample < key->samples ? labels[row] : no_label;
    if (label == no_label) {
      for (int c = group.rank(); dx != nullptr && c < classes; c += group.size())
        dx[c] = 0;
      return;
    }
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
    for (int c = group.rank(); dx != nullptr && c < classes; c += group.size()) {
      float wanted = options.spread > 0 ? options.spread * weight(c) : 0;
      if (c == label) wanted += at_label;
      if (c == partner) wanted += at_partner;
      dx[c] = factor * std::exp(x[c] - found.largest) - scale * wanted;
    }
  }
};

struct EachAlone {
  Positions of;
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

struct EachTogether {
  Positions of;
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

void cross_entropy(Builder& b, TensorId output, TensorId gradient) {
  const LossPlan& plan = b.loss();
  const std::int64_t positions = plan.positions, rows = b.samples() * positions;
  const int classes = plan.data.classes;
  const bool alone = classes <= 32;
  const int team = alone ? 128 : classes <= 256 ? 32 : classes <= 4096 ? 128 : 512;
  const Slices slices = slices_of(rows, alone ? team : 1);
  const Options options = options_of(plan);
  const LabelTensors labels = add_labels(b, output, true);
  const TensorId given = b.labels(), partners = b.partner_labels(), parts = b.partner_shares();
  const TensorId weights =
      plan.weights.empty()
          ? -1
          : b.constant(std::vector<float>(plan.weights.begin(), plan.weights.end()));
  const TensorId sums = b.scratch(slices.count, sizeof(LossSums)), result = b.result();
  for (const bool training : {true, false})
    b.loss_kernel({output, sums, labels.drawn, labels.shares, training ? gradient : -1}, training,
                  [=](const Frame& frame) {
                    Positions of;
                    of.logits = frame.floats(output);
                    of.labels = labels_of(frame, labels, given, training);
                    of.partners = frame.blended ? frame.as<std::int32_t>(partners) : nullptr;
                    of.partner_shares = frame.floats(parts);
                    of.shares = frame.floats(labels.shares);
                    of.weights = frame.floats(weights);
                    of.key = frame.key;
                    of.positions = positions;
                    of.classes = classes;
                    of.options = options;
                    of.gradient = training ? frame.floats(gradient) : nullptr;
                    auto* const to = frame.as<LossSums>(sums);
                    if (alone)
                      gpu::for_each_row(frame.queue, slices.count, team,
                                        EachAlone{of, rows, slices.size, to});
                    else
                      gpu::for_each_row(frame.queue, slices.count, team,
                                        EachTogether{of, rows, slices.size, to});
                    add_up_loss(frame, sums, slices.count, result);
                  });
}

}  // namespace thalweg::engine::cuda
