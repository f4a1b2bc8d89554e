// LSTMs by plain loops (Hochreiter and Schmidhuber 1997, Gers et al. 2000), and their gradients
// through all positions.
#include <cmath>
#include <utility>
#include <vector>

#include "engine/gpu/names.h"
#include "tests/support/emulated_gpu/library.h"

namespace thalweg::engine::gpu {
namespace {

using Floats = std::vector<float>;
using Pointers = std::vector<void*>;

/// A layer's part of what training keeps. `gates` (rows, 4 width) after their sigmoids and tanh; c
/// and h (rows, width). Way 1 is there for what ways ask of those that use them: it has another
/// order, so that backward must know which one training has taken.
struct Kept {
  Kept(const Recurrence& r, int way, void* kept, int layer) {
    const std::int64_t cells = r.samples * r.positions * r.width;
    auto* const first = static_cast<float*>(kept) + 6 * cells * layer;
    gates = way == 0 ? first : first + 2 * cells;
    c = way == 0 ? first + 4 * cells : first;
    h = c + cells;
  }
  static std::size_t bytes(const Recurrence& r) {
    return sizeof(float) *
           static_cast<std::size_t>(6 * r.samples * r.positions * r.width * r.layers);
  }
  float *gates, *c, *h;
};

/// As products read it.
Floats read(const Recurrence& r, const void* from, std::int64_t count) {
  Floats values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] = rounded_for(r.products, load_at(r.type, from, i));
  return values;
}
Floats read(const Recurrence& r, const float* from, std::int64_t count) {
  Floats values(from, from + count);
  for (float& value : values)
    value = rounded_for(r.products, value);
  return values;
}

/// What one layer is run with: `weights` points to its four tensors.
struct Layer {
  const Recurrence& r;
  int number;
  void* const* weights;

  std::int64_t inputs() const { return number == 0 ? r.features : r.width; }
  std::int64_t rows() const { return r.samples * r.positions; }
  std::int64_t gates() const { return 4 * r.width; }
  float bias(std::int64_t j) const {
    return load_at(r.type, weights[2], j) + load_at(r.type, weights[3], j);
  }
};

float sigmoid(float x) {
  return 1 / (1 + std::exp(-x));
}

void forward(const Layer& layer, const Floats& x, const Kept& kept) {
  const Recurrence& r = layer.r;
  const std::int64_t w = r.width, gates = layer.gates();
  const Floats weight_ih = read(r, layer.weights[0], gates * layer.inputs());
  const Floats weight_hh = read(r, layer.weights[1], gates * w);
  emulated_multiply(layer.rows(), gates, layer.inputs(), {x.data(), layer.inputs()},
                    {weight_ih.data(), layer.inputs(), true}, {kept.gates, gates}, false);
  Floats h(static_cast<std::size_t>(r.samples * w)), sums(4 * h.size());
  for (std::int64_t t = 0; t < r.positions; ++t) {
    emulated_multiply(r.samples, gates, w, {h.data(), w}, {weight_hh.data(), w, true},
                      {sums.data(), gates}, false);
    for (std::int64_t cell = 0; cell < r.samples * w; ++cell) {
      const std::int64_t n = cell / w, j = cell % w, at = (n * r.positions + t) * w + j;
      float* const z = kept.gates + (n * r.positions + t) * gates + j;
      for (int k = 0; k < 4; ++k) {
        const std::int64_t column = k * w + j;
        const float sum =
            z[k * w] + sums[static_cast<std::size_t>(n * gates + column)] + layer.bias(column);
        z[k * w] = k == 2 ? std::tanh(sum) : sigmoid(sum);
      }
      kept.c[at] = (t > 0 ? z[w] * kept.c[at - w] : 0) + z[0] * z[2 * w];
      const float out = z[3 * w] * std::tanh(kept.c[at]);
      kept.h[at] = r.type == Type::f32 ? out : load(store<Bf16>(out));
      h[static_cast<std::size_t>(cell)] = rounded_for(r.products, kept.h[at]);
    }
  }
}

/// The gates become the slopes of their sums; `dy` is that of the layer's h.
void slopes(const Layer& layer, const Kept& kept, const Floats& dy) {
  const Recurrence& r = layer.r;
  const std::int64_t w = r.width, gates = layer.gates();
  const Floats weight_hh = read(r, layer.weights[1], gates * w);
  Floats dh(static_cast<std::size_t>(r.samples * w)), dc(dh.size()), dz(4 * dh.size());
  for (std::int64_t t = r.positions; t-- > 0;) {
    for (std::int64_t cell = 0; cell < r.samples * w; ++cell) {
      const std::int64_t n = cell / w, j = cell % w, at = (n * r.positions + t) * w + j;
      const auto here = static_cast<std::size_t>(cell);
      float* const z = kept.gates + (n * r.positions + t) * gates + j;
      const float i = z[0], f = z[w], g = z[2 * w], o = z[3 * w], level = std::tanh(kept.c[at]);
      const float slope = dh[here] + dy[static_cast<std::size_t>(at)];
      const float d = dc[here] + slope * o * (1 - level * level);
      z[0] = d * g * i * (1 - i);
      z[w] = t > 0 ? d * kept.c[at - w] * f * (1 - f) : 0;
      z[2 * w] = d * i * (1 - g * g);
      z[3 * w] = slope * level * o * (1 - o);
      dc[here] = d * f;
      for (int k = 0; k < 4; ++k)
        dz[static_cast<std::size_t>(n * gates + k * w + j)] = rounded_for(r.products, z[k * w]);
    }
    emulated_multiply(r.samples, w, gates, {dz.data(), gates}, {weight_hh.data(), w},
                      {dh.data(), w}, false);
  }
}

/// Gradients of the layer's weights and of its input.
Floats gradients(const Layer& layer, const Kept& kept, const Floats& x, void* const* into) {
  const Recurrence& r = layer.r;
  const std::int64_t w = r.width, gates = layer.gates(), rows = layer.rows();
  const Floats dz = read(r, kept.gates, rows * gates);
  Floats before = read(r, kept.h, rows * w);  // h at the position before
  for (std::int64_t row = rows; row-- > 0;)
    for (std::int64_t j = 0; j < w; ++j)
      before[static_cast<std::size_t>(row * w + j)] =
          row % r.positions > 0 ? before[static_cast<std::size_t>((row - 1) * w + j)] : 0;
  emulated_multiply(gates, layer.inputs(), rows, {dz.data(), gates, true},
                    {x.data(), layer.inputs()}, {static_cast<float*>(into[0]), layer.inputs()},
                    false);
  emulated_multiply(gates, w, rows, {dz.data(), gates, true}, {before.data(), w},
                    {static_cast<float*>(into[1]), w}, false);
  for (std::int64_t j = 0; j < gates; ++j) {
    float sum = 0;
    for (std::int64_t row = 0; row < rows; ++row)
      sum += kept.gates[row * gates + j];
    static_cast<float*>(into[2])[j] = static_cast<float*>(into[3])[j] = sum;
  }
  const Floats weight_ih = read(r, layer.weights[0], gates * layer.inputs());
  Floats dx(x.size());
  emulated_multiply(rows, layer.inputs(), gates, {dz.data(), gates},
                    {weight_ih.data(), layer.inputs()}, {dx.data(), layer.inputs()}, false);
  return dx;
}

void train(const Recurrence& r, int way, const Pointers& t, std::size_t first_weight, void* kept) {
  Floats x = read(r, t[0], r.samples * r.positions * r.features);
  const std::int64_t count = r.samples * r.positions * r.width;
  for (int l = 0; l < r.layers; ++l) {
    const Kept here(r, way, kept, l);
    forward({r, l, t.data() + first_weight + 4 * static_cast<std::size_t>(l)}, x, here);
    x = read(r, here.h, count);
  }
  const Kept last(r, way, kept, r.layers - 1);
  for (std::int64_t i = 0; i < count; ++i)
    store_at(r.type, t[1], i, last.h[i]);
}

void go_back(const Recurrence& r, int way, const Pointers& t) {
  const std::int64_t count = r.samples * r.positions * r.width;
  const auto weights = 4 * static_cast<std::size_t>(r.layers);
  Floats dy(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    dy[static_cast<std::size_t>(i)] = load_at(r.type, t[2], i);
  for (int l = r.layers; l-- > 0;) {
    const auto first = 4 * static_cast<std::size_t>(l);
    const Layer layer{r, l, t.data() + 5 + first};
    const Kept kept(r, way, t[3], l);
    const Floats x = l > 0 ? read(r, Kept(r, way, t[3], l - 1).h, count)
                           : read(r, t[0], r.samples * r.positions * r.features);
    slopes(layer, kept, dy);
    dy = gradients(layer, kept, x, t.data() + 5 + weights + first);
  }
  for (std::size_t i = 0; i < dy.size(); ++i)
    store_at(r.type, t[4], static_cast<std::int64_t>(i), dy[i]);
}

class Forward final : public Call {
 public:
  Forward(const Recurrence& shape, bool training) : r_(shape), training_(training) {}
  std::string name() const override {
    return name_of(r_) + (training_ ? " training" : " evaluation");
  }
  std::string key() const override {
    return key_of(r_) + (training_ ? " training" : " evaluation");
  }
  int ways() const override { return 2; }
  std::string way_name(int way) const override {
    return way == 0 ? "gates first" : way == 1 ? "gates last" : "";
  }
  std::size_t workspace(int) const override { return training_ ? 0 : Kept::bytes(r_); }
  void run(Queue& queue, std::span<void* const> tensors, void* workspace) const override {
    if (!training_ && workspace == nullptr) throw GpuError(name() + " runs without its workspace");
    queue.on_host([=, r = r_, way = chosen(), training = training_,
                   t = Pointers(tensors.begin(), tensors.end())] {
      train(r, way, t, training ? 3 : 2, training ? t[2] : workspace);
    });
  }

 private:
  Recurrence r_;
  bool training_;
};

class Backward final : public Call {
 public:
  Backward(const Recurrence& shape, std::shared_ptr<const Call> training)
      : r_(shape), training_(std::move(training)) {}
  std::string name() const override { return name_of(r_) + " backward"; }
  void run(Queue& queue, std::span<void* const> tensors, void*) const override {
    queue.on_host([r = r_, way = training_->chosen(),
                   t = Pointers(tensors.begin(), tensors.end())] { go_back(r, way, t); });
  }

 private:
  Recurrence r_;
  std::shared_ptr<const Call> training_;
};

}  // namespace

RecurrenceCalls emulated_recurrence(const Recurrence& shape) {
  RecurrenceCalls calls;
  calls.training = std::make_shared<Forward>(shape, true);
  calls.evaluation = std::make_shared<Forward>(shape, false);
  calls.backward = std::make_shared<Backward>(shape, calls.training);
  calls.kept = Kept::bytes(shape);
  return calls;
}

}  // namespace thalweg::engine::gpu
