// Every algorithm of allreduce and reduce-scatter x type x operation x rank count x length, on
// ranks as threads, against sums in long double (integers: exact).
#include <array>
#include <tuple>

#include "tests/engine/comm/matrix.h"
#include "tests/engine/comm/pattern.h"

namespace thalweg::engine::comm {
namespace {

constexpr Op kOps[] = {Op::sum, Op::average, Op::min, Op::max};

/// Of one number of ranks. Made before the threads of the ranks, which share it.
class References {
 public:
  explicit References(int ranks) {
    for_each_type([&]<class T>(Type) {
      for (const Op op : kOps) {
        if (std::is_integral_v<T> && op == Op::average) continue;
        std::get<ByOp<T>>(bounds_)[static_cast<std::size_t>(op)] = bounds_of<T>(ranks, op);
      }
      for (int r = 0; r < ranks; ++r) {
        std::get<ByRank<T>>(patterns_).push_back(pattern_of<T>(r));
      }
    });
  }
  template <class T>
  const Bounds<T>& bounds(Op op) const {
    return std::get<ByOp<T>>(bounds_)[static_cast<std::size_t>(op)];
  }
  template <class T>
  const std::vector<T>& pattern(int rank) const {
    return std::get<ByRank<T>>(patterns_)[static_cast<std::size_t>(rank)];
  }

 private:
  template <class T>
  using ByOp = std::array<Bounds<T>, std::size(kOps)>;
  template <class T>
  using ByRank = std::vector<std::vector<T>>;
  std::tuple<ByOp<double>, ByOp<float>, ByOp<F16>, ByOp<Bf16>, ByOp<std::int32_t>,
             ByOp<std::int64_t>>
      bounds_;
  std::tuple<ByRank<double>, ByRank<float>, ByRank<F16>, ByRank<Bf16>, ByRank<std::int32_t>,
             ByRank<std::int64_t>>
      patterns_;
};

/// One rank's calls.
class Caller {
 public:
  /// `results`: where each rank's last result is, for the others to see.
  Caller(Group& group, const Row& row, const References& references, std::byte* memory,
         std::vector<const void*>& results)
      : group_(group), row_(row), references_(references), memory_(memory), results_(results) {}

  template <class T>
  void call(std::size_t count, Type type, Op op) {
    const std::span<T> data(reinterpret_cast<T*>(memory_), count);
    repeat(data, 0, references_.pattern<T>(group_.rank()));
    Group::Segment part{0, count};
    if (row_.collective == Collective::allreduce) {
      group_.allreduce(data.data(), count, type, op);
    } else {
      group_.reduce_scatter(data.data(), count, type, op);
      part = group_.segment(count, group_.rank());
    }
    EXPECT_EQ("", wrong_elements<T>(data.subspan(part.begin, part.count), part.begin,
                                    references_.bounds<T>(op)))
        << Matrix::name(row_, type, count, group_) << ", " << name_of(op);
    if (row_.collective == Collective::allreduce) compare(data.data(), data.size_bytes());
  }

 private:
  /// Ranks must have the same bits.
  void compare(const void* data, std::size_t bytes) {
    results_[static_cast<std::size_t>(group_.rank())] = data;
    group_.barrier();
    if (group_.rank() > 0 && bytes > 0) {
      EXPECT_EQ(0, std::memcmp(results_[0], data, bytes)) << "ranks have different bits";
    }
    group_.barrier();
  }

  Group& group_;
  const Row& row_;
  const References& references_;
  std::byte* memory_;
  std::vector<const void*>& results_;
};

class ReductionMatrix : public Matrix {};
class LongestReductions : public Matrix {};

void run_reductions(bool every_layout, std::size_t longest,
                    const std::function<void(Caller&, int ranks)>& body) {
  const int ranks = Matrix::GetParam();
  const References references(ranks);
  std::vector<const void*> results(static_cast<std::size_t>(ranks));
  Matrix::run_rows({Collective::allreduce, Collective::reduce_scatter}, every_layout, longest,
                   [&](Group& group, const Row& row, std::byte* memory) {
                     Caller caller(group, row, references, memory, results);
                     body(caller, ranks);
                   });
}

TEST_P(ReductionMatrix, ShortVectors) {
  run_reductions(true, 20011 * sizeof(double), [](Caller& caller, int ranks) {
    for_each_type([&]<class T>(Type type) {
      for (const std::size_t count : short_lengths(ranks)) {
        caller.call<T>(count, type, Op::sum);
      }
      for (const std::size_t count : {1U, 7U, 1025U}) {
        if (!std::is_integral_v<T>) caller.call<T>(count, type, Op::average);
        caller.call<T>(count, type, Op::min);
        caller.call<T>(count, type, Op::max);
      }
    });
  });
}

TEST_P(ReductionMatrix, LongVectors) {
  run_reductions(false, 5 * kMiB, [](Caller& caller, int) {
    for_each_type([&]<class T>(Type type) {
      for (const std::size_t count : long_lengths(sizeof(T))) {
        caller.call<T>(count, type, Op::sum);
      }
      caller.call<T>(64 * kKiB / sizeof(T) + 7, type, Op::max);
      if (!std::is_integral_v<T>) caller.call<T>(kMiB / sizeof(T) - 5, type, Op::average);
    });
  });
}

TEST_P(LongestReductions, RightOnFewRanks) {
  run_reductions(false, kMaxVectorBytes, [](Caller& caller, int) {
    for_each_type(
        [&]<class T>(Type type) { caller.call<T>(kMaxVectorBytes / sizeof(T), type, Op::sum); });
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, ReductionMatrix, testing::ValuesIn(kRankCounts),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Ranks, LongestReductions, testing::ValuesIn(kRankCountsOfLongest),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace thalweg::engine::comm
