// Attention by plain loops, and its gradients as in Dao et al., FlashAttention (2022), appendix B:
// the probabilities are made anew from `stats`, the logarithm of each row's sum of exponentials.
#include <cmath>
#include <limits>
#include <vector>

#include "engine/gpu/names.h"
#include "tests/support/emulated_gpu/library.h"

namespace thalweg::engine::gpu {
namespace {

using Strides = FusedAttention::Strides;

/// Rows of one head of one sample, as floats and back.
std::vector<float> read(const void* from, const Strides& s, std::int64_t sample, std::int64_t head,
                        std::int64_t positions, std::int64_t width) {
  std::vector<float> result(static_cast<std::size_t>(positions * width));
  const auto* const first = static_cast<const Bf16*>(from) + sample * s.sample + head * s.head;
  for (std::int64_t i = 0; i < positions; ++i)
    for (std::int64_t j = 0; j < width; ++j)
      result[static_cast<std::size_t>(i * width + j)] = load(first[i * s.position + j]);
  return result;
}
void write(const std::vector<float>& values, void* to, const Strides& s, std::int64_t sample,
           std::int64_t head, std::int64_t positions, std::int64_t width) {
  auto* const first = static_cast<Bf16*>(to) + sample * s.sample + head * s.head;
  for (std::int64_t i = 0; i < positions; ++i)
    for (std::int64_t j = 0; j < width; ++j)
      first[i * s.position + j] = store<Bf16>(values[static_cast<std::size_t>(i * width + j)]);
}

/// scale Q K^T, minus infinity where a query may not look.
std::vector<float> scores(const FusedAttention& f, const std::vector<float>& q,
                          const std::vector<float>& k) {
  std::vector<float> s(static_cast<std::size_t>(f.queries * f.keys));
  emulated_multiply(f.queries, f.keys, f.width, {q.data(), f.width}, {k.data(), f.width, true},
                    {s.data(), f.keys}, false);
  for (std::int64_t i = 0; i < f.queries; ++i)
    for (std::int64_t j = 0; j < f.keys; ++j) {
      float& at = s[static_cast<std::size_t>(i * f.keys + j)];
      at = f.causal && j > i ? -std::numeric_limits<float>::infinity() : f.scale * at;
    }
  return s;
}

void forward(const FusedAttention& f, std::int64_t sample, std::int64_t head,
             std::span<void* const> t, float* stats) {
  const auto q = read(t[0], f.q, sample, head, f.queries, f.width);
  const auto k = read(t[1], f.k, sample, head, f.keys, f.width);
  const auto v = read(t[2], f.v, sample, head, f.keys, f.width);
  std::vector<float> p = scores(f, q, k);
  for (std::int64_t i = 0; i < f.queries; ++i) {
    float* const row = p.data() + i * f.keys;
    float largest = row[0], sum = 0;
    for (std::int64_t j = 1; j < f.keys; ++j)
      largest = std::max(largest, row[j]);
    for (std::int64_t j = 0; j < f.keys; ++j)
      sum += row[j] = std::exp(row[j] - largest);
    for (std::int64_t j = 0; j < f.keys; ++j)
      row[j] /= sum;
    stats[i] = largest + std::log(sum);
  }
  std::vector<float> o(q.size());
  emulated_multiply(f.queries, f.width, f.keys, {p.data(), f.keys}, {v.data(), f.width},
                    {o.data(), f.width}, false);
  write(o, t[3], f.o, sample, head, f.queries, f.width);
}

void backward(const FusedAttention& f, std::int64_t sample, std::int64_t head,
              std::span<void* const> t, const float* stats) {
  const auto q = read(t[0], f.q, sample, head, f.queries, f.width);
  const auto k = read(t[1], f.k, sample, head, f.keys, f.width);
  const auto v = read(t[2], f.v, sample, head, f.keys, f.width);
  const auto o = read(t[3], f.o, sample, head, f.queries, f.width);
  const auto d_o = read(t[4], f.o, sample, head, f.queries, f.width);
  std::vector<float> p = scores(f, q, k), ds(p.size());
  emulated_multiply(f.queries, f.keys, f.width, {d_o.data(), f.width}, {v.data(), f.width, true},
                    {ds.data(), f.keys}, false);
  for (std::int64_t i = 0; i < f.queries; ++i) {
    float along = 0;  // of the slopes and the outputs of this query
    for (std::int64_t j = i * f.width; j < (i + 1) * f.width; ++j)
      along += o[static_cast<std::size_t>(j)] * d_o[static_cast<std::size_t>(j)];
    for (std::int64_t j = i * f.keys; j < (i + 1) * f.keys; ++j) {
      float& probability = p[static_cast<std::size_t>(j)];
      float& slope = ds[static_cast<std::size_t>(j)];
      probability = std::exp(probability - stats[i]);
      slope = f.scale * probability * (slope - along);
    }
  }
  std::vector<float> dq(q.size()), dk(k.size()), dv(v.size());
  emulated_multiply(f.queries, f.width, f.keys, {ds.data(), f.keys}, {k.data(), f.width},
                    {dq.data(), f.width}, false);
  emulated_multiply(f.keys, f.width, f.queries, {ds.data(), f.keys, true}, {q.data(), f.width},
                    {dk.data(), f.width}, false);
  emulated_multiply(f.keys, f.width, f.queries, {p.data(), f.keys, true}, {d_o.data(), f.width},
                    {dv.data(), f.width}, false);
  write(dq, t[6], f.q, sample, head, f.queries, f.width);
  write(dk, t[7], f.k, sample, head, f.keys, f.width);
  write(dv, t[8], f.v, sample, head, f.keys, f.width);
}

class EmulatedAttention final : public Call {
 public:
  explicit EmulatedAttention(const FusedAttention& shape) : f_(shape) {}
  std::string name() const override { return name_of(f_); }
  std::string key() const override { return key_of(f_); }
  void run(Queue& queue, std::span<void* const> tensors, void*) const override {
    queue.on_host([f = f_, t = std::vector<void*>(tensors.begin(), tensors.end())] {
      auto* const stats = static_cast<float*>(t[f.backward ? 5 : 4]);
      for (std::int64_t sample = 0; sample < f.samples; ++sample)
        for (std::int64_t head = 0; head < f.heads; ++head) {
          float* const rows = stats + (sample * f.heads + head) * f.queries;
          if (f.backward) {
            backward(f, sample, head, t, rows);
          } else {
            forward(f, sample, head, t, rows);
          }
        }
    });
  }

 private:
  FusedAttention f_;
};

}  // namespace

std::unique_ptr<Call> emulated_attention(const FusedAttention& shape) {
  return std::make_unique<EmulatedAttention>(shape);
}

}  // namespace thalweg::engine::gpu
