// gaussian-fields: periodic random fields with power spectrum P(k) ~ k^-slope exp(-(k
// smoothing)^2), scaled to a root mean square of `amplitude`; what is to be found is the spectrum.
// A stand-in for simulated matter distributions, of which one may make as many as one likes.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "engine/data/fourier.h"
#include "engine/data/header.h"
#include "engine/data/noise.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {
namespace {

struct Range {
  double low, high;
  double at(double share) const { return low + (high - low) * share; }
};
constexpr Range kSlope{0.5, 3.5};
constexpr Range kLogAmplitude{-0.7, 0.7};  // half to twice
constexpr Range kSmoothing{0.0, 1.5};      // in cells
constexpr int kParameters = 3;

struct Plan {
  std::size_t samples;
  std::vector<std::int64_t> shape;  ///< (c, h, w) or (c, d, h, w)
  int parameters;                   ///< how many of slope, amplitude, smoothing vary
  int classes;                      ///< of the slope; 0 = the parameters are real targets
  std::uint64_t seed;
};

SampleForm form_of(const Plan& p) {
  SampleForm form;
  form.input = p.shape;
  form.classes = p.classes;
  form.labels = p.classes > 0 ? 1 : 0;
  form.targets = p.classes > 0 ? 0 : p.parameters;
  return form;
}

class GaussianFields final : public Dataset {
 public:
  explicit GaussianFields(Plan plan)
      : Dataset(form_of(plan)),
        plan_(std::move(plan)),
        space_(plan_.shape.begin() + 1, plan_.shape.end()) {
    for (const std::int64_t n : space_)
      cells_ *= static_cast<std::size_t>(n);
    measure_waves();
  }
  std::size_t size() const override { return plan_.samples; }

  /// White noise of complex numbers, filtered: real and imaginary part of its transform are two
  /// independent real fields.
  void copy(std::size_t index, float* out) const override {
    const auto share = shares(index);
    const std::vector<double> filter = make_filter(
        kSlope.at(share[0]), std::exp(kLogAmplitude.at(share[1])), kSmoothing.at(share[2]));
    std::vector<std::complex<double>> field(cells_);
    for (std::int64_t c = 0; c < plan_.shape[0]; c += 2) {
      for (std::size_t i = 0; i < cells_; ++i) {
        const auto noise =
            two_bell_shaped(plan_.seed, 1 + static_cast<std::uint32_t>(c), index * cells_ + i);
        field[i] = {filter[i] * static_cast<double>(noise[0]),
                    filter[i] * static_cast<double>(noise[1])};
      }
      fourier(field, space_, true);
      for (std::size_t i = 0; i < cells_; ++i)
        out[i] = static_cast<float>(field[i].real());
      out += cells_;
      if (c + 1 == plan_.shape[0]) break;
      for (std::size_t i = 0; i < cells_; ++i)
        out[i] = static_cast<float>(field[i].imag());
      out += cells_;
    }
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override {
    *out = std::min(static_cast<std::int32_t>(shares(index)[0] * plan_.classes), plan_.classes - 1);
  }
  void copy_targets(std::size_t index, float* out) const override {
    const auto share = shares(index);
    for (int i = 0; i < plan_.parameters; ++i)
      out[i] = static_cast<float>(2 * share[static_cast<std::size_t>(i)] - 1);
  }

 private:
  /// Each parameter's place in its range, 0 to 1; those that do not vary stand in the middle
  /// (smoothing: at none).
  std::array<double, kParameters> shares(std::size_t index) const {
    std::array<double, kParameters> share{0.5, 0.5, 0};
    const auto bits = philox(plan_.seed, Stream::noise, 0, index);
    for (std::size_t i = 0; i < static_cast<std::size_t>(plan_.parameters); ++i)
      share[i] = static_cast<double>(uniform01(bits[i]));
    return share;
  }

  /// k^2 of every cell and its logarithm, k in radians a cell.
  void measure_waves() {
    for (std::size_t i = 0; i < cells_; ++i) {
      double square = 0;
      std::size_t rest = i;
      for (std::size_t axis = space_.size(); axis-- > 0;) {
        const auto n = static_cast<std::size_t>(space_[axis]);
        const std::size_t at = rest % n;
        rest /= n;
        const double k = 2 * std::numbers::pi * static_cast<double>(std::min(at, n - at)) /
                         static_cast<double>(n);
        square += k * k;
      }
      square_.push_back(square);
      log_square_.push_back(i == 0 ? 0 : std::log(square));
    }
  }

  /// sqrt(P), scaled so that a field made of unit white noise has the amplitude on average; the
  /// mean is 0.
  std::vector<double> make_filter(double slope, double amplitude, double smoothing) const {
    std::vector<double> filter(cells_);
    double power = 0;
    for (std::size_t i = 1; i < cells_; ++i) {
      filter[i] =
          std::exp(-0.25 * slope * log_square_[i] - 0.5 * square_[i] * smoothing * smoothing);
      power += filter[i] * filter[i];
    }
    const double scale = amplitude / std::sqrt(power);
    for (double& f : filter)
      f *= scale;
    return filter;
  }

  Plan plan_;
  std::vector<std::int64_t> space_;
  std::size_t cells_ = 1;
  std::vector<double> square_, log_square_;
};

std::vector<std::int64_t> read_shape(const jobspec::List& sizes) {
  std::vector<std::int64_t> shape;
  for (const jobspec::Value& n : sizes) {
    if (!n.is_int() || n.as_int() < 1)
      throw std::invalid_argument("data.shape: sizes must be whole numbers of at least 1, found " +
                                  n.to_text());
    shape.push_back(n.as_int());
  }
  if (shape.size() != 3 && shape.size() != 4)
    throw std::invalid_argument(
        "data.shape: expected [channels, height, width] or [channels, depth, height, width]");
  for (std::size_t i = 1; i < shape.size(); ++i)
    if ((shape[i] & (shape[i] - 1)) != 0 || shape[i] < 2 || shape[i] > 1024)
      throw std::invalid_argument("data.shape: " + std::to_string(shape[i]) +
                                  " is not a power of two from 2 to 1024");
  return shape;
}

}  // namespace

Row gaussian_fields() {
  return {
      "gaussian-fields",
      "random fields whose spectrum is to be found; needs no files",
      {int_option("samples", 4096, 2, 4e9, "how many samples, training and validation together"),
       list_option("shape", jobspec::List{1, 32, 32},
                   "[channels, height, width] or [channels, depth, height, width], powers of two"),
       int_option("parameters", 1, 1, kParameters,
                  "how many of slope, amplitude and smoothing vary"),
       int_option("classes", 0, 0, 1000,
                  "0: the parameters, each from -1 to 1, are targets; above: so many ranges "
                  "of the slope are classes"),
       int_option("seed", 1, 0, 9e15, "of the samples; not the trial's seed")},
      [](const Options& options, HeaderFacts* header) -> std::unique_ptr<Dataset> {
        if (options.integer("classes") == 1)
          throw std::invalid_argument(
              "data.classes: one class leaves nothing to tell apart; use 0 or at least 2");
        Plan plan{static_cast<std::size_t>(options.integer("samples")),
                  read_shape(options.list("shape")),
                  static_cast<int>(options.integer("parameters")),
                  static_cast<int>(options.integer("classes")),
                  static_cast<std::uint64_t>(options.integer("seed"))};
        if (header != nullptr) return std::make_unique<HeaderOnly>(form_of(plan), plan.samples);
        return std::make_unique<GaussianFields>(std::move(plan));
      }};
}

}  // namespace thalweg::engine::data
