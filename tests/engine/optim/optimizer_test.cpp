// Every optimizer against published updates: three steps from the same start, float64 to 1e-9 and
// float32 to 1e-5. Numbers: PyTorch 1.13.1 (torch.optim), float64, parameters after each step.
#include "engine/optim/optimizer.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "engine/optim/table.h"

namespace thalweg::engine {
namespace {

constexpr std::array<double, 3> kStart{1, -2, 3};
constexpr double kGradients[3][3] = {{0.1, -0.2, 0.3}, {0.3, 0.1, -0.2}, {-0.1, 0.4, 0.2}};

struct Row {
  const char* options;
  double lr;
  double after[3][3];
};
const Row kRows[] = {
    {"{name: sgd}", 0.1, {{0.99, -1.98, 2.97}, {0.96, -1.99, 2.99}, {0.97, -2.03, 2.97}}},
    {"{name: momentum, momentum: 0.9}",
     0.1,
     {{0.99, -1.98, 2.97}, {0.951, -1.972, 2.963}, {0.9259, -2.0048, 2.9367}}},
    {"{name: momentum, momentum: 0.9, dampening: 0.1}",
     0.1,
     {{0.99, -1.98, 2.97}, {0.954, -1.971, 2.961}, {0.9306, -1.9989, 2.9349}}},
    {"{name: nesterov, momentum: 0.9}",
     0.1,
     {{0.981, -1.962, 2.943}, {0.9159, -1.9648, 2.9567}, {0.90331, -2.03432, 2.91303}}},
    {"{name: nesterov, momentum: 0.9, weight_decay: 0.01}",
     0.1,
     {{0.9791, -1.9582, 2.9373},
      {0.91132971, -1.95565942, 2.94298913},
      {0.895486112551, -2.018419525102, 2.889161237653}}},
    {"{name: adam}",
     0.001,
     {{0.9990000001, -1.99900000005, 2.999000000033},
      {0.998082219022, -1.998733663027, 2.998855479509},
      {0.997598527199, -1.9991909948, 2.998447736519}}},
    {"{name: adam, weight_decay: 0.1}",
     0.1,
     {{0.900000005, -1.9000000025, 2.900000001667},
      {0.803214755168, -1.818287554677, 2.822692275499},
      {0.731341861916, -1.792570306497, 2.736155356856}}},
    {"{name: adamw, weight_decay: 0.1}",
     0.1,
     {{0.89000001, -1.880000005, 2.870000003333},
      {0.789321902106, -1.834566302669, 2.826847950895},
      {0.733059500799, -1.861953816915, 2.757805172361}}},
};

/// Runs three steps on a flat memory in which the parameters stand twice, at an offset, as two
/// segments.
template <class T>
std::vector<std::vector<T>> run(const Row& row) {
  const auto optimizer = make_optimizer<T>(jobspec::read_yaml(row.options, "test"));
  std::vector<T> w(16, T(0)), g(16, T(0));
  std::vector<std::vector<T>> memory(static_cast<std::size_t>(optimizer->states()),
                                     std::vector<T>(16, T(0)));
  std::vector<T*> state;
  for (auto& m : memory)
    state.push_back(m.data());
  const Segment segments[2] = {{2, 3, true}, {9, 3, true}};
  for (const Segment& s : segments)
    for (std::size_t i = 0; i < 3; ++i)
      w[s.offset + i] = T(kStart[i]);
  std::vector<std::vector<T>> seen;
  for (int step = 0; step < 3; ++step) {
    for (const Segment& s : segments)
      for (std::size_t i = 0; i < 3; ++i)
        g[s.offset + i] = T(kGradients[step][i]);
    for (const Segment& s : segments)
      optimizer->update({step, row.lr}, s, w.data(), g.data(), state);
    seen.push_back(w);
  }
  return seen;
}

template <class T>
void compare(const Row& row, double tolerance) {
  const auto seen = run<T>(row);
  for (int step = 0; step < 3; ++step)
    for (std::size_t i = 0; i < 3; ++i) {
      const auto& w = seen[static_cast<std::size_t>(step)];
      EXPECT_NEAR(w[2 + i], row.after[step][i],
                  tolerance * std::max(1.0, std::abs(row.after[step][i])))
          << row.options << " step " << step + 1 << " element " << i;
      EXPECT_EQ(w[2 + i], w[9 + i]) << "segments must not depend on their place";
      EXPECT_EQ(w[5], T(0)) << "nothing outside the segments may change";
    }
}

class Optimizers : public testing::TestWithParam<Row> {};
TEST_P(Optimizers, MatchesPublishedUpdatesInFloat64) {
  compare<double>(GetParam(), 1e-9);
}
TEST_P(Optimizers, MatchesPublishedUpdatesInFloat32) {
  compare<float>(GetParam(), 1e-5);
}
INSTANTIATE_TEST_SUITE_P(Fixtures, Optimizers, testing::ValuesIn(kRows));

TEST(OptimizerTable, EveryRowHasAFixture) {
  for (const OptimizerEntry& entry : optimizer_table()) {
    bool found = false;
    for (const Row& row : kRows)
      found |= jobspec::read_yaml(row.options, "test").find("name")->as_string() == entry.name;
    EXPECT_TRUE(found) << entry.name << " has no fixture in this file";
  }
}

TEST(Optimizer, SegmentWithoutDecayIsNotShrunk) {
  const auto optimizer =
      make_optimizer<double>(jobspec::read_yaml("{name: adamw, weight_decay: 0.5}", "t"));
  double w[2] = {1, 1}, g[2] = {0, 0}, m[2] = {0, 0}, v[2] = {0, 0};
  double* const state[2] = {m, v};
  optimizer->update({0, 0.1}, {0, 1, true}, w, g, state);
  optimizer->update({0, 0.1}, {1, 1, false}, w, g, state);
  EXPECT_DOUBLE_EQ(w[0], 0.95);
  EXPECT_DOUBLE_EQ(w[1], 1.0);
}

TEST(Optimizer, PaddingOfZerosStaysZero) {
  for (const OptimizerEntry& entry : optimizer_table()) {
    const auto optimizer = make_optimizer<float>(jobspec::Map{{"name", entry.name}});
    std::vector<float> w(64, 0.f), g(64, 0.f);
    std::vector<std::vector<float>> memory(4, std::vector<float>(64, 0.f));
    std::vector<float*> state;
    for (auto& m : memory)
      state.push_back(m.data());
    for (int step = 0; step < 3; ++step)
      optimizer->update({step, 0.1}, {0, 64, true}, w.data(), g.data(), state);
    for (const float x : w)
      EXPECT_EQ(x, 0.f) << entry.name;
  }
}

TEST(Optimizer, WholeVectorEqualsPiecewise) {
  for (const OptimizerEntry& entry : optimizer_table()) {
    const auto optimizer = make_optimizer<float>(jobspec::Map{{"name", entry.name}});
    constexpr std::size_t n = 1013;  // not a multiple of any vector width
    std::vector<float> g(n), a(n), b(n);
    for (std::size_t i = 0; i < n; ++i) {
      g[i] = std::sin(static_cast<float>(i) * 0.7f);
      a[i] = b[i] = std::cos(static_cast<float>(i));
    }
    std::vector<std::vector<float>> sa(4, std::vector<float>(n, 0.f)), sb = sa;
    std::vector<float*> pa, pb;
    for (auto& s : sa)
      pa.push_back(s.data());
    for (auto& s : sb)
      pb.push_back(s.data());
    for (int step = 0; step < 3; ++step) {
      optimizer->update({step, 0.01}, {0, n, true}, a.data(), g.data(), pa);
      for (std::size_t i = 0; i < n; i += 37)
        optimizer->update({step, 0.01}, {i, std::min<std::size_t>(37, n - i), true}, b.data(),
                          g.data(), pb);
    }
    EXPECT_EQ(a, b) << entry.name << ": vector and scalar code must give the same bits";
  }
}

TEST(Optimizer, UnknownNameSuggestsTheNearest) {
  try {
    make_optimizer<float>(jobspec::read_yaml("{name: adamv}", "t"));
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'adam"), std::string::npos) << e.what();
  }
}

TEST(Optimizer, AutomaticLearningRateSaysWhereItComesFrom) {
  std::string note;
  EXPECT_DOUBLE_EQ(base_learning_rate(jobspec::read_yaml("{name: adamw, lr: auto}", "t"), &note),
                   1e-3);
  EXPECT_NE(note.find("0.001"), std::string::npos) << note;
  note.clear();
  EXPECT_DOUBLE_EQ(base_learning_rate(jobspec::read_yaml("{name: adamw, lr: 0.5}", "t"), &note),
                   0.5);
  EXPECT_TRUE(note.empty());
}

}  // namespace
}  // namespace thalweg::engine
