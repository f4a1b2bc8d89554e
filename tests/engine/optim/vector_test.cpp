// Optimizers that treat every weight alone, against published updates: three steps from the same
// start, float64 to 1e-9 and float32 to 1e-5. Numbers are parameters after each step, in float64.
// Sources: PyTorch 1.13.1 (torch.optim: sgd, momentum, nesterov, adam, amsgrad, adamw, adagrad,
// rmsprop, adadelta), PyTorch 2 (nadam), mlcommons/algorithmic-efficiency (nadamw), google/automl
// (lion), facebookresearch/schedule_free, konstmish/prodigy, facebookresearch/dadaptation,
// Liuhong99/Sophia.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/optim/table.h"
#include "tests/engine/optim/trainee_on_gpu.h"

namespace thalweg::engine {
namespace {

using test::Device;
using test::Trainee;
using test::TraineeOnGpu;

struct Row {
  const char* options;
  std::vector<double> lr;  ///< of each step
  std::vector<std::vector<double>> after;
  std::vector<double> evaluated;  ///< where it is not the weights
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"{name: sgd}",
       {0.1, 0.1, 0.1},
       {{0.99, -1.98, 2.97}, {0.96, -1.99, 2.99}, {0.97, -2.03, 2.97}},
       {}},
      {"{name: momentum, momentum: 0.9}",
       {0.1, 0.1, 0.1},
       {{0.99, -1.98, 2.97}, {0.951, -1.972, 2.963}, {0.9259, -2.0048, 2.9367}},
       {}},
      {"{name: momentum, momentum: 0.9, dampening: 0.1}",
       {0.1, 0.1, 0.1},
       {{0.99, -1.98, 2.97}, {0.954, -1.971, 2.961}, {0.9306, -1.9989, 2.9349}},
       {}},
      {"{name: nesterov, momentum: 0.9}",
       {0.1, 0.1, 0.1},
       {{0.981, -1.962, 2.943}, {0.9159, -1.9648, 2.9567}, {0.90331, -2.03432, 2.91303}},
       {}},
      {"{name: nesterov, momentum: 0.9, weight_decay: 0.01}",
       {0.1, 0.1, 0.1},
       {{0.9791, -1.9582, 2.9373},
        {0.91132971, -1.95565942, 2.94298913},
        {0.895486112551, -2.018419525102, 2.889161237653}},
       {}},
      {"{name: adam}",
       {0.001, 0.001, 0.001},
       {{0.9990000001, -1.99900000005, 2.999000000033},
        {0.998082219022, -1.998733663027, 2.998855479509},
        {0.997598527199, -1.9991909948, 2.998447736519}},
       {}},
      {"{name: adam, weight_decay: 0.1}",
       {0.1, 0.1, 0.1},
       {{0.900000005, -1.9000000025, 2.900000001667},
        {0.803214755168, -1.818287554677, 2.822692275499},
        {0.731341861916, -1.792570306497, 2.736155356856}},
       {}},
      {"{name: amsgrad}",
       {0.1, 0.1, 0.1},
       {{0.90000001, -1.900000005, 2.900000003333},
        {0.808221902206, -1.873366302719, 2.885547950929},
        {0.75985271992, -1.919099479991, 2.844773651904}},
       {}},
      {"{name: adamw, weight_decay: 0.1}",
       {0.1, 0.1, 0.1},
       {{0.89000001, -1.880000005, 2.870000003333},
        {0.789321902106, -1.834566302669, 2.826847950895},
        {0.733059500799, -1.861953816915, 2.757805172361}},
       {}},
      {"{name: adagrad}",
       {0.1, 0.1, 0.1},
       {{0.9000000001, -1.90000000005, 2.900000000033},
        {0.805131670325, -1.94472135958, 2.95547001964},
        {0.835282804774, -2.032008515655, 2.906962894645}},
       {}},
      {"{name: rmsprop}",
       {0.1, 0.1, 0.1},
       {{9.99999e-07, -1.0000005, 2.000000333333},
        {-0.949156695453, -1.449013553454, 2.556630518406},
        {-0.646127875564, -2.323753029172, 2.068402988018}},
       {}},
      {"{name: rmsprop, momentum: 0.9, centered: true}",
       {0.1, 0.1, 0.1},
       {{-0.005036805159, -0.994962689791, 1.994962521441},
        {-1.866382137877, -0.53987750599, 1.647261926875},
        {-3.237345946939, -1.00696671873, 0.84482402798}},
       {}},
      {"{name: adadelta}",
       {1.0, 1.0, 1.0},
       {{0.996839302294, -1.99683811755, 2.996837898007},
        {0.992576568323, -1.998922904803, 2.999409017733},
        {0.994512946925, -2.003229241043, 2.99678618894}},
       {}},
      {"{name: nadam}",
       {0.1, 0.1, 0.1},
       {{0.894354832729, -1.894354827447, 2.894354825686},
        {0.793220745911, -1.93546579777, 2.947092967996},
        {0.818658497905, -2.032720952908, 2.891069835689}},
       {}},
      {"{name: nadam, weight_decay: 0.1, decoupled: true}",
       {0.1, 0.1, 0.1},
       {{0.884354832729, -1.874354827447, 2.864354825686},
        {0.774377197584, -1.896722249496, 2.88844941974},
        {0.792071177602, -1.975010182138, 2.803541793235}},
       {}},
      {"{name: nadamw, weight_decay: 0.1}",
       {0.1, 0.1, 0.1},
       {{0.800000019, -1.7900000095, 2.780000006333},
        {0.638801177338, -1.781421805203, 2.780484737405},
        {0.608151492059, -1.860539614103, 2.684975949407}},
       {}},
      {"{name: lion, weight_decay: 0.1}",
       {0.1, 0.1, 0.1},
       {{0.89, -1.88, 2.87}, {0.7811, -1.9612, 2.9413}, {0.873289, -2.041588, 2.811887}},
       {}},
      {"{name: schedule_free_adamw, weight_decay: 0.1}",
       {0.1, 0.1, 0.1},
       {{0.89000001, -1.880000005, 2.870000003333},
        {0.811329530987, -1.904450278577, 2.897364702638},
        {0.807517947836, -1.963957763361, 2.859626678129}},
       {0.809345188649, -1.95366939054, 2.865501732225}},
      {"{name: schedule_free_adamw}",
       {0.05, 0.1, 0.1},
       {{0.950000005, -1.9500000025, 2.950000001667},
        {0.840007472736, -2.001869137693, 3.014332280657},
        {0.855388144176, -2.082500827961, 2.978594018673}},
       {0.853977263426, -2.073401184503, 2.982390594452}},
      {"{name: schedule_free_sgd}",
       {1.0, 1.0, 1.0},
       {{0.9, -1.8, 2.7}, {0.735, -1.855, 2.81}, {0.73, -2.03, 2.76}},
       {0.733333333333, -2, 2.766666666667}},
      {"{name: prodigy}",
       {1.0, 1.0, 1.0},
       {{0.9999968377323398, -1.9999968377273398, 2.999996837725673},
        {0.9999929375412255, -1.999995705905271, 2.9999962235729702},
        {0.9999905431550258, -1.999997969803701, 2.9999942051506716}},
       {}},
      {"{name: dadapt_adam}",
       {1.0, 1.0, 1.0},
       {{0.9999968377323398, -1.9999968377273398, 2.999996837725673},
        {0.9999929375412255, -1.999995705905271, 2.9999962235729702},
        {0.9999905431550258, -1.999997969803701, 2.9999942051506716}},
       {}},
      {"{name: sophia_g, every: 1}",
       {0.1, 0.1, 0.1},
       {{0.89, -1.88, 2.87},
        {0.7811, -1.7612, 2.773320399306},
        {0.673289, -1.843588, 2.645587195313}},
       {}},
      // PyTorch 1.13, by fixtures_pytorch.py.
      {"{name: sgd, weight_decay: 0.1}",
       {0.1, 0.1, 0.1},
       {{0.98, -1.96, 2.94}, {0.9402, -1.9504, 2.9306}, {0.940798, -1.970896, 2.881294}},
       {}},
      {"{name: momentum, dampening: 0.1, weight_decay: 0.1}",
       {0.1, 0.1, 0.1},
       {{0.98, -1.96, 2.94}, {0.92618, -1.91536, 2.87754}, {0.87840638, -1.89394576, 2.77742814}},
       {}},
      {"{name: adam, beta1: 0.5, beta2: 0.9, epsilon: 0.01}",
       {0.1, 0.1, 0.1},
       {{0.909090909091, -1.90476190476, 2.90322580645},
        {0.81116105105, -1.90476190476, 2.91593112565},
        {0.789863280703, -1.98564005866, 2.87501505585}},
       {}},
      {"{name: amsgrad, beta2: 0.5, weight_decay: 0.1}",
       {0.1, 0.1, 0.1},
       {{0.900000005, -1.9000000025, 2.90000000167},
        {0.811432086902, -1.82748221624, 2.83231673382},
        {0.753287121648, -1.8045700812, 2.74687233758}},
       {}},
      {"{name: adagrad, lr_decay: 0.1, initial: 0.2, weight_decay: 0.1}",
       {0.1, 0.1, 0.1},
       {{0.959175170962, -1.93333333334, 2.91982162744},
        {0.902033466334, -1.91935996914, 2.9087308829},
        {0.903329407047, -1.94637255613, 2.86326330838}},
       {}},
      {"{name: adadelta, rho: 0.5, epsilon: 0.001, weight_decay: 0.1}",
       {0.1, 0.1, 0.1},
       {{0.995635642195, -1.99555555556, 2.99554023512},
        {0.989777441975, -1.99348509743, 2.99410494998},
        {0.98980439638, -1.99745630684, 2.98930432981}},
       {}},
      {"{name: rmsprop, alpha: 0.9, momentum: 0.5, weight_decay: 0.1}",
       {0.1, 0.1, 0.1},
       {{0.683772283983, -1.68377225898, 2.68377225065},
        {0.244529624486, -1.46958047863, 2.48794218568},
        {0.0845889176044, -1.54238721303, 2.18876082357}},
       {}},
      {"{name: rmsprop, alpha: 0.9, centered: true}",
       {0.1, 0.1, 0.1},
       {{0.666666777778, -1.66666672222, 2.6666667037},
        {0.338930050909, -1.81514516791, 2.84885413509},
        {0.442736945881, -2.10484692063, 2.68100788918}},
       {}},
  };
  return table;
}

template <class T>
std::vector<T> start() {
  return {T(1), T(-2), T(3)};
}
template <class T>
std::vector<T> gradient(std::size_t step) {
  const double all[3][3] = {{0.1, -0.2, 0.3}, {0.3, 0.1, -0.2}, {-0.1, 0.4, 0.2}};
  return {T(all[step][0]), T(all[step][1]), T(all[step][2])};
}

template <class T>
void expect_near(const std::vector<T>& found, const std::vector<double>& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i])))
        << what << ", element " << i;
}

template <class Trained>
void compare(const Row& row, double tolerance) {
  using T = typename Trained::Number;
  for (const Device device : {Device::plain, Device::backwards}) {
    Trained t(row.options, {{"a", {3}}, {"b", {3}}}, device);
    t.put(t.w, {start<T>(), start<T>()});
    for (std::size_t step = 0; step < row.after.size(); ++step) {
      const auto g = gradient<T>(step);
      t.step({static_cast<std::int64_t>(step), row.lr[step], {}, 128}, {g, g});
      const auto now = t.plain(t.w);
      expect_near(now[0], row.after[step], tolerance,
                  row.options + std::string(", step ") + std::to_string(step + 1));
      EXPECT_EQ(now[0], now[1]) << "the place in memory must not matter";
    }
    if (!row.evaluated.empty())
      expect_near(t.evaluated()[0], row.evaluated, tolerance,
                  row.options + std::string(", evaluated"));
    EXPECT_EQ(t.optimizer->has_eval_weights(), !row.evaluated.empty());
  }
}

class Published : public testing::TestWithParam<Row> {};
TEST_P(Published, UpdatesInFloat64) {
  compare<Trainee<double>>(GetParam(), 1e-9);
}
TEST_P(Published, UpdatesInFloat32) {
  compare<Trainee<float>>(GetParam(), 1e-5);
}
TEST_P(Published, UpdatesOnAGpu) {
  compare<TraineeOnGpu>(GetParam(), 1e-5);
}
TEST_P(Published, MatrixIsUpdatedAsItsElementsAre) {
  Trainee<double> vectors(GetParam().options, {{"a", {3}}, {"b", {3}}});
  Trainee<double> matrix(GetParam().options, {{"c", {2, 3}}});
  const std::vector<double> a = start<double>(), b{0.5, 0.25, -1.5};
  const auto join = [](std::vector<double> x, const std::vector<double>& y) {
    x.insert(x.end(), y.begin(), y.end());
    return x;
  };
  vectors.put(vectors.w, {a, b});
  matrix.put(matrix.w, {join(a, b)});
  for (std::size_t step = 0; step < 3; ++step) {
    const auto g = gradient<double>(step), h = gradient<double>((step + 1) % 3);
    const StepContext context{static_cast<std::int64_t>(step), GetParam().lr[step], {}, 128};
    vectors.step(context, {g, h});
    matrix.step(context, {join(g, h)});
  }
  const auto found = matrix.plain(matrix.w)[0];
  const auto expected = join(vectors.plain(vectors.w)[0], vectors.plain(vectors.w)[1]);
  // Sums over parameters add up in another order.
  if (matrix.optimizer->elementwise(0)) {
    EXPECT_EQ(found, expected);
  }
  expect_near(found, expected, 1e-12, GetParam().options);
}
INSTANTIATE_TEST_SUITE_P(Vectors, Published, testing::ValuesIn(rows()));

// m_eff = m lr_new / lr_old in the form whose velocity holds the steps (Goyal et al. 2017, remark
// 2) must be what `correction: true` does; without it, the plain recurrence of Caffe.
TEST(Momentum, CorrectionFollowsAChangedRate) {
  const double lr[3] = {0.1, 0.01, 0.05};
  for (const bool correction : {true, false}) {
    Trainee<double> t(correction ? "{name: momentum}" : "{name: momentum, correction: false}",
                      {{"a", {3}}});
    t.put(t.w, {start<double>()});
    std::vector<double> w = start<double>(), v(3);
    for (std::size_t step = 0; step < 3; ++step) {
      const auto g = gradient<double>(step);
      const double m = 0.9 * (correction && step > 0 ? lr[step] / lr[step - 1] : 1);
      for (std::size_t i = 0; i < 3; ++i) {
        v[i] = m * v[i] + lr[step] * g[i];
        w[i] -= v[i];
      }
      t.step({static_cast<std::int64_t>(step), lr[step]}, {g});
      expect_near(t.plain(t.w)[0], w, 1e-12, "step " + std::to_string(step));
    }
  }
}

TEST(Momentum, ScheduledMomentumReplacesTheOption) {
  Trainee<double> scheduled("{name: momentum, momentum: 0.9}", {{"a", {3}}});
  Trainee<double> fixed("{name: momentum, momentum: 0.5}", {{"a", {3}}});
  for (auto* t : {&scheduled, &fixed}) {
    t->put(t->w, {start<double>()});
    for (std::size_t step = 0; step < 3; ++step) {
      StepContext context{static_cast<std::int64_t>(step), 0.1};
      if (t == &scheduled) context.momentum = 0.5;
      t->step(context, {gradient<double>(step)});
    }
  }
  EXPECT_EQ(scheduled.w, fixed.w);
}

// The distance after each of 12 steps along a constant gradient, and the last weights. Sources:
// konstmish/prodigy, facebookresearch/dadaptation.
struct Growth {
  const char* options;
  std::vector<double> distance, last;
};
template <class Trained>
void compare(const Growth& row, double tolerance) {
  using T = typename Trained::Number;
  Trained t(row.options, {{"a", {1}}, {"b", {2}}});  // sums go over all parameters
  t.put(t.w, {{T(1)}, {T(-2), T(3)}});
  for (std::size_t step = 0; step < row.distance.size(); ++step) {
    t.step({static_cast<std::int64_t>(step), 1.0}, {{T(0.1)}, {T(-0.2), T(0.3)}});
    EXPECT_NEAR(t.scalars[0], row.distance[step], tolerance * row.distance[step]) << step;
  }
  const auto w = t.plain(t.w);
  expect_near<T>({w[0][0], w[1][0], w[1][1]}, row.last, tolerance, row.options);
}
TEST(Distance, GrowsAsPublished) {
  const Growth rows[] = {
      {"{name: prodigy}",
       {1e-06, 1.5815318119347833e-06, 4.822396838813921e-06, 1.3496048553753226e-05,
        3.4509531129742805e-05, 8.858468594695128e-05, 0.00022772277610684288,
        0.0005856723356184898, 0.0015062755710909675, 0.0038738816764399583, 0.009962913848691322,
        0.025622786049693876},
       {0.9269337842752265, -1.9269335105255923, 2.926933419275259}},
      {"{name: dadapt_adam}",
       {1e-06, 1.5815318119371964e-05, 4.147839763752094e-05, 0.0002401258372735383,
        0.0007999189452501808, 0.0033020961763764686, 0.011485191664726231, 0.04127040833080583,
        0.13994002625735763, 0.4691919196256919, 1.529790208653966, 4.900387062093282},
       {-1.8111079662014475, 0.8111092804228726, 0.18889028150304377}}};
  for (const Growth& row : rows) {
    compare<Trainee<double>>(row, 1e-9);
    // The first steps of 1e-6 are a few roundings of float32 weights around 1: so is the distance.
    compare<Trainee<float>>(row, 1e-2);
    compare<TraineeOnGpu>(row, 1e-2);
  }
}

TEST(Distance, WaitsWhileTheRateIsZero) {
  for (const char* options : {"{name: prodigy}", "{name: dadapt_adam}"}) {
    Trainee<double> warm(options, {{"a", {3}}}), cold(options, {{"a", {3}}});
    for (auto* t : {&warm, &cold})
      t->put(t->w, {start<double>()});
    warm.step({0, 0.0}, {gradient<double>(2)});
    for (std::size_t step = 0; step < 3; ++step) {
      warm.step({static_cast<std::int64_t>(step) + 1, 1.0}, {gradient<double>(step)});
      cold.step({static_cast<std::int64_t>(step), 1.0}, {gradient<double>(step)});
    }
    EXPECT_EQ(warm.w, cold.w) << options;
  }
}

TEST(ScheduleFree, ValidatesAtTheWeightsBeforeTheFirstStep) {
  Trainee<double> t("{name: schedule_free_adamw}", {{"a", {3}}});
  t.put(t.w, {start<double>()});
  EXPECT_EQ(t.evaluated()[0], start<double>());
}

TEST(Decay, IsDecoupledOrCoupledAsAsked) {
  // With a gradient of zero, decoupled decay shrinks by lr * weight_decay, Adam's L2 by about lr.
  Trainee<double> decoupled("{name: adam, weight_decay: 0.5, decoupled: true}", {{"a", {1}}});
  Trainee<double> coupled("{name: adam, weight_decay: 0.5}", {{"a", {1}}});
  for (auto* t : {&decoupled, &coupled}) {
    t->put(t->w, {{2.0}});
    t->step({0, 0.1}, {{0.0}});
  }
  EXPECT_DOUBLE_EQ(decoupled.w[0], 1.9);
  EXPECT_NEAR(coupled.w[0], 2 - 0.1, 1e-8);
}

TEST(Decay, LeavesOutBiasesUnlessItIsForAll) {
  for (const bool all : {false, true}) {
    Trainee<double> t(all ? "{name: adamw, weight_decay: 0.5, decay_on: all}"
                          : "{name: adamw, weight_decay: 0.5}",
                      {{"fc.weight", {1}, true}, {"fc.bias", {1}, false}});
    t.put(t.w, {{1.0}, {1.0}});
    t.step({0, 0.1}, {{0.0}, {0.0}});
    EXPECT_DOUBLE_EQ(t.plain(t.w)[0][0], 0.95);
    EXPECT_DOUBLE_EQ(t.plain(t.w)[1][0], all ? 0.95 : 1.0);
  }
}

}  // namespace
}  // namespace thalweg::engine
