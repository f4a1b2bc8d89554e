// LSTMs of the library against plain loops in doubles, whose differences are the gradients, on both
// machines, each in all its algorithms.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "engine/gpu/library.h"
#include "tests/engine/gpu/machines.h"
#include "tests/support/distance.h"

namespace thalweg::engine::gpu {
namespace {

using Doubles = std::vector<double>;

/// Numbers that bfloat16 has.
Doubles draw_small(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> number(-32, 32);
  Doubles values(static_cast<std::size_t>(n));
  for (double& value : values)
    value = number(random) / 64.0;
  return values;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

struct Numbers {
  Doubles x, dy;
  std::vector<Doubles> weights;  ///< as Recurrence's
};

Numbers numbers_for(const Recurrence& r) {
  const std::int64_t rows = r.samples * r.positions, gates = 4 * r.width;
  Numbers n{draw_small(rows * r.features, 1), draw_small(rows * r.width, 2), {}};
  for (int l = 0; l < r.layers; ++l) {
    const auto seed = static_cast<unsigned>(4 * l + 3);
    n.weights.push_back(draw_small(gates * (l == 0 ? r.features : r.width), seed));
    n.weights.push_back(draw_small(gates * r.width, seed + 1));
    n.weights.push_back(draw_small(gates, seed + 2));
    n.weights.push_back(draw_small(gates, seed + 3));
  }
  return n;
}

Doubles layer(const Recurrence& r, const Doubles& x, std::int64_t inputs, const Doubles* weights) {
  const std::int64_t w = r.width;
  const auto of = [](const Doubles& values, std::int64_t i) {
    return values[static_cast<std::size_t>(i)];
  };
  Doubles y(static_cast<std::size_t>(r.samples * r.positions * w));
  for (std::int64_t n = 0; n < r.samples; ++n) {
    Doubles h(static_cast<std::size_t>(w)), c(h);
    for (std::int64_t row = n * r.positions; row < (n + 1) * r.positions; ++row) {
      Doubles gate(static_cast<std::size_t>(4 * w));
      for (std::int64_t j = 0; j < 4 * w; ++j) {
        double sum = of(weights[2], j) + of(weights[3], j);
        for (std::int64_t k = 0; k < inputs; ++k)
          sum += of(weights[0], j * inputs + k) * of(x, row * inputs + k);
        for (std::int64_t k = 0; k < w; ++k)
          sum += of(weights[1], j * w + k) * of(h, k);
        gate[static_cast<std::size_t>(j)] = j / w == 2 ? std::tanh(sum) : sigmoid(sum);
      }
      for (std::int64_t j = 0; j < w; ++j) {
        const auto at = static_cast<std::size_t>(j);
        c[at] = of(gate, w + j) * c[at] + of(gate, j) * of(gate, 2 * w + j);
        h[at] = of(gate, 3 * w + j) * std::tanh(c[at]);
        y[static_cast<std::size_t>(row * w + j)] = h[at];
      }
    }
  }
  return y;
}

Doubles plain(const Recurrence& r, const Numbers& n) {
  Doubles y = layer(r, n.x, r.features, n.weights.data());
  for (std::size_t l = 1; l < static_cast<std::size_t>(r.layers); ++l)
    y = layer(r, y, r.width, n.weights.data() + 4 * l);
  return y;
}

/// Of the sum of dy times y, with respect to `values`, which is one of the numbers of `n`.
Doubles plain_gradient(const Recurrence& r, const Numbers& n, Doubles& values) {
  constexpr double step = 1e-5;
  const auto loss = [&] {
    const Doubles y = plain(r, n);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      sum += n.dy[i] * y[i];
    return sum;
  };
  Doubles gradient;
  for (double& value : values) {
    const double before = value;
    value = before + step;
    const double above = loss();
    value = before - step;
    gradient.push_back((above - loss()) / (2 * step));
    value = before;
  }
  return gradient;
}

class LibraryRecurrence : public OnMachine {
 protected:
  Memory up(const Doubles& values, Type type) {
    if (type == Type::f32) return OnMachine::up(std::vector<float>(values.begin(), values.end()));
    std::vector<Bf16> rounded;
    for (const double value : values)
      rounded.push_back(store<Bf16>(static_cast<float>(value)));
    return OnMachine::up(rounded);
  }
  void expect(const Memory& memory, Type type, const Doubles& expected, double tolerance,
              const std::string& what) {
    Doubles found;
    if (type == Type::f32) {
      for (const float value : down<float>(memory))
        found.push_back(value);
    } else {
      for (const Bf16 value : down<Bf16>(memory))
        found.push_back(load(value));
    }
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      difference += (found[i] - expected[i]) * (found[i] - expected[i]);
      norm += expected[i] * expected[i];
    }
    thalweg::test::note_distance(std::sqrt(norm > 0 ? difference / norm : difference), tolerance);
    EXPECT_LE(std::sqrt(difference), tolerance * std::sqrt(norm)) << what;
  }

  /// All algorithms: against the plain loops, and twice with the same bits.
  void expect_plain(const Recurrence& r, double tolerance) {
    const RecurrenceCalls calls = stream_->library().recurrence(r);
    if (!calls.training) GTEST_SKIP() << "this GPU's library has none of them";
    Numbers n = numbers_for(r);
    const Doubles y = plain(r, n), dx = plain_gradient(r, n, n.x);
    std::vector<Doubles> gradients;
    for (Doubles& weights : n.weights)
      gradients.push_back(plain_gradient(r, n, weights));
    for (int algorithm = 0; algorithm < calls.training->algorithms(); ++algorithm) {
      SCOPED_TRACE(calls.training->algorithm_name(algorithm));
      calls.training->choose(algorithm);
      calls.evaluation->choose(algorithm);
      const Results first = run(r, calls, n), again = run(r, calls, n);
      expect(first.y, r.type, y, tolerance, "y");
      expect(first.evaluated, r.type, y, tolerance, "y in evaluation");
      expect(first.dx, r.type, dx, tolerance, "dx");
      expect_same_bits(first.y, again.y);
      expect_same_bits(first.dx, again.dx);
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        expect(first.gradients[i], Type::f32, gradients[i], tolerance,
               "gradient of weights " + std::to_string(i));
        expect_same_bits(first.gradients[i], again.gradients[i]);
      }
    }
  }

 private:
  struct Results {
    Memory y, evaluated, dx;
    std::vector<Memory> gradients;
  };
  Results run(const Recurrence& r, const RecurrenceCalls& calls, const Numbers& n) {
    const Doubles of_x(n.x.size()), of_y(n.dy.size());
    Results results{up(of_y, r.type), up(of_y, r.type), up(of_x, r.type), {}};
    const Memory x = up(n.x, r.type), dy = up(n.dy, r.type);
    const Memory reserve(*gpu_, calls.reserve, "a test");
    std::vector<Memory> weights;
    std::vector<void*> training{x.data(), results.y.data(), reserve.data()};
    std::vector<void*> evaluation{x.data(), results.evaluated.data()};
    std::vector<void*> backward{x.data(), results.y.data(), dy.data(), reserve.data(),
                                results.dx.data()};
    for (const Doubles& values : n.weights) {
      weights.push_back(up(values, r.type));
      for (auto* const tensors : {&training, &evaluation, &backward})
        tensors->push_back(weights.back().data());
    }
    for (const Doubles& values : n.weights) {
      results.gradients.push_back(up(values, Type::f32));
      backward.push_back(results.gradients.back().data());
    }
    const auto one = [&](const Call& call, const std::vector<void*>& tensors) {
      const Memory workspace(*gpu_, call.workspace(call.chosen()), "a test");
      call.run(*stream_, tensors, workspace.data());
      stream_->wait();
    };
    one(*calls.training, training);
    one(*calls.evaluation, evaluation);
    one(*calls.backward, backward);
    return results;
  }
  void expect_same_bits(const Memory& a, const Memory& b) {
    EXPECT_EQ(down<char>(a), down<char>(b));
  }
};

Recurrence shape_of(std::int64_t samples, std::int64_t positions, std::int64_t features,
                    std::int64_t width, int layers) {
  Recurrence r;
  r.samples = samples, r.positions = positions, r.features = features, r.width = width;
  r.layers = layers;
  return r;
}

TEST_P(LibraryRecurrence, OfOneLayer) {
  expect_plain(shape_of(3, 5, 7, 6, 1), 1e-5);
}

TEST_P(LibraryRecurrence, OfStackedLayers) {
  expect_plain(shape_of(2, 4, 3, 4, 3), 1e-5);
}

TEST_P(LibraryRecurrence, OfOnePosition) {
  expect_plain(shape_of(2, 1, 4, 2, 2), 1e-5);
}

TEST_P(LibraryRecurrence, InTf32) {
  Recurrence r = shape_of(3, 5, 8, 8, 2);
  r.products = Products::tf32;
  expect_plain(r, 3e-3);
}

TEST_P(LibraryRecurrence, InBf16) {
  Recurrence r = shape_of(3, 5, 8, 8, 2);
  r.type = Type::bf16;
  expect_plain(r, 2e-2);
}

THALWEG_ON_MACHINES(LibraryRecurrence);

}  // namespace
}  // namespace thalweg::engine::gpu
