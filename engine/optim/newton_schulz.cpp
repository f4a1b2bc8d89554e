#include "engine/optim/newton_schulz.h"

#include <algorithm>
#include <array>

#include "engine/gpu/library.h"
#include "engine/optim/passes.h"

namespace thalweg::engine::optim {
namespace {

/// x = factor u, in the plain order.
struct Newton_schulzGather {
  const GpuMatrix* matrices;
  const float* u;
  const float* factors;
  std::int64_t count;  ///< of a matrix
  float* x;
  THALWEG_HOST_DEVICE void operator()(std::int64_t at) const {
    const GpuMatrix& m = matrices[at / count];
    const std::int64_t i = at % count;
    x[at] = factors[m.parameter] * u[m.offset + (m.places != nullptr ? m.places[i] : i)];
  }
};

/// b = of_a a + of_one I
struct Polynomial {
  const float* a;
  float of_a, of_one;
  std::int64_t n;
  float* b;
  THALWEG_HOST_DEVICE void operator()(std::int64_t at) const {
    const std::int64_t i = at % (n * n);
    b[at] = of_a * a[at] + (i / n == i % n ? of_one : 0.0f);
  }
};

struct Apply {
  const GpuMatrix* matrices;
  GradientNotes notes;
  const float* x;
  std::int64_t count;
  StepFactors<double> lr;
  double decay;
  float* w;
  THALWEG_HOST_DEVICE void operator()(std::int64_t at) const {
    const GpuMatrix& m = matrices[at / count];
    if (!takes_part(notes, m.parameter)) return;
    const std::int64_t i = at % count;
    float& wi = w[m.offset + (m.places != nullptr ? m.places[i] : i)];
    const float keep = m.decays ? static_cast<float>(1 - *lr * decay) : 1.0f;
    wi = keep * wi - static_cast<float>(*lr * m.size) * x[at];
  }
};

constexpr std::size_t kAlign = 64;  // floats

}  // namespace

NewtonSchulz::NewtonSchulz(const GpuPlace& place, const Layout<float>* layout,
                           const MatrixShape& shape, int iterations,
                           const std::vector<GpuMatrix>& members)
    : shape_(shape),
      members_(members.size()),
      n_(std::min(shape.rows, shape.columns)),
      iterations_(iterations) {
  std::vector<GpuMatrix> table = members;
  for (GpuMatrix& m : table) {
    const ParameterInfo& info = place.infos[static_cast<std::size_t>(m.parameter)];
    if (layout == nullptr) continue;
    const std::vector<std::int32_t> places = places_of(*layout, m.parameter, info.count, shape);
    if (places.empty()) continue;
    places_.emplace_back(place.gpu, places.size() * sizeof places[0], "the order of a matrix");
    place.gpu.copy(places_.back().data(), places.data(), places_.back().bytes());
    m.places = static_cast<const std::int32_t*>(places_.back().data());
  }
  table_ = gpu::Memory(place.gpu, table.size() * sizeof table[0], "the optimizer's matrices");
  place.gpu.copy(table_.data(), table.data(), table_.bytes());

  const auto rows = static_cast<std::int64_t>(shape.rows);
  const auto columns = static_cast<std::int64_t>(shape.columns);
  const auto n = static_cast<std::int64_t>(n_);
  const bool wide = rows <= columns;
  gpu::Product any;
  any.products = place.products;
  any.batch = static_cast<int>(members_);
  // A = X X^T, or X^T X of a matrix with more rows than columns.
  gpu::Product square = any;
  square.m = square.n = n;
  square.k = std::max(rows, columns);
  square.transpose_a = !wide;
  square.transpose_b = wide;
  square.step_a = square.step_b = rows * columns;
  square.step_c = n * n;
  // B = 2.0315 A A + B
  gpu::Product quartic = any;
  quartic.m = quartic.n = quartic.k = n;
  quartic.step_a = quartic.step_b = quartic.step_c = n * n;
  quartic.alpha = 2.0315f;
  quartic.accumulate = true;
  // B X, or X B
  gpu::Product apply = any;
  apply.m = rows;
  apply.n = columns;
  apply.k = n;
  apply.step_a = wide ? n * n : rows * columns;
  apply.step_b = wide ? rows * columns : n * n;
  apply.step_c = rows * columns;
  const std::unique_ptr<gpu::Stream> stream = place.gpu.stream();
  square_ = stream->library().product(square);
  quartic_ = stream->library().product(quartic);
  apply_ = stream->library().product(apply);
  for (const gpu::Call* call : {square_.get(), quartic_.get(), apply_.get()})
    workspace_ = std::max(workspace_, call->workspace(call->chosen()));
}

std::size_t NewtonSchulz::scratch_bytes() const {
  return (2 * (floats() + kAlign) + 2 * (squares() + kAlign)) * sizeof(float) + workspace_;
}

void NewtonSchulz::step(gpu::Stream& stream, const StepFactors<double>& lr, double decay,
                        const float* u, const float* factors, const GradientNotes& notes, float* w,
                        void* scratch) const {
  const auto aligned = [](std::size_t n) { return (n + kAlign - 1) / kAlign * kAlign; };
  float* x = static_cast<float*>(scratch);
  float* y = x + aligned(floats());
  float* const a = y + aligned(floats());
  float* const b = a + aligned(squares());
  void* const workspace = b + aligned(squares());
  const auto* const matrices = static_cast<const GpuMatrix*>(table_.data());
  const auto all = static_cast<std::int64_t>(floats());
  const auto count = static_cast<std::int64_t>(shape_.count());
  const bool wide = shape_.rows <= shape_.columns;
  gpu::for_each(stream, all, Newton_schulzGather{matrices, u, factors, count, x});
  for (int i = 0; i < iterations_; ++i) {
    square_->run(stream, std::array<void*, 4>{x, x, a, nullptr}, workspace);
    // 3.4445 X + (-4.7750 A + 2.0315 A A) X = (3.4445 I - 4.7750 A + 2.0315 A A) X
    gpu::for_each(stream, static_cast<std::int64_t>(squares()),
                  Polynomial{a, -4.7750f, 3.4445f, static_cast<std::int64_t>(n_), b});
    quartic_->run(stream, std::array<void*, 4>{a, a, b, nullptr}, workspace);
    apply_->run(stream, std::array<void*, 4>{wide ? b : x, wide ? x : b, y, nullptr}, workspace);
    std::swap(x, y);
  }
  gpu::for_each(stream, all, Apply{matrices, notes, x, count, lr, decay, w});
}

std::vector<std::int32_t> places_of(const Layout<float>& layout, int parameter, std::size_t count,
                                    const MatrixShape& shape) {
  // Numbers up to 2^31 do not fit a float: their two halves do. 0 is padding.
  constexpr std::size_t half = 1 << 16;
  const std::size_t elements = shape.count();
  std::vector<float> plain(elements), low(count), high(count);
  for (std::size_t i = 0; i < elements; ++i)
    plain[i] = static_cast<float>(i % half + 1);
  layout.from_plain(parameter, plain.data(), low.data());
  for (std::size_t i = 0; i < elements; ++i)
    plain[i] = static_cast<float>(i / half);
  layout.from_plain(parameter, plain.data(), high.data());
  std::vector<std::int32_t> places(elements);
  for (std::size_t at = 0; at < count; ++at)
    if (low[at] > 0)
      places[static_cast<std::size_t>(high[at]) * half + static_cast<std::size_t>(low[at]) - 1] =
          static_cast<std::int32_t>(at);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::size_t row = i / shape.columns,
                      first = static_cast<std::size_t>(places[i % shape.columns]);
    if (first >= shape.columns ||
        static_cast<std::size_t>(places[i]) != row * shape.columns + first)
      return places;
  }
  return {};
}

}  // namespace thalweg::engine::optim
