// Every algorithm of the collectives that move data x rank count x length, on ranks as threads.
#include <atomic>

#include "tests/engine/comm/matrix.h"
#include "tests/engine/comm/pattern.h"

namespace thalweg::engine::comm {
namespace {

using Bytes = std::span<std::byte>;

/// One rank's calls; the first `longest` bytes of the memory are for results.
class Mover {
 public:
  Mover(Group& group, const Row& row, std::byte* memory, std::size_t longest)
      : group_(group), row_(row), memory_(memory), out_(memory + longest) {
    for (int r = 0; r < group.size(); ++r) {
      const auto numbers = pattern_of<std::int32_t>(r);
      std::vector<std::byte> bytes(kPeriod);
      std::transform(numbers.begin(), numbers.end(), bytes.begin(),
                     [](std::int32_t x) { return static_cast<std::byte>(x); });
      patterns_.push_back(std::move(bytes));
    }
  }

  std::size_t ranks() const { return static_cast<std::size_t>(group_.size()); }

  void allgather(std::size_t each) {
    clear(each * ranks());
    const Bytes mine(out_, each);
    repeat(mine, 0, pattern(rank()));
    group_.allgather(mine.data(), memory_, each);
    for (std::size_t r = 0; r < ranks(); ++r) {
      expect({memory_ + r * each, each}, 0, r, each);
    }
  }

  void allgather_segments(std::size_t count, Type type) {
    const std::size_t element = size_of(type);
    clear(count * element);
    const auto own = group_.segment(count, group_.rank());
    repeat(Bytes(memory_ + own.begin * element, own.count * element), 0, pattern(rank()));
    group_.allgather_segments(memory_, count, type);
    for (std::size_t r = 0; r < ranks(); ++r) {
      const auto its = group_.segment(count, static_cast<int>(r));
      expect({memory_ + its.begin * element, its.count * element}, 0, r, count);
    }
  }

  void broadcast(std::size_t bytes, std::size_t root) {
    clear(bytes);
    if (root == rank()) repeat(Bytes(memory_, bytes), 0, pattern(root));
    group_.broadcast(memory_, bytes, static_cast<int>(root));
    expect({memory_, bytes}, 0, root, bytes);
  }

  void all_to_all(std::size_t each) {
    clear(each * ranks());
    for (std::size_t r = 0; r < ranks(); ++r) {
      repeat(Bytes(out_ + r * each, each), shift(r), pattern(rank()));
    }
    group_.all_to_all(out_, memory_, each);
    for (std::size_t r = 0; r < ranks(); ++r) {
      expect({memory_ + r * each, each}, shift(rank()), r, each);
    }
  }

 private:
  std::size_t rank() const { return static_cast<std::size_t>(group_.rank()); }
  const std::vector<std::byte>& pattern(std::size_t rank) const { return patterns_[rank]; }
  static std::size_t shift(std::size_t to) { return to * 37; }
  void clear(std::size_t bytes) {
    if (bytes > 0) std::memset(memory_, 0, bytes);
  }

  void expect(Bytes data, std::size_t first, std::size_t from, std::size_t length) const {
    for (std::size_t done = 0; done < data.size();) {
      const std::size_t at = (first + done) % kPeriod;
      const std::size_t n = std::min(kPeriod - at, data.size() - done);
      if (std::memcmp(data.data() + done, pattern(from).data() + at, n) != 0) {
        ADD_FAILURE() << Matrix::name(row_, Type::f32, length, group_) << ": wrong bytes from rank "
                      << from << " near byte " << done;
        return;
      }
      done += n;
    }
  }

  Group& group_;
  const Row& row_;
  std::byte* memory_;
  std::byte* out_;
  std::vector<std::vector<std::byte>> patterns_;
};

/// `bytes`: of the whole vector, all ranks' parts.
void move(Mover& mover, Collective collective, std::size_t bytes, bool every_root) {
  if (collective == Collective::allgather) {
    mover.allgather(bytes / mover.ranks());
    for (const Type type : {Type::f64, Type::f32, Type::f16}) {
      mover.allgather_segments(bytes / size_of(type), type);
    }
  } else if (collective == Collective::all_to_all) {
    mover.all_to_all(bytes / mover.ranks());
  } else if (every_root) {
    for (std::size_t root = 0; root < mover.ranks(); ++root) {
      mover.broadcast(bytes, root);
    }
  } else {
    mover.broadcast(bytes, bytes % mover.ranks());
  }
}

class MoveMatrix : public Matrix {};
class LongestMoves : public Matrix {};

void run_moves(bool every_layout, const std::vector<std::size_t>& lengths) {
  const std::size_t longest = lengths.back();
  Matrix::run_rows({Collective::allgather, Collective::broadcast, Collective::all_to_all},
                   every_layout, 2 * longest, [&](Group& group, const Row& row, std::byte* memory) {
                     Mover mover(group, row, memory, longest);
                     for (const std::size_t bytes : lengths) {
                       move(mover, row.collective, bytes, every_layout);
                     }
                   });
}

TEST_P(MoveMatrix, ShortVectors) {
  std::vector<std::size_t> lengths = short_lengths(GetParam());
  lengths.push_back(lengths.back() * sizeof(double));
  run_moves(true, lengths);
}

TEST_P(MoveMatrix, LongVectors) {
  run_moves(false, long_lengths(1));
}

TEST_P(LongestMoves, RightOnFewRanks) {
  run_moves(false, {kMaxVectorBytes});
}

TEST_P(MoveMatrix, NobodyLeavesABarrierBeforeTheLastHasCome) {
  std::atomic<int> arrived{0};
  std::vector<int> rounds(static_cast<std::size_t>(GetParam()));
  run_rows({Collective::barrier}, true, 0, [&](Group& group, const Row& row, std::byte*) {
    int& round = rounds[static_cast<std::size_t>(group.rank())];
    for (int i = 0; i < 50; ++i) {
      ++arrived;
      group.barrier();
      EXPECT_GE(arrived.load(), ++round * group.size()) << row.name;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, MoveMatrix, testing::ValuesIn(kRankCounts),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Ranks, LongestMoves, testing::ValuesIn(kRankCountsOfLongest),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace thalweg::engine::comm
