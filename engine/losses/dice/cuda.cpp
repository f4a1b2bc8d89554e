// dice: as in reference.cpp. First the softmax of every position and, by slices of a
// sample, what overlaps; then the quotients of each sample; then the gradient of every position.
#include <cmath>

#include "engine/losses/cuda_labels.h"
#include "engine/losses/dice/options.h"

namespace thalweg::engine::cuda {
namespace {

/// Of one class over some positions.
struct Overlap {
  float both, predicted, labelled;
};

/// d loss / d softmax at a position: where it has the class as its label, and elsewhere.
struct ClassGradients {
  float hit, miss;
};

struct Overlaps {
  const float* logits;
  const std::int32_t* labels;
  const ShardKey* key;
  std::int64_t positions, slice, slices;  ///< of a sample
  int classes;
  float* softmax;     ///< (samples, positions, classes); may be `logits`
  Overlap* overlaps;  ///< (samples, slices, classes)
  LossSums* sums;     ///< (samples, slices)

  THALWEG_HOST_DEVICE void position(std::int64_t row, double* mine) const {
    const float* x = logits + row * classes;
    float* y = softmax + row * classes;
    int best = 0;
    for (int c = 1; c < classes; ++c)
      best = x[c] > x[best] ? c : best;
    const float largest = x[best];
    float sum = 0;
    for (int c = 0; c < classes; ++c)
      sum += y[c] = std::exp(x[c] - largest);
    for (int c = 0; c < classes; ++c)
      y[c] /= sum;
    if (labels[row] != no_label) count_label(best, labels[row], 0, true, mine);
  }

  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t number) const {
    const std::int64_t sample = number / slices, first = number % slices * slice;
    const std::int64_t end = first + slice < positions ? first + slice : positions;
    const std::int64_t before = sample * positions;
    double mine[1 + max_sums] = {};
    const bool counts = sample < key->samples;
    for (std::int64_t p = first + block.rank(); counts && p < end; p += block.size())
      position(before + p, mine);
    write_sums(block, mine, sums + number);
    if (!counts) return;
    for (int c = 0; c < classes; ++c) {
      Overlap own{};
      for (std::int64_t p = first + block.rank(); p < end; p += block.size()) {
        const int label = labels[before + p];
        if (label == no_label) continue;
        const float y = softmax[(before + p) * classes + c];
        own.predicted += y;
        own.both += label == c ? y : 0;
        own.labelled += label == c ? 1.0f : 0.0f;
      }
      const Overlap all{block.sum(own.both), block.sum(own.predicted), block.sum(own.labelled)};
      if (block.rank() == 0) overlaps[number * classes + c] = all;
    }
  }
};

struct Quotients {
  const Overlap* overlaps;
  const ShardKey* key;
  std::int64_t slices;
  int classes;
  float epsilon;
  ClassGradients* gradients;  ///< (samples, classes)
  LossSums* sums;             ///< (samples)
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t sample) const {
    double mine[1 + max_sums] = {};
    const bool counts = sample < key->samples;
    if (block.rank() == 0 && counts) mine[0] = 1;
    for (int c = block.rank(); counts && c < classes; c += block.size()) {
      double both = 0, predicted = 0, labelled = 0;
      for (std::int64_t s = 0; s < slices; ++s) {
        const Overlap& o = overlaps[(sample * slices + s) * classes + c];
        both += static_cast<double>(o.both);
        predicted += static_cast<double>(o.predicted);
        labelled += static_cast<double>(o.labelled);
      }
      const double e = static_cast<double>(epsilon);
      const double top = 2 * both + e, bottom = predicted + labelled + e;
      mine[0] -= top / bottom / classes;
      gradients[sample * classes + c] = {
          static_cast<float>(-(2 * bottom - top) / (bottom * bottom) / classes),
          static_cast<float>(top / (bottom * bottom) / classes)};
    }
    write_sums(block, mine, sums + sample);
  }
};

struct DiceGradient {
  const std::int32_t* labels;
  const ClassGradients* gradients;
  const ShardKey* key;
  std::int64_t positions;
  int classes;
  float* dx;  ///< the softmax, overwritten
  THALWEG_HOST_DEVICE void operator()(std::int64_t row) const {
    const std::int64_t sample = row / positions;
    const int label = sample < key->samples ? labels[row] : no_label;
    const ClassGradients* of = gradients + sample * classes;
    float* y = dx + row * classes;
    float mean = 0;
    for (int c = 0; label != no_label && c < classes; ++c)
      mean += y[c] * (c == label ? of[c].hit : of[c].miss);
    for (int c = 0; c < classes; ++c)
      y[c] = label == no_label ? 0
                               : key->scale * y[c] * ((c == label ? of[c].hit : of[c].miss) - mean);
  }
};

}  // namespace

TensorId dice(Builder& b, TensorId output) {
  const LossPlan& plan = b.loss();
  const std::int64_t samples = b.samples(), positions = plan.positions;
  const int classes = plan.data.classes;
  const auto epsilon = static_cast<float>(plan.options_as<DiceOptions>().epsilon);
  const Slices slices = slices_of(positions, 512);
  const LabelTensors labels = add_labels(b, output, false);
  const TensorId given = b.labels(), result = b.result(), gradient = b.loss_gradient(output);
  const std::int64_t parts = samples * slices.count;
  const TensorId overlaps = b.scratch(parts * classes, sizeof(Overlap));
  const TensorId gradients = b.scratch(samples * classes, sizeof(ClassGradients));
  const TensorId sums = b.scratch(parts + samples, sizeof(LossSums));
  for (const bool training : {true, false}) {
    const TensorId softmax = training ? gradient : b.like(output);
    b.loss_kernel(
        {output, softmax, overlaps, gradients, sums, labels.drawn}, training,
        [=](const Frame& frame) {
          const std::int32_t* wanted = labels_of(frame, labels, given, training);
          auto* const to = frame.as<LossSums>(sums);
          gpu::for_each_row(frame.stream, parts, 128,
                            Overlaps{frame.floats(output), wanted, frame.key, positions,
                                     slices.size, slices.count, classes, frame.floats(softmax),
                                     frame.as<Overlap>(overlaps), to});
          gpu::for_each_row(frame.stream, samples, 32,
                            Quotients{frame.as<Overlap>(overlaps), frame.key, slices.count, classes,
                                      epsilon, frame.as<ClassGradients>(gradients), to + parts});
          add_up_loss(frame, sums, parts + samples, result);
          if (training)
            gpu::for_each(frame.stream, samples * positions,
                          DiceGradient{wanted, frame.as<ClassGradients>(gradients), frame.key,
                                       positions, classes, frame.floats(softmax)});
        });
  }
  return gradient;
}

}  // namespace thalweg::engine::cuda
