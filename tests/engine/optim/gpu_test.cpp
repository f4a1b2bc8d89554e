// Updates on a GPU's memory beside those of the host. What the published numbers say is tested
// where they stand (vector_test.cpp, matrix_test.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "engine/optim/norm.h"
#include "engine/optim/table.h"
#include "tests/engine/optim/trainee_on_gpu.h"
#include "tests/support/distance.h"

namespace thalweg::engine {
namespace {

using test::Device;
using test::some_gpu;
using test::Trainee;
using test::TraineeOnGpu;
using test::TraineeShape;
using test::VectorOnGpu;
using Values = Trainee<float>::Values;

// A tensor of several chunks, vectors of less than one, with and without weight decay; matrices of
// one shape, wide and tall.
const std::vector<TraineeShape> kShapes{{"fc1.weight", {50, 123}}, {"fc1.bias", {50}, false},
                                        {"fc2.weight", {3, 50}},   {"fc2.bias", {3}, false},
                                        {"fc3.weight", {60, 20}},  {"fc4.weight", {60, 20}},
                                        {"fc5.weight", {4, 60}}};

Values waves(double phase, double size) {
  Values values;
  for (const TraineeShape& s : kShapes) {
    values.emplace_back(static_cast<std::size_t>(elements(s.shape)));
    for (float& v : values.back())
      v = static_cast<float>(size * std::sin(phase += 0.7));
  }
  return values;
}

template <class Trained>
void train(Trained& t, int steps = 4) {
  t.put(t.w, waves(1, 0.5));
  for (int step = 0; step < steps; ++step)
    t.step({step, 0.01 / (1 + step), {}, 32}, waves(10 * step + 2, 0.3));
}

std::vector<std::string> all_rows() {
  std::vector<std::string> names;
  for (const optim::OptimizerEntry& row : optim::optimizer_table())
    names.push_back("{name: " + row.name + "}");
  names.push_back("{name: rmsprop, momentum: 0.9, centered: true}");
  names.push_back("{name: momentum, weight_decay: 0.1, decay_on: all}");
  names.push_back("{name: adamw, ema: 0.9}");
  names.push_back("{name: adamw, larc: clip}");
  names.push_back("{name: sgd, weight_decay: 0.1, larc: scale}");
  names.push_back("{name: lars, variant: tpu}");
  names.push_back("{name: lars, variant: caffe_clip, exclude: false}");
  names.push_back("{name: muon, scale: match_rms_adamw, nesterov: false}");
  names.push_back(
      "{name: adamw, groups: [{match: \"*.bias\", lr_factor: 2}, "
      "{match: \"fc2.*\", name: lamb}]}");
  names.push_back("{name: schedule_free_adamw, groups: [{match: \"fc1.*\", name: sgd}]}");
  names.push_back("{name: momentum, groups: [{match: fc1.weight, name: shampoo}]}");
  return names;
}

class OnGpu : public testing::TestWithParam<std::string> {};

TEST_P(OnGpu, UpdatesAsTheHostDoes) {
  Trainee<float> host(GetParam(), kShapes);
  TraineeOnGpu there(GetParam(), kShapes);
  train(host);
  train(there);
  const bool same_bits = [&] {
    for (std::size_t p = 0; p < kShapes.size(); ++p)
      if (!host.optimizer->elementwise(static_cast<int>(p))) return false;
    return there.machine.info().emulated;
  }();
  if (same_bits) {
    EXPECT_EQ(host.w, there.w);
    EXPECT_EQ(host.states, there.states);
    EXPECT_EQ(host.scalars, there.scalars);
    EXPECT_EQ(host.evaluated(), there.evaluated());
  }
  const Values expected = host.evaluated(), found = there.evaluated();
  for (std::size_t p = 0; p < expected.size(); ++p)
    for (std::size_t i = 0; i < expected[p].size(); ++i) {
      thalweg::test::note_distance(std::abs(found[p][i] - expected[p][i]), 1e-5);
      ASSERT_NEAR(found[p][i], expected[p][i], 1e-5) << p << " " << i;
    }
}

TEST_P(OnGpu, WaitsOnlyWhereItSaysSo) {
  TraineeOnGpu t(GetParam(), kShapes);
  train(t, 2);
  EXPECT_EQ(t.waits > 0, !t.updater->note().empty()) << t.updater->note();
  EXPECT_EQ(t.other, 0) << "allocations and copies of unpinned memory";
}

TEST_P(OnGpu, LeavesParametersWithoutAGoodGradientAsTheyAre) {
  TraineeOnGpu t(GetParam(), kShapes);
  train(t, 2);
  gpu::Memory squares(t.machine, kShapes.size() * sizeof(double), "sums");
  gpu::Memory uses(t.machine, kShapes.size() * sizeof(float), "uses");
  std::vector<double> sums(kShapes.size(), 1);
  std::vector<float> used(kShapes.size(), 3);
  sums[1] = std::numeric_limits<double>::infinity();
  used[2] = 0;
  sums[4] = std::nan("");
  t.machine.copy(squares.data(), sums.data(), squares.bytes());
  t.machine.copy(uses.data(), used.data(), uses.bytes());
  t.notes = {static_cast<const double*>(squares.data()), uses.floats()};
  const Values before = t.plain(t.w);
  t.step({2, 0.01, {}, 32}, waves(3, 0.3));
  const Values after = t.plain(t.w);
  EXPECT_EQ(before[1], after[1]);
  EXPECT_EQ(before[2], after[2]);
  EXPECT_EQ(before[4], after[4]);
  for (const std::size_t p : {0, 3, 5, 6})
    EXPECT_NE(before[p], after[p]) << kShapes[p].name;
}

TEST_P(OnGpu, UpdatesFromACapturedGraphToTheSameBits) {
  TraineeOnGpu plain(GetParam(), kShapes), passing(GetParam(), kShapes);
  EXPECT_EQ(passing.updater->factor_bytes() > 0, passing.updater->note().empty())
      << "who waits for nothing can be captured";
  if (passing.updater->factor_bytes() == 0) {
    EXPECT_THROW(passing.updater->write_factors({}, passing.memory_there(), nullptr),
                 std::logic_error);
    return;
  }
  passing.captured = true;
  train(plain);
  train(passing);
  EXPECT_EQ(passing.w, plain.w);
  EXPECT_EQ(passing.states, plain.states);
  EXPECT_EQ(passing.scalars, plain.scalars);
  EXPECT_EQ(passing.evaluated(), plain.evaluated());
  if (passing.updater->writes_narrow()) {
    const std::vector<gpu::Bf16> narrow = passing.narrow();
    for (std::size_t i = 0; i < narrow.size(); ++i)
      ASSERT_EQ(narrow[i].bits, gpu::store<gpu::Bf16>(passing.w[i]).bits) << i;
  }
  if (!passing.updater->one_pass()) return;
  // The gradient of the last step, by a pass of its own.
  gpu::Memory sums(plain.machine, kShapes.size() * sizeof(double), "sums");
  VectorOnGpu gradient(plain.machine, plain.w.size());
  passing.put(passing.g, waves(32, 0.3));
  gradient.put(passing.g);
  optim::GradientSums of(plain.machine, plain.parameters.infos);
  of.sums_of_squares(*plain.stream, gradient.data(), static_cast<double*>(sums.data()));
  plain.stream->wait();
  std::vector<double> expected(kShapes.size());
  plain.machine.copy(expected.data(), sums.data(), sums.bytes());
  EXPECT_EQ(passing.squares(), expected);
}

TEST(OnePass, LeavesRangesWhoseGradientIsNotFinite) {
  TraineeOnGpu t("{name: momentum}", kShapes);
  t.captured = true;
  train(t, 2);
  const Values before = t.plain(t.w);
  Values gradients = waves(3, 0.3);
  gradients[0][4000] = std::numeric_limits<float>::infinity();  // in the second of its ranges
  gradients[3][1] = std::nanf("");
  t.step({2, 0.01, {}, 32}, gradients);
  const Values after = t.plain(t.w);
  const auto part = [](const Values& all, std::size_t first, std::size_t end) {
    return std::vector<float>(all[0].begin() + static_cast<std::ptrdiff_t>(first),
                              all[0].begin() + static_cast<std::ptrdiff_t>(end));
  };
  EXPECT_NE(part(before, 0, 2048), part(after, 0, 2048));
  EXPECT_EQ(part(before, 2048, 4096), part(after, 2048, 4096));
  EXPECT_NE(part(before, 4096, 6150), part(after, 4096, 6150));
  EXPECT_EQ(before[3], after[3]);
  EXPECT_NE(before[1], after[1]);
  const std::vector<double> squares = t.squares();
  for (std::size_t p = 0; p < squares.size(); ++p)
    EXPECT_EQ(std::isfinite(squares[p]), p != 0 && p != 3) << p;
}

INSTANTIATE_TEST_SUITE_P(Rows, OnGpu, testing::ValuesIn(all_rows()));

TEST(OnGpu, OnlyTheRowsWithoutKernelsWorkOnTheHost) {
  std::set<std::string> on_host;
  for (const optim::OptimizerEntry& row : optim::optimizer_table())
    if (!TraineeOnGpu("{name: " + row.name + "}", kShapes).updater->note().empty())
      on_host.insert(row.name);
  EXPECT_THAT(on_host, testing::UnorderedElementsAre("prodigy", "dadapt_adam", "adafactor",
                                                     "shampoo", "soap"));
}

TEST(OnGpu, RowsOfOneWeightAtATimeAreOnePass) {
  std::set<std::string> others;
  for (const optim::OptimizerEntry& row : optim::optimizer_table())
    if (!TraineeOnGpu("{name: " + row.name + "}", kShapes).updater->one_pass())
      others.insert(row.name);
  EXPECT_THAT(others, testing::UnorderedElementsAre("lars", "lamb", "muon", "prodigy",
                                                    "dadapt_adam", "adafactor", "shampoo", "soap"));
}

TEST(OnGpu, OnlyTheseRowsLeaveRoundingTheWeightsToAPassOfItsOwn) {
  std::set<std::string> others;
  for (const std::string& row : all_rows())
    if (!TraineeOnGpu(row, kShapes).updater->writes_narrow()) others.insert(row);
  EXPECT_THAT(others, testing::UnorderedElementsAre(
                          "{name: muon}", "{name: prodigy}", "{name: dadapt_adam}",
                          "{name: adafactor}", "{name: shampoo}", "{name: soap}",
                          "{name: muon, scale: match_rms_adamw, nesterov: false}",
                          "{name: momentum, groups: [{match: fc1.weight, name: shampoo}]}"));
}

struct Gradient {
  Gradient() : machine(some_gpu()), stream(machine.stream()), trainee("{name: sgd}", kShapes) {}
  /// Sums of squares of every parameter of `x`.
  std::vector<double> squares(const std::vector<float>& x) {
    there.put(x);
    sums.sums_of_squares(*stream, there.data(), static_cast<double*>(out.data()));
    stream->wait();
    std::vector<double> found(kShapes.size());
    machine.copy(found.data(), out.data(), out.bytes());
    return found;
  }
  std::vector<float> result() {
    stream->wait();
    std::vector<float> x(trainee.w.size());
    there.get(x);
    return x;
  }
  std::vector<float> flat(const Values& values) {
    std::vector<float> x(trainee.w.size());
    trainee.put(x, values);
    return x;
  }

  gpu::Gpu& machine;
  std::unique_ptr<gpu::Stream> stream;
  Trainee<float> trainee;
  VectorOnGpu there{machine, trainee.w.size()};
  optim::GradientSums sums{machine, trainee.parameters.infos};
  gpu::Memory out{machine, kShapes.size() * sizeof(double), "sums"};
};

TEST(GradientSums, AreThoseOfEachParameter) {
  Gradient g;
  const Values values = waves(1, 2);
  const std::vector<double> found = g.squares(g.flat(values));
  for (std::size_t p = 0; p < values.size(); ++p) {
    const double expected = optim::sum_of_squares(values[p].size(), values[p].data());
    thalweg::test::expect_near(found[p], expected, 1e-12 * expected, p);
  }
}

TEST(GradientSums, AreNotFiniteWhereAnElementIsNot) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()})
    for (const std::size_t place : {0, 4711, 6149}) {
      Gradient g;
      Values values = waves(1, 2);
      values[0][place] = bad;
      values[2][7] = std::numeric_limits<float>::max();  // its square is no float
      const std::vector<double> found = g.squares(g.flat(values));
      EXPECT_FALSE(std::isfinite(found[0])) << bad << " at " << place;
      for (std::size_t p = 1; p < kShapes.size(); ++p)
        EXPECT_TRUE(std::isfinite(found[p])) << p;
    }
}

TEST(ClipNorm, ShortensLongGradientsAndLeavesOthers) {
  Gradient g;
  const std::vector<float> x = g.flat(waves(1, 2));
  const double norm = std::sqrt(optim::sum_of_squares(x.size(), x.data()));
  for (const double longest : {norm / 3, norm * 3}) {
    g.squares(x);
    g.sums.clip_norm(*g.stream, g.there.data(), static_cast<const double*>(g.out.data()), longest);
    const std::vector<float> found = g.result();
    // The factor is a double: each element is rounded once.
    const double factor = std::min(longest / norm, 1.0);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(found[i], static_cast<float>(static_cast<double>(x[i]) * factor)) << i;
  }
}

TEST(ClipNorm, LeavesAGradientThatIsNotFinite) {
  Gradient g;
  std::vector<float> x = g.flat(waves(1, 2));
  x[100] = std::numeric_limits<float>::infinity();
  g.squares(x);
  g.sums.clip_norm(*g.stream, g.there.data(), static_cast<const double*>(g.out.data()), 0.1);
  EXPECT_EQ(g.result(), x);
}

TEST(ClipValues, CutsFiniteElementsOnly) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x{0.5f,          -0.5f, 3, -3, infinity, -infinity, 1, -1,
                             std::nanf(""), 1e38f, 0, 0,  0,        0,         0, -7};
  gpu::Gpu& machine = some_gpu();
  const auto stream = machine.stream();
  VectorOnGpu there(machine, x.size());
  there.put(x);
  optim::clip_values(*stream, there.data(), x.size(), 1);
  stream->wait();
  std::vector<float> found(x.size());
  there.get(found);
  const std::vector<float> expected{0.5f, -0.5f, 1, -1, infinity, -infinity, 1, -1,
                                    0,    1,     0, 0,  0,        0,         0, -1};
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i == 8)
      EXPECT_TRUE(std::isnan(found[i]));
    else
      EXPECT_EQ(found[i], expected[i]) << i;
  }
}

}  // namespace
}  // namespace thalweg::engine
