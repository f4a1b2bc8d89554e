// Adasum against published numbers (Horovod's formula, arXiv:2006.02924) and a plain tree, on ranks
// as threads: flat and over machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "engine/comm/reduction/half.h"
#include "tests/engine/comm/threads.h"

namespace thalweg::engine::comm {
namespace {

using Vector = std::vector<double>;
using Ends = std::vector<std::size_t>;

/// The formula, written down once more. `round` is what a value becomes in the type's memory.
template <class Round>
Vector pair(const Vector& a, const Vector& b, const Ends& ends, Round&& round) {
  Vector result(a.size());
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    double dot = 0, aa = 0, bb = 0;
    for (std::size_t i = begin; i < end; ++i) {
      dot += a[i] * b[i];
      aa += a[i] * a[i];
      bb += b[i] * b[i];
    }
    const double left = aa < std::sqrt(DBL_MIN) ? 1 : 1 - dot / (2 * aa);
    const double right = bb < std::sqrt(DBL_MIN) ? 1 : 1 - dot / (2 * bb);
    for (std::size_t i = begin; i < end; ++i) {
      result[i] = round(left * a[i] + right * b[i]);
    }
    begin = end;
  }
  return result;
}

template <class Round>
Vector tree(std::vector<Vector> vectors, const Ends& ends, Round&& round) {
  while (vectors.size() > 1) {
    std::vector<Vector> pairs;
    for (std::size_t i = 0; i < vectors.size(); i += 2) {
      pairs.push_back(pair(vectors[i], vectors[i + 1], ends, round));
    }
    vectors = std::move(pairs);
  }
  return vectors[0];
}

double plain(double x) {
  return x;
}

/// What every rank gets, and that all get the same bits. `machine_of`: one entry per rank.
template <class T>
Vector run(const std::vector<Vector>& vectors, const Ends& ends, Type type, Adasum form,
           const std::vector<int>& machine_of) {
  std::vector<std::vector<T>> results(vectors.size());
  on_machines(machine_of, {}, [&](Group& group) {
    const auto r = static_cast<std::size_t>(group.rank());
    std::vector<T> data(vectors[r].size());
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = store<T>(vectors[r][i]);
    }
    group.adasum(data.data(), data.size(), type, ends, form);
    results[r] = std::move(data);
  });
  for (const auto& result : results) {
    EXPECT_EQ(0, std::memcmp(result.data(), results[0].data(), result.size() * sizeof(T)));
  }
  Vector values;
  for (const T x : results[0]) {
    values.push_back(static_cast<double>(load(x)));
  }
  return values;
}

Vector run(const std::vector<Vector>& vectors, const Ends& ends = {}) {
  return run<double>(vectors, ends.empty() ? Ends{vectors[0].size()} : ends, Type::f64,
                     Adasum::over_ranks, std::vector<int>(vectors.size()));
}

void expect_near(const Vector& right, const Vector& got, double relative) {
  ASSERT_EQ(right.size(), got.size());
  double largest = 0;
  for (const double x : right) {
    largest = std::max(largest, std::fabs(x));
  }
  for (std::size_t i = 0; i < right.size(); ++i) {
    ASSERT_NEAR(right[i], got[i], relative * largest) << "element " << i;
  }
}

TEST(AdasumNumbers, PairsOfTheLiterature) {
  expect_near({1, 1}, run({{1, 0}, {0, 1}}), 1e-12);    // orthogonal: the sum
  expect_near({1, 2}, run({{1, 2}, {1, 2}}), 1e-12);    // equal: the same
  expect_near({1.5, 0}, run({{1, 0}, {2, 0}}), 1e-12);  // parallel: the average
  expect_near({2.32, 3.76}, run({{3, 4}, {1, 0}}), 1e-12);
  expect_near({0, 0}, run({{1, 0}, {-1, 0}}), 1e-12);  // opposite: nothing
}

TEST(AdasumNumbers, TreeOfFour) {
  const Vector right{1.253843171754, 2.810018339869, 2.910496220198};
  expect_near(right, run({{1, 2, 3}, {0, 1, -1}, {2, 0, 1}, {-1, 1, 2}}), 1e-12);
}

TEST(AdasumNumbers, EveryTensorStandsAlone) {
  expect_near({2.32, 3.76, 1.5, 0, 1, 1}, run({{3, 4, 1, 0, 1, 0}, {1, 0, 2, 0, 0, 1}}, {2, 4, 6}),
              1e-12);
}

std::vector<Vector> noise(int ranks, std::size_t count, double scale) {
  std::mt19937_64 random(static_cast<unsigned>(ranks) * 1000003U + count);
  std::normal_distribution<double> normal;
  std::vector<Vector> vectors(static_cast<std::size_t>(ranks), Vector(count));
  for (auto& vector : vectors) {
    for (auto& x : vector) {
      x = normal(random) * scale;
    }
  }
  return vectors;
}

/// Tensors of many lengths, some of them empty.
Ends some_ends(std::size_t count) {
  Ends ends;
  for (std::size_t end = 0, step = 0; end < count; end = std::min(count, end + step), ++step) {
    ends.push_back(end);
  }
  ends.push_back(count);
  return ends;
}

template <class T>
void agree_with_the_tree(int ranks, Type type, double scale, double tolerance) {
  const auto round = [](double x) { return static_cast<double>(load(store<T>(x))); };
  for (const std::size_t count : {1U, 2U, 3U, 100U, 5001U}) {
    auto vectors = noise(ranks, count, scale);
    for (auto& vector : vectors) {
      for (auto& x : vector) {
        x = round(x);
      }
    }
    const Ends ends = some_ends(count);
    const std::vector<int> one(vectors.size());
    expect_near(tree(vectors, ends, round), run<T>(vectors, ends, type, Adasum::over_ranks, one),
                tolerance);
  }
}

class AdasumRanks : public testing::TestWithParam<int> {};

TEST_P(AdasumRanks, AgreesWithThePlainTreeInEveryType) {
  agree_with_the_tree<double>(GetParam(), Type::f64, 1, 1e-12);
  agree_with_the_tree<float>(GetParam(), Type::f32, 1, 1e-6);
  agree_with_the_tree<F16>(GetParam(), Type::f16, 1, 4e-3);
  agree_with_the_tree<Bf16>(GetParam(), Type::bf16, 1, 3e-2);
}

TEST_P(AdasumRanks, HugeAndTinyValuesDoNotOverflowOrVanish) {
  agree_with_the_tree<double>(GetParam(), Type::f64, 1e150, 1e-12);
  agree_with_the_tree<double>(GetParam(), Type::f64, DBL_MIN, 1e-12);
  agree_with_the_tree<float>(GetParam(), Type::f32, 1e36, 1e-6);
  agree_with_the_tree<float>(GetParam(), Type::f32, 1e-39, 1e-5);  // denormal
  agree_with_the_tree<F16>(GetParam(), Type::f16, 1e3, 4e-3);
}

TEST_P(AdasumRanks, OrthogonalVectorsAddUpAndParallelOnesAverage) {
  const auto ranks = static_cast<std::size_t>(GetParam());
  std::vector<Vector> orthogonal(ranks, Vector(ranks)), parallel;
  Vector sum(ranks), average(7);
  for (std::size_t r = 0; r < ranks; ++r) {
    orthogonal[r][r] = sum[r] = static_cast<double>(r) - 2.5;
    parallel.emplace_back();
    for (std::size_t i = 0; i < 7; ++i) {
      parallel[r].push_back((static_cast<double>(r) + 1) * (static_cast<double>(i) - 3));
      average[i] += parallel[r][i] / static_cast<double>(ranks);
    }
  }
  expect_near(sum, run(orthogonal), 1e-12);
  expect_near(average, run(parallel), 1e-12);
}

TEST_P(AdasumRanks, OverMachinesItIsTheTreeOfTheMachinesAverages) {
  constexpr std::size_t kCount = 1001;
  const Ends ends = some_ends(kCount);
  const int machines = GetParam();
  // Ranks per machine: 1, 2, 3, uneven; dealt out in turn, so that neighbours are apart.
  for (const std::vector<int>& each : {std::vector{1}, {2}, {3}, {1, 2}, {3, 2}}) {
    std::vector<int> machine_of;
    for (int round = 0; round < 3; ++round) {
      for (int m = 0; m < machines; ++m) {
        if (round < each[static_cast<std::size_t>(m) % each.size()]) machine_of.push_back(m);
      }
    }
    if (machine_of.size() > 24) continue;
    const auto vectors = noise(static_cast<int>(machine_of.size()), kCount, 1);
    std::vector<Vector> averages(static_cast<std::size_t>(machines), Vector(kCount));
    for (std::size_t r = 0; r < vectors.size(); ++r) {
      const auto n = std::count(machine_of.begin(), machine_of.end(), machine_of[r]);
      auto& average = averages[static_cast<std::size_t>(machine_of[r])];
      for (std::size_t i = 0; i < kCount; ++i) {
        average[i] += vectors[r][i] / static_cast<double>(n);
      }
    }
    expect_near(tree(averages, ends, plain),
                run<double>(vectors, ends, Type::f64, Adasum::over_machines, machine_of), 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, AdasumRanks, testing::Values(1, 2, 4, 8, 16));

TEST(AdasumRefuses, CountsTypesAndTensorsThatDoNotFit) {
  for (const int ranks : {3, 6}) {
    on_ranks(ranks, [&](Group& group) {
      double x = 1;
      const Ends one{1};
      try {
        group.adasum(&x, 1, Type::f64, one);
        ADD_FAILURE() << "accepted " << ranks << " ranks";
      } catch (const std::invalid_argument& e) {
        EXPECT_THAT(e.what(),
                    testing::HasSubstr("a power of two of ranks, not " + std::to_string(ranks)));
      }
      group.adasum(&x, 1, Type::f64, one, Adasum::over_machines);  // one machine: the average
      EXPECT_EQ(1.0, x);
    });
  }
  on_machines({0, 1, 2}, {}, [](Group& group) {
    double x = 1;
    EXPECT_THROW(group.adasum(&x, 1, Type::f64, Ends{1}, Adasum::over_machines),
                 std::invalid_argument);
  });
  on_ranks(2, [](Group& group) {
    double x[2] = {1, 2};
    EXPECT_THROW(group.adasum(x, 2, Type::i64, Ends{2}), std::invalid_argument);
    EXPECT_THROW(group.adasum(x, 2, Type::f64, Ends{1}), std::invalid_argument);
    EXPECT_THROW(group.adasum(x, 2, Type::f64, Ends{2, 1, 2}), std::invalid_argument);
    EXPECT_THROW(group.adasum(x, 2, Type::f64, Ends{}), std::invalid_argument);
    group.adasum(x, 0, Type::f64, Ends{});
  });
}

TEST(AdasumRequests, ManyUnderWayAtOnce) {
  on_ranks(4, [](Group& group) {
    const Vector given[] = {{1, 2, 3}, {0, 1, -1}, {2, 0, 1}, {-1, 1, 2}};
    std::vector<Vector> data(5, given[group.rank()]);
    std::vector<std::unique_ptr<Request>> requests;
    for (auto& vector : data) {
      requests.push_back(group.start_adasum(vector.data(), 3, Type::f64, Ends{3}));
    }
    for (std::size_t i = requests.size(); i-- > 0;) {
      requests[i]->wait();
      EXPECT_NEAR(2.910496220198, data[i][2], 1e-12);
    }
  });
}

}  // namespace
}  // namespace thalweg::engine::comm
