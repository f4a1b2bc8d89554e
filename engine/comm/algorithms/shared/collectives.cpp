// Short vectors are posted (small_call.h). Long ones stay in place where all ranks' lie in memory
// from Group::allocate, else they go through bounce buffers, a chunk being copied in while the one
// before is taken out.
#include "engine/comm/algorithms/shared/collectives.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/comm/algorithms/shared/control_block.h"
#include "engine/comm/algorithms/shared/small_call.h"
#include "engine/comm/algorithms/shared/sums.h"

namespace thalweg::engine::comm {
namespace {

// Bytes done between two looks at other operations: some 20 us.
constexpr std::size_t kCopiedBytes = 512 * 1024;
// Slices of different ranks share no cache line.
constexpr std::size_t kLine = 64;
// Longer chunks cost fewer waits, shorter ones stay in a core's own cache.
constexpr std::size_t kHalf = 256 * 1024;
static_assert(2 * kHalf <= ControlBlock::kBounce);
// Of allreduce.
constexpr std::size_t kParts = 4;
constexpr std::size_t kPart = ControlBlock::kBounce / kParts;
// A result is stored to this rank's memory and copied from there to the others', so much at a time
// that it is still in the first-level cache: a copy of whole lines takes them without asking for
// what the others hold, which single stores wait for.
constexpr std::size_t kHot = 32 * 1024;

struct ByteSlice {
  std::size_t begin = 0;  ///< elements
  std::size_t count = 0;
};

/// The part of `count` elements that `rank` reduces, on whole cache lines.
ByteSlice slice_of(std::size_t count, std::size_t element, int ranks, int rank) {
  const std::size_t grain = kLine / element;
  const std::size_t grains = (count + grain - 1) / grain;
  const std::size_t begin = std::min(count, first_of(grains, ranks, rank) * grain);
  return {begin, std::min(count, first_of(grains, ranks, rank + 1) * grain) - begin};
}

/// One call on a long vector.
class LongCall {
 public:
  LongCall(ControlBlock& control_block, Collective collective, const Arguments& a)
      : control_block_(control_block),
        collective_(collective),
        a_(a),
        sequence_(control_block.open(Signature::of(collective, a), ControlBlock::Uses::bounce)) {}
  Task run();

 private:
  Task reduce_in_place();
  Task copy_in_place();
  Task allreduce_by_bounce(bool copied_in, bool all_copied_in);
  Task copy_by_bounce();
  Task wait_for_stage(std::uint32_t stage);

  int me() const { return control_block_.rank(); }
  int ranks() const { return control_block_.size(); }
  std::byte* data() const { return static_cast<std::byte*>(a_.data); }
  /// What the others read.
  const std::byte* offered() const {
    return collective_ == Collective::all_to_all ? static_cast<const std::byte*>(a_.in) : data();
  }
  bool feeds(int rank) const { return collective_ != Collective::broadcast || rank == a_.root; }
  /// Bytes [begin, begin + count) of what `from` offers are for `to`, and end at `place` there.
  struct Part {
    std::size_t begin, bytes, place;
  };
  Part part(int from, int to) const;
  bool find_windows();
  /// No vector lies in common memory: then every rank has copied its first chunk in.
  bool nothing_in_common() const;
  std::byte* half(int of, std::size_t step) const {
    return control_block_.bounce(sequence_, of) + step % 2 * kHalf;
  }
  struct Slice {
    std::byte* data;
    std::size_t place;  ///< in a bounce buffer
    std::size_t bytes;
  };
  /// Bytes in a bounce buffer for a slice.
  std::size_t room() const { return kPart / static_cast<std::size_t>(ranks()) / kLine * kLine; }
  std::size_t chunk() const { return room() / a_.element * static_cast<std::size_t>(ranks()); }
  Slice slice(std::size_t step, int rank) const;
  void copy_in(std::size_t step);
  void reduce_chunk(std::size_t step);
  void copy_out(std::size_t step);

  ControlBlock& control_block_;
  Collective collective_;
  Arguments a_;
  ControlBlock::Sequence sequence_;
  std::vector<std::byte*> windows_;  ///< by rank: what it offers
};

LongCall::Part LongCall::part(int from, int to) const {
  const auto segment = [&](int rank) {
    const std::size_t begin = first_of(a_.count, ranks(), rank) * a_.element;
    return Part{begin, first_of(a_.count, ranks(), rank + 1) * a_.element - begin, begin};
  };
  switch (collective_) {
    case Collective::allgather:
      return segment(from);
    case Collective::all_to_all: {
      const auto block = static_cast<std::size_t>(to) * a_.element;
      return {block, a_.element, static_cast<std::size_t>(from) * a_.element};
    }
    case Collective::reduce_scatter:
      return segment(to);
    default:
      return {0, a_.bytes(), 0};
  }
}

bool LongCall::find_windows() {
  windows_.assign(static_cast<std::size_t>(ranks()), nullptr);
  for (int r = 0; r < ranks(); ++r) {
    if (!feeds(r)) continue;
    Regions::Place place;
    std::memcpy(&place, control_block_.inlined(sequence_, r), sizeof place);
    if (place.id == 0) return false;
    windows_[static_cast<std::size_t>(r)] = control_block_.at(r, place);
  }
  return true;
}

bool LongCall::nothing_in_common() const {
  for (int r = 0; r < ranks(); ++r) {
    Regions::Place place;
    std::memcpy(&place, control_block_.inlined(sequence_, r), sizeof place);
    if (place.id != 0) return false;
  }
  return true;
}

Task LongCall::wait_for_stage(std::uint32_t stage) {
  ControlBlockUntil arrived(control_block_, sequence_,
                            [this, stage] { return control_block_.all_at(sequence_, stage); });
  co_await arrived;
}

Task LongCall::run() {
  ControlBlockUntil free(control_block_, sequence_,
                         [this] { return control_block_.may_post(sequence_); });
  co_await free;
  const Regions::Place place =
      feeds(me()) ? control_block_.find(offered(), a_.bytes()) : Regions::Place{};
  // Without a place in common memory it will be bounce buffers in any case.
  const bool early = place.id == 0 && collective_ == Collective::allreduce;
  if (early) copy_in(0);
  control_block_.post(sequence_, &place, sizeof place);
  ControlBlockUntil posted(control_block_, sequence_,
                           [this] { return control_block_.all_posted(sequence_); });
  co_await posted;

  const bool reduces =
      collective_ == Collective::allreduce || collective_ == Collective::reduce_scatter;
  if (find_windows()) {
    if (reduces) {
      co_await reduce_in_place();
    } else {
      co_await copy_in_place();
    }
    // Until all are through, this rank's vector is read, or written.
    control_block_.set_stage(sequence_, 1);
    co_await wait_for_stage(1);
  } else if (collective_ == Collective::allreduce) {
    co_await allreduce_by_bounce(early, nothing_in_common());
  } else {
    co_await copy_by_bounce();
  }
  control_block_.close(sequence_);
}

Task LongCall::reduce_in_place() {
  const bool all = collective_ == Collective::allreduce;
  ByteSlice mine = slice_of(a_.count, a_.element, ranks(), me());
  if (!all) {
    mine.begin = first_of(a_.count, ranks(), me());
    mine.count = first_of(a_.count, ranks(), me() + 1) - mine.begin;
  }
  const auto own = static_cast<std::size_t>(me());
  std::vector<void*> into(all ? windows_.size() : 1);
  for (std::size_t done = 0; done < mine.count;) {
    const std::size_t n = std::min(kCopiedBytes / a_.element, mine.count - done);
    const std::size_t at = (mine.begin + done) * a_.element;
    const auto sources = control_block_.pointers();
    for (std::size_t r = 0; r < windows_.size(); ++r) {
      sources[r] = windows_[r] + at;
      if (all) into[r] = windows_[r] + at;
    }
    if (all) {
      std::swap(into[0], into[own]);
    } else {
      into[0] = windows_[own] + at;
    }
    reduce_all(into, sources, n, {a_.type, a_.op});
    done += n;
    if (done == mine.count) break;
    Pause pause(control_block_);
    co_await pause;
  }
}

Task LongCall::copy_in_place() {
  for (int step = 0; step < ranks(); ++step) {
    const int from = (me() + step) % ranks();  // not all from the same one at once
    if (!feeds(from)) continue;
    const Part p = part(from, me());
    const std::byte* source = windows_[static_cast<std::size_t>(from)] + p.begin;
    if (source == data() + p.place) continue;
    for (std::size_t done = 0; done < p.bytes;) {
      const std::size_t n = std::min(kCopiedBytes, p.bytes - done);
      std::memcpy(data() + p.place + done, source + done, n);
      done += n;
      Pause pause(control_block_);
      co_await pause;
    }
  }
}

// ---- allreduce by bounce buffers: each chunk is cut into a slice per rank. A rank copies the
// others' slices in, reduces its own from all, and takes the others' reduced slices out. The slice
// of a rank has the same room in all chunks: what is copied in for the chunk after the next must
// not meet what others still take out.

LongCall::Slice LongCall::slice(std::size_t step, int rank) const {
  const std::size_t begin = step * chunk();
  const ByteSlice s = slice_of(std::min(chunk(), a_.count - begin), a_.element, ranks(), rank);
  return {data() + (begin + s.begin) * a_.element,
          step % kParts * kPart + static_cast<std::size_t>(rank) * room(), s.count * a_.element};
}

void LongCall::copy_in(std::size_t step) {
  for (int r = 0; r < ranks(); ++r) {
    const Slice s = slice(step, r);
    if (r != me()) std::memcpy(control_block_.bounce(sequence_, me()) + s.place, s.data, s.bytes);
  }
}

void LongCall::reduce_chunk(std::size_t step) {
  const Slice s = slice(step, me());
  const auto sources = control_block_.pointers();
  for (int r = 0; r < ranks(); ++r) {
    sources[static_cast<std::size_t>(r)] =
        r == me() ? s.data : control_block_.bounce(sequence_, r) + s.place;
  }
  std::byte* result = control_block_.bounce(sequence_, me()) + s.place;
  for (std::size_t done = 0; done < s.bytes; done += kHot) {
    const std::size_t n = std::min(kHot, s.bytes - done);
    void* const into[] = {s.data + done};
    reduce_all(into, sources, n / a_.element, {a_.type, a_.op});
    std::memcpy(result + done, s.data + done, n);
    for (const void*& source : sources) {
      source = static_cast<const std::byte*>(source) + n;
    }
  }
}

void LongCall::copy_out(std::size_t step) {
  for (int r = 0; r < ranks(); ++r) {
    const Slice s = slice(step, r);
    if (r != me()) std::memcpy(s.data, control_block_.bounce(sequence_, r) + s.place, s.bytes);
  }
}

Task LongCall::allreduce_by_bounce(bool copied_in, bool all_copied_in) {
  // In turn k a rank copies chunk k+1 in, reduces k and takes k-2 out, and waits only for what the
  // others did a turn ago: nobody stands still because another is a little late. With kParts
  // buffers, chunk k+1 finds its own no longer read: in turn k-1 all had reduced k-3.
  const std::size_t steps = (a_.count + chunk() - 1) / chunk();
  if (!copied_in) copy_in(0);
  control_block_.set_stage(sequence_, 1);
  for (std::size_t turn = 0; turn < steps + 2; ++turn) {
    if (turn + 1 < steps) copy_in(turn + 1);
    const auto stage = static_cast<std::uint32_t>(turn + 1);
    control_block_.set_stage(sequence_, stage + 1);
    // What all have copied in was there before their postings.
    const bool needless = turn == 0 ? all_copied_in : turn >= steps && turn < 2;
    if (!needless) co_await wait_for_stage(stage);
    if (turn < steps) reduce_chunk(turn);
    if (turn >= 2) copy_out(turn - 2);
  }
}

// ---- the others by bounce buffers: a buffer holds a block for everybody, or one for each rank.

Task LongCall::copy_by_bounce() {
  const bool each =
      collective_ == Collective::reduce_scatter || collective_ == Collective::all_to_all;
  const std::size_t most = each ? kHalf / static_cast<std::size_t>(ranks()) / kLine * kLine : kHalf;
  std::size_t longest = 0;
  for (int r = 0; r < ranks(); ++r) {
    longest = std::max({longest, part(r, 0).bytes, part(0, r).bytes});
  }
  const std::size_t steps = (longest + most - 1) / most;
  const auto block = [&](Part p, std::size_t step) {
    const std::size_t skip = std::min(step * most, p.bytes);
    return Part{p.begin + skip, std::min(most, p.bytes - skip), p.place + skip};
  };
  const auto in = [&](std::size_t step) {
    if (!feeds(me())) return;
    for (int r = 0; r < (each ? ranks() : 1); ++r) {
      if (each && r == me()) continue;
      const Part p = block(part(me(), r), step);
      const std::size_t at = each ? static_cast<std::size_t>(r) * most : 0;
      std::memcpy(half(me(), step) + at, offered() + p.begin, p.bytes);
    }
  };
  const auto out = [&](std::size_t step) {
    const std::size_t at = each ? static_cast<std::size_t>(me()) * most : 0;
    const auto sources = control_block_.pointers();
    for (int r = 0; r < ranks(); ++r) {
      if (!feeds(r)) continue;
      const Part p = block(part(r, me()), step);
      const std::byte* from = r == me() ? offered() + p.begin : half(r, step) + at;
      sources[static_cast<std::size_t>(r)] = from;
      if (collective_ == Collective::reduce_scatter || from == data() + p.place) continue;
      std::memcpy(data() + p.place, from, p.bytes);
    }
    if (collective_ != Collective::reduce_scatter) return;
    const Part p = block(part(me(), me()), step);
    void* const into[] = {data() + p.begin};
    reduce_all(into, sources, p.bytes / a_.element, {a_.type, a_.op});
  };
  in(0);
  control_block_.set_stage(sequence_, 1);
  for (std::size_t step = 0; step < steps; ++step) {
    const auto stage = static_cast<std::uint32_t>(step + 1);
    co_await wait_for_stage(stage);  // all have copied this step in, and taken the last one out
    if (step + 1 < steps) in(step + 1);
    out(step);
    control_block_.set_stage(sequence_, stage + 1);
  }
}

Task small(ControlBlock& control_block, SmallCall call) {
  ControlBlockUntil done(control_block, call.sequence(), [&] { return call.advance(); });
  co_await done;
}

Task in_full(LongCall call) {
  co_await call.run();
}

/// No coroutine itself: the control block numbers calls in the order in which they are made, which
/// is that of all ranks, and not in the order in which they begin.
Task shared(const Link& link, Collective collective, const Arguments& a) {
  ControlBlock& control_block = *link.control_block();
  if (SmallCall::fits(control_block, collective, a))
    return small(control_block, SmallCall(control_block, collective, a));
  return in_full(LongCall(control_block, collective, a));
}

}  // namespace

Task allreduce_shared(const Link& link, const Layout&, Arguments a) {
  return shared(link, Collective::allreduce, a);
}
Task reduce_scatter_shared(const Link& link, const Layout&, Arguments a) {
  return shared(link, Collective::reduce_scatter, a);
}
Task allgather_shared(const Link& link, const Layout&, Arguments a) {
  return shared(link, Collective::allgather, a);
}
Task broadcast_shared(const Link& link, const Layout&, Arguments a) {
  return shared(link, Collective::broadcast, a);
}
Task all_to_all_shared(const Link& link, const Layout&, Arguments a) {
  return shared(link, Collective::all_to_all, a);
}
Task barrier_shared(const Link& link, const Layout&, Arguments a) {
  return shared(link, Collective::barrier, a);
}

}  // namespace thalweg::engine::comm
