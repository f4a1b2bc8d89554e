// lstm: of (positions, features), one position after another, from h = c = 0:
//   i, f, g, o = weight_ih x + bias_ih + weight_hh h + bias_hh, each `width` numbers;
//   c = sigmoid(f) c + sigmoid(i) tanh(g), h = sigmoid(o) tanh(c)
// (Hochreiter and Schmidhuber 1997, Gers et al. 2000; order and both biases as in PyTorch). Puts
// out h of every position, or of the last one.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void lstm_plan(LayerPlan& layer, const jobspec::Options& options) {
  if (layer.in.size() != 2)
    throw std::invalid_argument("expects (positions, features), got " + to_text(layer.in));
  const std::int64_t width = options.integer("width"), features = layer.in[1];
  layer.out = options.flag("last") ? Shape{width} : Shape{layer.in[0], width};
  layer.parameters = {{"weight_ih", {4 * width, features}, Init::scaled_normal, features},
                      {"weight_hh", {4 * width, width}, Init::scaled_normal, width},
                      {"bias_ih", {4 * width}, Init::zeros, 0, 1, true},
                      {"bias_hh", {4 * width}, Init::zeros, 0, 1, true}};
}

/// The gradient of h goes from each position to the one before it, whatever x is.
LayerFlops lstm_flops(const LayerPlan& layer) {
  const auto count = [&](int parameter) {
    return 2 * static_cast<double>(layer.in[0] * elements(layer.parameters[parameter].shape));
  };
  const double of_x = count(0), of_h = count(1);
  return {of_x + of_h, of_x + 2 * of_h, of_x};
}

/// What one sample goes through; position 0 is the start, position t + 1 follows input t.
template <class T>
struct Run {
  std::int64_t positions, features, width;
  std::vector<T> gates;  ///< (positions, 4 width): after sigmoid and tanh
  std::vector<T> c, h;   ///< (positions + 1, width)

  Run(const LayerPlan& layer, const Call<T>& call, const T* x)
      : positions(layer.in[0]),
        features(layer.in[1]),
        width(layer.out.back()),
        gates(static_cast<std::size_t>(positions * 4 * width)),
        c(static_cast<std::size_t>((positions + 1) * width)),
        h(c.size()) {
    for (std::int64_t t = 0; t < positions; ++t) {
      T* gate = gates.data() + t * 4 * width;
      for (std::int64_t j = 0; j < 4 * width; ++j) {
        T z = call.weights[2][j] + call.weights[3][j];
        for (std::int64_t k = 0; k < features; ++k)
          z += call.weights[0][j * features + k] * x[t * features + k];
        for (std::int64_t k = 0; k < width; ++k)
          z += call.weights[1][j * width + k] * h[at(t, k)];
        gate[j] = j / width == 2 ? std::tanh(z) : 1 / (1 + std::exp(-z));
      }
      for (std::int64_t j = 0; j < width; ++j) {
        c[at(t + 1, j)] = gate[width + j] * c[at(t, j)] + gate[j] * gate[2 * width + j];
        h[at(t + 1, j)] = gate[3 * width + j] * std::tanh(c[at(t + 1, j)]);
      }
    }
  }
  std::size_t at(std::int64_t position, std::int64_t j) const {
    return static_cast<std::size_t>(position * width + j);
  }
};

template <class T>
void lstm_forward(const LayerPlan& layer, const Call<T>& call) {
  for (int n = 0; n < call.samples(); ++n) {
    const Run<T> run(layer, call, call.x + n * elements(layer.in));
    std::copy(run.h.end() - elements(layer.out), run.h.end(), call.y + n * elements(layer.out));
  }
}

/// Gradients of the sums of position t from those of its h and c; dc becomes that of the position
/// before.
template <class T>
std::vector<T> gate_gradients(const Run<T>& run, std::int64_t t, const std::vector<T>& dh,
                              std::vector<T>& dc) {
  const std::int64_t width = run.width;
  const T* gate = run.gates.data() + t * 4 * width;
  std::vector<T> dz(static_cast<std::size_t>(4 * width));
  for (std::int64_t j = 0; j < width; ++j) {
    const T i = gate[j], f = gate[width + j], g = gate[2 * width + j], o = gate[3 * width + j];
    const T level = std::tanh(run.c[run.at(t + 1, j)]);
    T& dc_j = dc[static_cast<std::size_t>(j)];
    const T dh_j = dh[static_cast<std::size_t>(j)];
    dc_j += dh_j * o * (1 - level * level);
    dz[static_cast<std::size_t>(j)] = dc_j * g * i * (1 - i);
    dz[static_cast<std::size_t>(width + j)] = dc_j * run.c[run.at(t, j)] * f * (1 - f);
    dz[static_cast<std::size_t>(2 * width + j)] = dc_j * i * (1 - g * g);
    dz[static_cast<std::size_t>(3 * width + j)] = dh_j * level * o * (1 - o);
    dc_j *= f;
  }
  return dz;
}

template <class T>
void lstm_backward(const LayerPlan& layer, const Call<T>& call) {
  for (std::size_t p = 0; p < 4; ++p)
    std::fill_n(call.gradients[p], elements(layer.parameters[p].shape), T{0});
  if (call.dx != nullptr) std::fill_n(call.dx, call.samples() * elements(layer.in), T{0});
  const bool last = layer.out.size() == 1;
  for (int n = 0; n < call.samples(); ++n) {
    const T* x = call.x + n * elements(layer.in);
    const T* dy = call.dy + n * elements(layer.out);
    const Run<T> run(layer, call, x);
    std::vector<T> dh(static_cast<std::size_t>(run.width)), dc(dh.size());
    for (std::int64_t t = run.positions; t-- > 0;) {
      for (std::int64_t j = 0; j < run.width; ++j)
        if (!last || t + 1 == run.positions)
          dh[static_cast<std::size_t>(j)] += dy[(last ? 0 : t) * run.width + j];
      const std::vector<T> dz = gate_gradients(run, t, dh, dc);
      std::fill(dh.begin(), dh.end(), T{0});
      for (std::int64_t j = 0; j < 4 * run.width; ++j) {
        const T gradient = dz[static_cast<std::size_t>(j)];
        call.gradients[2][j] += gradient;
        call.gradients[3][j] += gradient;
        for (std::int64_t k = 0; k < run.features; ++k) {
          call.gradients[0][j * run.features + k] += gradient * x[t * run.features + k];
          if (call.dx != nullptr)
            call.dx[n * elements(layer.in) + t * run.features + k] +=
                gradient * call.weights[0][j * run.features + k];
        }
        for (std::int64_t k = 0; k < run.width; ++k) {
          call.gradients[1][j * run.width + k] += gradient * run.h[run.at(t, k)];
          dh[static_cast<std::size_t>(k)] += gradient * call.weights[1][j * run.width + k];
        }
      }
    }
  }
}

}  // namespace

const Layer lstm{lstm_plan,
                 {lstm_forward<float>, lstm_backward<float>},
                 {lstm_forward<double>, lstm_backward<double>},
                 lstm_flops};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind lstm() {
  return {.doc = "long short-term memory over positions",
          .options = {required("width", "output features"),
                      flag_option("last", false, "output of the last position only")},
          .reference = &reference::lstm,
          .stacks = true};
}

}  // namespace thalweg::engine::layers
