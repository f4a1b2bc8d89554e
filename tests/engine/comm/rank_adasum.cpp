#include "tests/engine/comm/rank_adasum.h"

#include <bit>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "engine/comm/algorithms/table.h"

namespace thalweg::engine::comm {
namespace {

using Vector = std::vector<double>;

/// Adasum combines `vectors` vectors, of which this rank brings number `mine`, as all other ranks
/// of its machine do where machines are combined.
struct Case {
  Group& group;
  Adasum form;
  std::size_t vectors;
  std::size_t mine;

  void expect(const Vector& given, const Vector& right, const std::vector<std::size_t>& ends,
              const char* what) const {
    Vector data = given;
    group.adasum(data.data(), data.size(), Type::f64, ends, form);
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (!(std::abs(data[i] - right[i]) <= 1e-12 * std::max(1.0, std::abs(right[i])))) {
        throw std::runtime_error(std::string("wrong Adasum of ") + what + " vectors: element " +
                                 std::to_string(i) + " of " + std::to_string(data.size()) + " is " +
                                 std::to_string(data[i]));
      }
    }
  }
};

/// Published pairs and a tree of four.
void check_literature(const Case& c) {
  struct Pair {
    Vector a, b, right;
  };
  const Pair pairs[] = {{{1, 0}, {0, 1}, {1, 1}},
                        {{1, 2}, {1, 2}, {1, 2}},
                        {{1, 0}, {2, 0}, {1.5, 0}},
                        {{3, 4}, {1, 0}, {2.32, 3.76}},
                        {{1, 0}, {-1, 0}, {0, 0}}};
  if (c.vectors == 2) {
    for (const Pair& pair : pairs) {
      c.expect(c.mine == 0 ? pair.a : pair.b, pair.right, {2}, "two published");
    }
  }
  if (c.vectors == 4) {
    const Vector given[] = {{1, 2, 3}, {0, 1, -1}, {2, 0, 1}, {-1, 1, 2}};
    c.expect(given[c.mine], {1.253843171754, 2.810018339869, 2.910496220198}, {3},
             "four published");
  }
}

void check_directions(const Case& c, std::size_t count) {
  Vector orthogonal(count), sum(count), parallel(count), average(count);
  for (std::size_t i = 0; i < count; ++i) {
    sum[i] = static_cast<double>(i % 1009) + 1;
    if (i % c.vectors == c.mine) orthogonal[i] = sum[i];
    parallel[i] = static_cast<double>(c.mine + 1) * (static_cast<double>(i % 13) - 6.5);
    average[i] = static_cast<double>(c.vectors + 1) / 2 * (static_cast<double>(i % 13) - 6.5);
  }
  const std::vector<std::size_t> ends{count / 3, count / 3, count};
  c.expect(orthogonal, sum, ends, "orthogonal");
  c.expect(parallel, average, ends, "parallel");
}

}  // namespace

int check_adasum(Group& group) {
  const Layout& layout = group.layout();
  int checked = 0;
  for (const Adasum form : {Adasum::over_ranks, Adasum::over_machines}) {
    const bool machines = form == Adasum::over_machines;
    const Case c{group, form,
                 machines ? layout.machines.size() : static_cast<std::size_t>(layout.ranks),
                 static_cast<std::size_t>(machines ? layout.machine : layout.rank)};
    if (!std::has_single_bit(c.vectors)) continue;
    check_literature(c);
    for (const std::size_t count : {5U, 1000U, 300000U}) {
      check_directions(c, count);
    }
    ++checked;
  }
  return checked;
}

}  // namespace thalweg::engine::comm
