// The matrix of every algorithm x type x rank count x length: what its two halves share.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/algorithms/table.h"
#include "engine/comm/reduction/half.h"
#include "tests/engine/comm/layouts.h"
#include "tests/engine/comm/threads.h"

namespace thalweg::engine::comm {

inline constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
inline constexpr std::size_t kMaxVectorBytes = 64 * kMiB;

/// The longest vectors take minutes on more.
inline constexpr int kRankCountsOfLongest[] = {2, 3, 5};

/// Elements: around nothing and the rank count, odd ones, and past the lengths where messages and
/// chunks change their ways.
inline std::vector<std::size_t> short_lengths(int ranks) {
  const auto w = static_cast<std::size_t>(ranks);
  return {0, 1, 2, w - 1, w, w + 1, 3 * w + 2, 100, 1023, 1025, 20011};
}
/// Of vectors of elements of so many bytes.
inline std::vector<std::size_t> long_lengths(std::size_t element) {
  return {64 * kKiB / element, 64 * kKiB / element + 7, kMiB / element - 5, 4 * kMiB / element + 3};
}

/// Calls f.operator()<T>(type) for every type.
template <class F>
void for_each_type(F&& f) {
  f.template operator()<double>(Type::f64);
  f.template operator()<float>(Type::f32);
  f.template operator()<F16>(Type::f16);
  f.template operator()<Bf16>(Type::bf16);
  f.template operator()<std::int32_t>(Type::i32);
  f.template operator()<std::int64_t>(Type::i64);
}

class Matrix : public testing::TestWithParam<int> {
 public:
  /// Runs `body(group, row, memory)` on ranks as threads for every row of the collectives, on every
  /// layout that it works on; or each on one. Rows that load and store get two kinds of memory, one
  /// after the other: which the other ranks do not reach, and which they do.
  template <class F>
  static void run_rows(std::initializer_list<Collective> collectives, bool every_layout,
                       std::size_t bytes, F&& body) {
    for (const Needs needs : {Needs::nothing, Needs::machines}) {
      auto possible = layouts(needs, GetParam());
      if (!every_layout && !possible.empty()) possible = {possible.back()};
      for (const auto& machine_of : possible) {
        on_machines(machine_of, {}, [&](Group& group) {
          const std::unique_ptr<std::byte[]> own(new std::byte[bytes]);
          const std::unique_ptr<Memory> shared = group.allocate(bytes);
          for (const Collective collective : collectives) {
            for (const Row& row : rows_of(collective)) {
              if (!group.layout().allows(row.needs)) continue;
              if (!every_layout && needs == Needs::machines && row.needs != needs) continue;
              group.use(collective, row.name);
              body(group, row, own.get());
              if (row.needs == Needs::shared_memory) body(group, row, shared->data());
            }
          }
        });
        if (HasFailure()) return;
      }
    }
  }

  static std::string name(const Row& row, Type type, std::size_t count, const Group& group) {
    return std::string(name_of(row.collective)) + " " + row.name + " of " + std::to_string(count) +
           " " + name_of(type) + " on rank " + std::to_string(group.rank()) + " of " +
           std::to_string(group.size()) +
           ", machines: " + std::to_string(group.layout().machines.size());
  }
};

}  // namespace thalweg::engine::comm
