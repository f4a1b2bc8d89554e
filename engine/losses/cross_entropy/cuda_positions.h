// Cross-entropy of one position: what functors and kernels of CUDA's own share. Only
// cuda_kernels.cpp and tests include it.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "engine/losses/cross_entropy/cuda_kernels.h"
#include "engine/losses/cuda_labels.h"

namespace thalweg::engine::cuda {

/// What a pass over the logits of a position finds.
struct Found {
  float largest, sum;  ///< sum of exp(x - largest)
  float weighted;      ///< sum of weight (x - x of the label), where labels are smoothed
  int best, above;
};

/// What is wanted of a position.
struct Wanted {
  int label, label_b;          ///< no_label: the position does not count
  float other;                 ///< label_b's share
  float of_label, of_label_b;  ///< their logits
};

/// `width` classes are taken at once; L: the type of the logits, G: of the gradients. A group is a
/// thread or several.
template <int width, class L, class G>
struct Positions {
  const L* logits;
  const std::int32_t* labels;
  const std::int32_t* labels_b;  ///< null: samples are not blended
  const float* shares_b;
  const float* shares;   ///< null: all 1
  const float* weights;  ///< of the classes; null: all 1
  const ShardKey* key;
  std::int64_t positions;  ///< of a sample
  int classes;
  CrossEntropyShape options;
  G* gradient;  ///< null: none; may be `logits`

  using Logits = gpu::Pack<L, width>;
  using Gradients = gpu::Pack<G, width>;

  THALWEG_HOST_DEVICE float weight(int c) const { return weights == nullptr ? 1 : weights[c]; }
  /// exp(x); of bf16 logits as exactly as these are worth on a GPU.
  THALWEG_HOST_DEVICE static float power(float x) {
#if defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<L, gpu::Bf16>) {
      float y;  // 2^x, off by 2^-22 of it
      asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.44269504f));
      return y;
    }
#endif
    return std::exp(x);
  }
  /// What a thread has found that has seen nothing yet.
  THALWEG_HOST_DEVICE Found nothing() const {
    return {-3.402823466e38f, 0, 0, classes, 0};
  }

  THALWEG_HOST_DEVICE Wanted wanted(std::int64_t row) const {
    const std::int64_t sample = row / positions;
    const L* const x = logits + row * classes;
    Wanted w{sample < key->samples ? labels[row] : no_label, no_label, 0, 0, 0};
    if (w.label == no_label) return w;
    w.label_b = labels_b == nullptr ? w.label : labels_b[row];
    w.other = labels_b == nullptr ? 0 : shares_b[sample];
    w.of_label = gpu::load(x[w.label]);
    w.of_label_b = gpu::load(x[w.label_b]);
    return w;
  }

  /// Adds the loss and counts to `mine` of the group's first thread, and sets the gradient.
  template <class Group>
  THALWEG_HOST_DEVICE void finish(const Group& group, std::int64_t row, const Wanted& w,
                                  const Found& found, double* mine) const {
    const float at_label = weight(w.label) * options.kept * (1 - w.other);
    const float at_label_b = weight(w.label_b) * options.kept * w.other;
    float all = at_label + at_label_b;
    float expected =
        at_label * (w.of_label - found.largest) + at_label_b * (w.of_label_b - found.largest);
    if (options.spread > 0) {
      all += options.spread * options.weight_sum;
      expected +=
          options.spread * (found.weighted + options.weight_sum * (w.of_label - found.largest));
    }
    const float share = shares == nullptr ? 1 : shares[row / positions];
    if (group.rank() == 0) {
      const float loss = all * std::log(found.sum) - expected;
      mine[0] += static_cast<double>(share * loss);
      mine[1 + position_loss] += static_cast<double>(loss);
      const bool known = found.sum == found.sum;
      count_label(known ? found.best : no_label, w.label, found.above, options.images, mine);
    }
    const float scale = key->scale * share, factor = scale * all / found.sum;
    set_gradients(group, row, [&](int c, float logit) {
      float wanted = options.spread > 0 ? options.spread * weight(c) : 0;
      if (c == w.label) wanted += at_label;
      if (c == w.label_b) wanted += at_label_b;
      return factor * power(logit - found.largest) - scale * wanted;
    });
  }
  /// Of a position that does not count.
  template <class Group>
  THALWEG_HOST_DEVICE void leave_out(const Group& group, std::int64_t row) const {
    set_gradients(group, row, [](int, float) { return 0.0f; });
  }

 private:
  /// Of every class value(class, logit). A logit is read before its gradient is written.
  template <class Group, class Value>
  THALWEG_HOST_DEVICE void set_gradients(const Group& group, std::int64_t row,
                                         const Value& value) const {
    if (gradient == nullptr) return;
    const auto* from = reinterpret_cast<const Logits*>(logits + row * classes);
    auto* to = reinterpret_cast<Gradients*>(gradient + row * classes);
    for (int p = group.rank(); p < classes / width; p += group.size()) {
      const Logits in = from[p];
      Gradients out;
      for (int k = 0; k < width; ++k)
        out.at[k] = gpu::store<G>(value(p * width + k, gpu::load(in.at[k])));
      to[p] = out;
    }
  }
};

}  // namespace thalweg::engine::cuda
