// Allreduce in segments: of each, every rank owns a slice, gets it from all others, adds it up and
// sends it to all. The next segments are on their way meanwhile.
//
// Two steps whatever W is, and as few bytes as a ring; a segment stays in the cache from its
// arrival until the result has left.
#include <algorithm>
#include <cstddef>
#include <deque>

#include "engine/comm/algorithms/functions.h"
#include "engine/comm/reduction/reduce.h"

namespace thalweg::engine::comm {
namespace {

// Some of these fit into a core's cache, and one takes many times as long as a message's way. With
// its header it fills four of TCP's packets of 64 KiB, made of Ethernet's frames, and no fifth.
constexpr std::size_t kSliceBytes = 254 * 1024;
constexpr std::size_t kAtOnce = 3;

/// Where the slices are.
class Segments {
 public:
  Segments(const Arguments& a, int ranks)
      : data_(static_cast<std::byte*>(a.data)),
        element_(a.element),
        count_(a.count),
        ranks_(static_cast<std::size_t>(ranks)),
        each_(kSliceBytes / a.element * ranks_),
        // The last segment is longer rather than very short.
        number_(std::max<std::size_t>(1, (a.count + each_ * 3 / 4) / each_)) {}
  std::size_t number() const { return number_; }
  std::size_t max_bytes() const {
    const std::size_t last = count_ - (number_ - 1) * each_;
    return (std::max(last, number_ > 1 ? each_ : 0) / ranks_ + 1) * element_;
  }
  std::size_t count(std::size_t segment, int rank) const {
    return start(segment, rank + 1) - start(segment, rank);
  }
  std::size_t bytes(std::size_t segment, int rank) const { return count(segment, rank) * element_; }
  std::byte* at(std::size_t segment, int rank) const {
    return data_ + start(segment, rank) * element_;
  }

 private:
  std::size_t start(std::size_t segment, int rank) const {
    const std::size_t first = segment * each_;
    const std::size_t length = segment + 1 == number_ ? count_ - first : each_;
    return first + length * static_cast<std::size_t>(rank) / ranks_;
  }

  std::byte* data_;
  std::size_t element_, count_, ranks_, each_, number_;
};

/// Combines this rank's slice with the others' in the order of the ranks.
void combine_all(std::byte* mine, std::byte* theirs, std::size_t apart, int me, int ranks,
                 std::size_t count, Type type, Op op) {
  std::byte* sum = nullptr;
  for (int r = 0; r < ranks; ++r) {
    std::byte* vector = mine;
    if (r != me) {
      vector = theirs;
      theirs += apart;
    }
    if (r == 0) {
      sum = vector;
      continue;
    }
    std::byte* into = r + 1 == ranks ? mine : sum;  // until its turn, `mine` is needed
    combine(into, sum, vector, count, type, op);
    sum = into;
  }
}

}  // namespace

Task allreduce_segmented(const Link& link, const Layout&, Arguments a) {
  const int me = link.rank(), ranks = link.size();
  const Segments slices(a, ranks);
  const std::size_t apart = slices.max_bytes();
  const std::size_t ahead = std::min(kAtOnce, slices.number());
  const auto scratch = link.scratch(ahead * apart * static_cast<std::size_t>(ranks - 1));
  const auto theirs = [&](std::size_t segment) {
    return scratch.data() + segment % ahead * apart * static_cast<std::size_t>(ranks - 1);
  };
  Arrivals arrivals(link);
  Messages results(link);
  Messages results_sent(link);
  std::deque<Messages> sent;
  for (std::size_t i = 0; i < ahead; ++i) {
    sent.emplace_back(link);
  }
  const auto begin = [&](std::size_t segment) {
    std::byte* place = theirs(segment);
    for (int step = 1; step < ranks; ++step) {
      const int from = step <= me ? step - 1 : step;
      arrivals.receive(from, place, slices.bytes(segment, me));
      place += apart;
    }
    // Starting above oneself, so that not all ranks send to rank 0 first.
    for (int step = 1; step < ranks; ++step) {
      const int to = (me + step) % ranks;
      sent[segment % ahead].send(to, slices.at(segment, to), slices.bytes(segment, to));
    }
  };
  for (std::size_t segment = 0; segment < ahead; ++segment) {
    begin(segment);
  }
  for (std::size_t segment = 0; segment < slices.number(); ++segment) {
    Messages& before = sent[segment % ahead];
    co_await before;  // the results go to the same place
    for (int step = 1; step < ranks; ++step) {
      const int owner = (me + ranks - step) % ranks;
      results.receive(owner, slices.at(segment, owner), slices.bytes(segment, owner));
    }
    for (int step = 1; step < ranks; ++step) {
      co_await arrivals;
    }
    std::byte* mine = slices.at(segment, me);
    combine_all(mine, theirs(segment), apart, me, ranks, slices.count(segment, me), a.type, a.op);
    for (int step = 1; step < ranks; ++step) {
      results_sent.send((me + step) % ranks, mine, slices.bytes(segment, me));
    }
    if (segment + ahead < slices.number()) begin(segment + ahead);
  }
  co_await results;
  co_await results_sent;
}

}  // namespace thalweg::engine::comm
