// Allreduce on two binary trees: each reduces and spreads half of the vector, in chunks. A rank
// that has children in one tree is a leaf of the other, so all links work both ways.
// Sanders, Speck, Traeff: Two-tree algorithms for full bandwidth broadcast, reduction and scan
// (2009).
#include <algorithm>
#include <bit>
#include <cstddef>

#include "engine/comm/algorithms/functions.h"
#include "engine/comm/reduction/reduce.h"

namespace thalweg::engine::comm {
namespace {

/// Neighbours of a rank; -1: none.
struct Place {
  int parent = -1;
  int children[2] = {-1, -1};
};

/// In the tree over numbers 1 to W in order, whose root is the largest power of two: odd numbers
/// are leaves. Rank r has number r + 1, or (shifted) r + 2: what is odd in one is even in the
/// other.
Place place_of(int rank, int ranks, int shift) {
  const auto rank_at = [&](int number) { return (number - 1 - shift + ranks) % ranks; };
  const auto top = [](int n) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(n))); };
  const int number = (rank + shift) % ranks + 1;
  Place place;
  // The subtree over (below, below + size].
  int below = 0, size = ranks;
  while (true) {
    const int root = below + top(size);
    const int left = top(size) - 1, right = size - top(size);
    if (number == root) {
      if (left > 0) place.children[0] = rank_at(below + top(left));
      if (right > 0) place.children[1] = rank_at(root + top(right));
      return place;
    }
    place.parent = rank_at(root);
    size = number < root ? left : right;
    if (number > root) below = root;
  }
}

/// One tree's half of the vector.
struct Half {
  Place place;
  Arguments a;
  std::size_t chunks;
  std::size_t reduced = 0;  ///< chunks that the root has

  std::size_t begin(std::size_t k) const {
    return a.count / chunks * k + a.count % chunks * k / chunks;
  }
  std::size_t count(std::size_t k) const { return begin(k + 1) - begin(k); }
  std::size_t bytes(std::size_t k) const { return count(k) * a.element; }
  std::byte* at(std::size_t k) const {
    return static_cast<std::byte*>(a.data) + begin(k) * a.element;
  }
  std::size_t largest() const { return (a.count / chunks + 1) * a.element; }
};

/// Chunks of the children are added to this rank's and go to the parent.
Task reduce_up(Link link, Half& half) {
  const auto scratch = link.scratch(2 * kChunksAhead * half.largest());
  const auto slot = [&](std::size_t k, int child) {
    return scratch.data() +
           (2 * (k % kChunksAhead) + static_cast<std::size_t>(child)) * half.largest();
  };
  Arrivals arrivals(link);
  const auto expect = [&](std::size_t k) {
    for (int c = 0; c < 2 && k < half.chunks; ++c) {
      if (half.place.children[c] < 0) continue;
      arrivals.receive(half.place.children[c], slot(k, c), half.bytes(k));
    }
  };
  Messages sent(link);
  for (std::size_t k = 0; k < kChunksAhead; ++k) {
    expect(k);
  }
  for (std::size_t k = 0; k < half.chunks; ++k) {
    for (int c = 0; c < 2; ++c) {
      if (half.place.children[c] < 0) continue;
      co_await arrivals;
      // In the order of the tree's numbers: left, own, right.
      const void* left = c == 0 ? slot(k, c) : half.at(k);
      const void* right = c == 0 ? half.at(k) : slot(k, c);
      combine(half.at(k), left, right, half.count(k), half.a.type, half.a.op);
    }
    if (half.place.parent >= 0) sent.send(half.place.parent, half.at(k), half.bytes(k));
    half.reduced = k + 1;
    expect(k + kChunksAhead);
  }
  co_await sent;
}

/// Results go from the root down.
Task spread_down(Link link, Half& half) {
  Arrivals arrivals(link);
  const auto expect = [&](std::size_t k) {
    if (half.place.parent >= 0 && k < half.chunks) {
      arrivals.receive(half.place.parent, half.at(k), half.bytes(k));
    }
  };
  Messages sent(link);
  for (std::size_t k = 0; k < kChunksAhead; ++k) {
    expect(k);
  }
  for (std::size_t k = 0; k < half.chunks; ++k) {
    if (half.place.parent >= 0) {
      co_await arrivals;
    } else {
      co_await Until([&] { return half.reduced > k; });
    }
    for (const int child : half.place.children) {
      if (child >= 0) sent.send(child, half.at(k), half.bytes(k));
    }
    expect(k + kChunksAhead);
  }
  co_await sent;
}

}  // namespace

Task allreduce_double_tree(const Link& link, const Layout& layout, Arguments a) {
  const auto starts = segments(a.count, 2);
  std::vector<Half> halves;
  for (std::size_t t = 0; t < 2; ++t) {
    Arguments part = a;
    part.data = static_cast<std::byte*>(a.data) + starts[t] * a.element;
    part.count = starts[t + 1] - starts[t];
    halves.push_back({place_of(link.rank(), link.size(), static_cast<int>(t)), part,
                      std::max<std::size_t>(1, part.bytes() / chunk_bytes(layout))});
  }
  Together together;
  for (int t = 0; t < 2; ++t) {
    Half& half = halves[static_cast<std::size_t>(t)];
    together.add(reduce_up(link.phase(2 * t), half));
    together.add(spread_down(link.phase(2 * t + 1), half));
  }
  co_await together;
}

}  // namespace thalweg::engine::comm
