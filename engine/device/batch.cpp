// Mistakes in the data are found here, by every device in the same words, before they index memory.
#include "engine/device/batch.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "engine/device/labels.h"
#include "engine/device/layer.h"
#include "engine/tensor/random.h"
#include "jobspec/value.h"

namespace thalweg::engine {

void check_batch(const Batch& batch, int samples, bool training) {
  if (batch.samples == samples || (!training && batch.samples > 0 && batch.samples < samples))
    return;
  throw std::invalid_argument("a shard of " + std::to_string(batch.samples) + " samples where " +
                              (training ? "exactly " : "1 to ") + std::to_string(samples) +
                              " were expected");
}

void check_numbers(const LossPlan& loss, const Batch& batch, std::int64_t inputs, int vocabulary) {
  if (loss.kind->of_labels) for_each_label(loss, batch, [](const LabelAt&) {});
  for (std::int64_t i = 0; vocabulary > 0 && i < batch.samples * inputs; ++i)
    token_at(batch.inputs, i, vocabulary);
}

template <class T>
void draw_labels(const LossPlan& loss, const T* outputs, const Batch& batch,
                 std::vector<std::int32_t>& labels) {
  if (!loss.kind->of_labels)
    throw std::invalid_argument("labels cannot be drawn from the model for loss " +
                                loss.kind->name + ": take an optimizer that does not need them");
  const auto samples = static_cast<std::size_t>(batch.samples);
  const auto positions = static_cast<std::size_t>(loss.positions);
  if (labels.size() < samples * positions) labels.resize(samples * positions);
  for (std::size_t row = 0; row < samples * positions; ++row) {
    if (batch.labels != nullptr && batch.labels[row] == no_label) {
      labels[row] = no_label;
      continue;
    }
    const T* logits = outputs + static_cast<std::int64_t>(row / positions) * elements(loss.output) +
                      static_cast<std::int64_t>(row % positions) * loss.position_step;
    const auto logit = [&](int c) { return static_cast<double>(logits[c * loss.class_step]); };
    const int classes = loss.data.classes;
    double largest = logit(0), sum = 0;
    for (int c = 1; c < classes; ++c)
      largest = std::max(largest, logit(c));
    for (int c = 0; c < classes; ++c)
      sum += std::exp(logit(c) - largest);
    const auto bits =
        philox(batch.seed, Stream::labels, batch.step, batch.first_sample * positions + row);
    double left = static_cast<double>(uniform01(bits[0])) * sum;
    int label = 0;
    while (label + 1 < classes) {
      left -= std::exp(logit(label) - largest);
      if (left < 0) break;
      ++label;
    }
    labels[row] = label;
  }
}
template void draw_labels(const LossPlan&, const float*, const Batch&, std::vector<std::int32_t>&);
template void draw_labels(const LossPlan&, const double*, const Batch&, std::vector<std::int32_t>&);

void refuse_token(double token, std::int64_t place, std::int64_t tokens) {
  throw std::invalid_argument("token " + jobspec::Value(token).to_text() + " at place " +
                              std::to_string(place) + " of the shard is not a number from 0 to " +
                              std::to_string(tokens - 1));
}

void refuse_label(std::int32_t label, int sample, int classes) {
  throw std::invalid_argument("label " + std::to_string(label) + " of sample " +
                              std::to_string(sample) + " is not a class from 0 to " +
                              std::to_string(classes - 1));
}

}  // namespace thalweg::engine
