#include "engine/comm/algorithms/shared/control_block.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <utility>

#include "engine/comm/algorithms/call.h"

namespace thalweg::engine::comm {
namespace {

constexpr std::size_t kSlots = 32;
// How often a blocking call looks before it looks after other things: about 10 us.
constexpr int kLooks = 500;
constexpr int kOversubscribedLooks = 100;
// How long the last words of a rank that has left may be on their way.
constexpr std::chrono::milliseconds kDoubt{50};

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 32U) * 0x9E3779B97F4A7C15U;
  return x ^ x >> 29U;
}

struct Cores {
  cpu_set_t set;
};

/// Whether the ranks have fewer cores between them than they are.
bool are_oversubscribed(const std::vector<Cores>& all) {
  cpu_set_t together;
  CPU_ZERO(&together);
  for (const Cores& cores : all) {
    CPU_OR(&together, &together, &cores.set);
  }
  return CPU_COUNT(&together) < static_cast<int>(all.size());
}

}  // namespace

Signature Signature::of(Collective collective, const Arguments& a) {
  const auto root = static_cast<std::uint32_t>(a.root);
  const auto type = static_cast<std::uint32_t>(a.type);
  const auto op = static_cast<std::uint32_t>(a.op);
  return {a.count, a.element, static_cast<std::uint32_t>(collective), root << 8U | type << 4U | op};
}

std::uint32_t Signature::hash() const {
  const std::uint64_t words = static_cast<std::uint64_t>(kind) << 32U | detail;
  return static_cast<std::uint32_t>(mixed(mixed(count) + mixed(element + 1) * 3 + words * 5));
}

std::string Signature::text() const {
  Arguments a{nullptr, nullptr, count, element, Type::f32, Op::sum, 0};
  if (kind == kShardSum) {
    return Call{"sum", Collective::allreduce, a, static_cast<int>(detail)}.text();
  }
  a.type = static_cast<Type>(detail >> 4U & 15U);
  a.op = static_cast<Op>(detail & 15U);
  a.root = static_cast<int>(detail >> 8U);
  const auto collective = static_cast<Collective>(kind);
  return Call{name_of(collective), collective, a}.text();
}

/// An operation as one rank has posted it. `tag` is written last.
struct alignas(64) ControlBlock::Slot {
  std::atomic<std::uint64_t> tag;  ///< hash of the signature, then the operation's number
  std::byte data[kInline];
  std::uint32_t finished;  ///< low half of what the rank had finished by then
  alignas(64) Signature signature;
  alignas(64) std::atomic<std::uint64_t> stage;  ///< number, then stage
  alignas(64) Regions::Place places[kPlaces];
};

/// What each rank brings. Zero at first.
struct alignas(64) ControlBlock::Lines {
  std::atomic<std::uint64_t> finished;
  std::atomic<std::int64_t> left;  ///< when, on the machine's clock: the rank will not come again
  alignas(64) Slot slots[kSlots];
  alignas(4096) std::byte eager[2][kEager];
  std::byte bounce[2][kBounce];
};

Task ControlBlock::make(const Link& link, const Regions& regions, std::uint64_t& work,
                        std::unique_ptr<ControlBlock>& out) {
  std::unique_ptr<CommonMemory> memory;
  co_await share_memory(link, sizeof(Lines), memory);
  if (!memory) co_return;
  Cores mine{};
  sched_getaffinity(0, sizeof mine.set, &mine.set);
  std::vector<Cores> all;
  const Link third = link.phase(2);
  co_await tell_all(third, mine, all);
  out.reset(new ControlBlock(std::move(memory), link, regions, work, are_oversubscribed(all)));
}

ControlBlock::ControlBlock(std::unique_ptr<CommonMemory> memory, const Link& link,
                           const Regions& regions, std::uint64_t& work, bool oversubscribed)
    : memory_(std::move(memory)),
      members_(link.members().begin(), link.members().end()),
      rank_(link.rank()),
      transport_(link.transport()),
      regions_(regions),
      work_(work),
      oversubscribed_(oversubscribed),
      looks_(oversubscribed ? kOversubscribedLooks : kLooks),
      pointers_(members_.size()),
      known_(members_.size()) {
  for (const int member : members_) {
    lines_.push_back(reinterpret_cast<Lines*>(memory_->of(member)));
  }
}

ControlBlock::~ControlBlock() {
  lines_[static_cast<std::size_t>(rank_)]->left.store(
      std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_release);
}

std::size_t ControlBlock::small_limit(Collective collective) const {
  // Every rank reduces all vectors: with many ranks it pays earlier to share that work.
  if (collective == Collective::allreduce) return kEager / 2 / static_cast<std::size_t>(size());
  return kEager / 4;
}

ControlBlock::Slot& ControlBlock::slot(int of, const Sequence& sequence) const {
  return lines_[static_cast<std::size_t>(of)]->slots[sequence.number % kSlots];
}

ControlBlock::Sequence ControlBlock::open(const Signature& signature, Uses uses) {
  Sequence sequence;
  sequence.number = ++opened_;
  sequence.tag =
      static_cast<std::uint64_t>(signature.hash()) << 32U | (sequence.number & UINT32_MAX);
  sequence.signature = signature;
  if (uses != Uses::nothing) {
    const int which = uses == Uses::bounce;
    sequence.buffers = static_cast<std::uint32_t>(turns_[which]++ % 2);
    sequence.waits_for = std::exchange(users_[which][sequence.buffers], sequence.number);
  }
  return sequence;
}

bool ControlBlock::may_post(const Sequence& sequence) {
  return finished_by_all(sequence.waits_for) &&
         (sequence.number <= kSlots || finished_by_all(sequence.number - kSlots));
}

bool ControlBlock::finished_by_all(std::uint64_t number) {
  if (number <= all_finished_) return true;
  known_[static_cast<std::size_t>(rank_)] = finished_;
  for (std::size_t r = 0; r < known_.size(); ++r) {
    if (known_[r] >= number) continue;
    known_[r] = lines_[r]->finished.load(std::memory_order_acquire);
    if (known_[r] < number) return false;
  }
  all_finished_ = *std::min_element(known_.begin(), known_.end());
  return true;
}

void ControlBlock::post(const Sequence& sequence, const void* data, std::size_t bytes) {
  Slot& mine = slot(rank_, sequence);
  if (bytes > 0) std::memcpy(mine.data, data, bytes);
  mine.finished = static_cast<std::uint32_t>(finished_);
  mine.signature = sequence.signature;
  mine.tag.store(sequence.tag, std::memory_order_release);
}

bool ControlBlock::posted(const Sequence& sequence, int by) {
  const Slot& theirs = slot(by, sequence);
  const std::uint64_t tag = theirs.tag.load(std::memory_order_acquire);
  if (tag == sequence.tag) {
    // The peer has told the low half of its number, which is less than 2^32 behind.
    const auto behind = static_cast<std::uint32_t>(sequence.number) - theirs.finished;
    auto& known = known_[static_cast<std::size_t>(by)];
    known = std::max(known, sequence.number - behind);
    return true;
  }
  if (tag != 0 && (tag & UINT32_MAX) == (sequence.tag & UINT32_MAX)) mismatch(sequence, by);
  return false;
}

bool ControlBlock::all_posted(const Sequence& sequence) {
  for (int r = 0; r < size(); ++r) {
    if (r != rank_ && !posted(sequence, r)) return false;
  }
  return true;
}

const void* ControlBlock::inlined(const Sequence& sequence, int by) const {
  return slot(by, sequence).data;
}
std::byte* ControlBlock::eager(const Sequence& sequence, int of) const {
  return lines_[static_cast<std::size_t>(of)]->eager[sequence.buffers];
}
std::byte* ControlBlock::bounce(const Sequence& sequence, int of) const {
  return lines_[static_cast<std::size_t>(of)]->bounce[sequence.buffers];
}
Regions::Place* ControlBlock::places(const Sequence& sequence, int of) const {
  return slot(of, sequence).places;
}

void ControlBlock::set_stage(const Sequence& sequence, std::uint32_t stage) {
  slot(rank_, sequence).stage.store(sequence.number << 32U | stage, std::memory_order_release);
}

bool ControlBlock::all_at(const Sequence& sequence, std::uint32_t stage) const {
  for (int r = 0; r < size(); ++r) {
    if (r == rank_) continue;
    const std::uint64_t there = slot(r, sequence).stage.load(std::memory_order_acquire);
    if (there >> 32U != (sequence.number & UINT32_MAX) || (there & UINT32_MAX) < stage)
      return false;
  }
  return true;
}

void ControlBlock::close(const Sequence& sequence) {
  if (sequence.number != finished_ + 1) {
    finished_beyond_ |= 1ULL << (sequence.number - finished_ - 2);
    return;
  }
  ++finished_;
  for (; finished_beyond_ & 1U; finished_beyond_ >>= 1U) {
    ++finished_;
  }
  finished_beyond_ >>= 1U;
  lines_[static_cast<std::size_t>(rank_)]->finished.store(finished_, std::memory_order_release);
}

void ControlBlock::check_present(const Sequence& sequence) {
  int first = -1;
  std::int64_t when = 0;
  for (int r = 0; r < size(); ++r) {
    const Lines& theirs = *lines_[static_cast<std::size_t>(r)];
    const std::int64_t left = r == rank_ ? 0 : theirs.left.load(std::memory_order_acquire);
    if (!left || theirs.finished.load(std::memory_order_acquire) >= sequence.number) continue;
    if (first < 0 || left < when) {
      first = r;
      when = left;
    }
  }
  if (first < 0) return;
  const auto doubt = std::chrono::steady_clock::now() + kDoubt;
  while (std::chrono::steady_clock::now() < doubt) {
    transport_.progress();  // it may have told why
  }
  fail_on(first, "is gone: it left before the end of " + sequence.signature.text());
}

void ControlBlock::mismatch(const Sequence& sequence, int by) {
  fail_on(by, "calls " + slot(by, sequence).signature.text() + " where rank " +
                  std::to_string(transport_.rank()) + " calls " + sequence.signature.text());
}

void ControlBlock::fail_on(int rank, const std::string& what) {
  const int member = members_[static_cast<std::size_t>(rank)];
  const std::string& node = transport_.node_of(member);
  const CommError error("rank " + std::to_string(member) + " on node " + node + " " + what, member,
                        node);
  transport_.give_up(error);
  throw error;
}

}  // namespace thalweg::engine::comm
