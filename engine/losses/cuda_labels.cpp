#include "engine/losses/cuda_labels.h"

#include <cmath>

#include "engine/tensor/random.h"

namespace thalweg::engine::cuda {
namespace {

/// draw_labels of engine/device/device.h, a block for each position: whole ranges of classes are
/// passed over, and one thread looks through the last one.
template <class L>
struct Draw {
  const L* logits;
  const std::int32_t* given;
  std::int32_t* drawn;
  const ShardKey* key;
  std::int64_t positions;
  int classes;
  THALWEG_HOST_DEVICE double power(const L* x, int c, float largest) const {
    return std::exp(static_cast<double>(gpu::load(x[c])) - static_cast<double>(largest));
  }
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t row) const {
    if (row / positions >= key->samples || given[row] == no_label) {
      if (block.rank() == 0) drawn[row] = no_label;
      return;
    }
    const L* x = logits + row * classes;
    float mine = gpu::load(x[0]);
    for (int c = block.rank(); c < classes; c += block.size())
      mine = gpu::load(x[c]) > mine ? gpu::load(x[c]) : mine;
    const float largest = block.max(mine);
    double part = 0;
    for (int c = block.rank(); c < classes; c += block.size())
      part += power(x, c, largest);
    const auto bits = philox(key->seed, Stream::labels, key->step,
                             key->first_sample * static_cast<std::uint64_t>(positions) +
                                 static_cast<std::uint64_t>(row));
    double left = static_cast<double>(uniform01(bits[0])) * block.sum(part);
    int first = 0;
    for (; first + block.size() < classes; first += block.size()) {
      const double range = block.sum(power(x, first + block.rank(), largest));
      if (left < range) break;
      left -= range;
    }
    if (block.rank() != 0) return;
    while (first + 1 < classes && (left -= power(x, first, largest)) >= 0)
      ++first;
    drawn[row] = first;
  }
};

struct Count {
  const std::int32_t* labels;
  std::int64_t positions, slice, slices;  ///< of a sample
  float* counts;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t number) const {
    const std::int64_t first = number % slices * slice;
    const std::int64_t end = first + slice < positions ? first + slice : positions;
    const std::int32_t* of_sample = labels + number / slices * positions;
    float mine = 0;  // exact below 2^24
    for (std::int64_t p = first + block.rank(); p < end; p += block.size())
      mine += of_sample[p] != no_label ? 1.0f : 0.0f;
    const float all = block.sum(mine);
    if (block.rank() == 0) counts[number] = all;
  }
};

struct Share {
  const float* counts;
  std::int64_t slices;
  float* shares;
  THALWEG_HOST_DEVICE void operator()(std::int64_t n) const {
    double all = 0;
    for (std::int64_t s = 0; s < slices; ++s)
      all += static_cast<double>(counts[n * slices + s]);
    shares[n] = static_cast<float>(1 / all);
  }
};

TensorId add_shares(Builder& b) {
  const std::int64_t samples = b.samples(), positions = b.loss().positions;
  const Slices slices = slices_of(positions, 8192);
  const TensorId counts = b.scratch(samples * slices.count, sizeof(float));
  const TensorId shares = b.scratch(samples, sizeof(float)), labels = b.labels();
  for (const bool training : {true, false})
    b.loss_kernel({counts, shares}, training, [=](const Frame& frame) {
      gpu::for_each_row(frame.stream, samples * slices.count, 256,
                        Count{frame.as<std::int32_t>(labels), positions, slices.size, slices.count,
                              frame.floats(counts)});
      gpu::for_each(frame.stream, samples,
                    Share{frame.floats(counts), slices.count, frame.floats(shares)});
    });
  return shares;
}

}  // namespace

LabelTensors add_labels(Builder& b, TensorId output, bool weigh) {
  LabelTensors tensors;
  const std::int64_t positions = b.loss().positions, rows = b.samples() * positions;
  const int classes = b.loss().data.classes;
  const Type type = b.desc(output).type;
  const TensorId drawn = b.scratch(rows, sizeof(std::int32_t)), labels = b.labels();
  b.loss_kernel({output, drawn}, true, [=](const Frame& frame) {
    if (!frame.draw_labels) return;
    gpu::with_type(type, [&](auto l) {
      using L = decltype(l);
      gpu::for_each_row(frame.stream, rows, classes > 512 ? 256 : 32,
                        Draw<L>{frame.as<L>(output), frame.as<std::int32_t>(labels),
                                frame.as<std::int32_t>(drawn), frame.key, positions, classes});
    });
  });
  tensors.drawn = drawn;
  // A drawn label counts where the given one does.
  if (weigh && positions > 1) tensors.shares = add_shares(b);
  return tensors;
}

}  // namespace thalweg::engine::cuda
