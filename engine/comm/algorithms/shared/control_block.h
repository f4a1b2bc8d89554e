// What the ranks of one machine tell each other in shared memory: which operation each has come to,
// where its vector is, how far it is.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/algorithms/collective.h"
#include "engine/comm/algorithms/shared/common_memory.h"

namespace thalweg::engine::comm {

/// What a rank calls; all ranks must say the same.
struct Signature {
  std::uint64_t count = 0;
  std::uint64_t element = 0;  ///< bytes
  std::uint32_t kind = 0;     ///< a Collective, or kShardSum
  std::uint32_t detail = 0;   ///< op, type and root; leaves of a shard sum

  static constexpr std::uint32_t kShardSum = 100;
  static Signature of(Collective collective, const Arguments& a);
  std::uint32_t hash() const;
  std::string text() const;  ///< for people
};

/// Operations take a slot each, in turn. A rank posts an operation in its own slot, the others read
/// it there; a slot is used again only when all ranks have finished the operation in it. Used by
/// one thread at a time. Errors are CommError that name the rank.
class ControlBlock {
 public:
  static constexpr std::size_t kInline = 52;  ///< bytes that fit into a posting's cache line
  static constexpr std::size_t kEager = 64 * 1024;
  static constexpr std::size_t kBounce = 2048 * 1024;
  static constexpr std::size_t kPlaces = 64;

  /// All ranks of the link, which are on one machine, make theirs. `out` stays empty on all of them
  /// where one has no memory to share. `work` counts what happens. Uses phases 0 to 2.
  static Task make(const Link& link, const Regions& regions, std::uint64_t& work,
                   std::unique_ptr<ControlBlock>& out);
  ~ControlBlock();
  ControlBlock(const ControlBlock&) = delete;
  ControlBlock& operator=(const ControlBlock&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(lines_.size()); }
  /// Bytes up to which what a rank brings is copied for the others.
  std::size_t small_limit(Collective collective) const;
  /// Room for a pointer per rank, to work with between two waits.
  std::span<const void*> pointers() { return pointers_; }

  enum class Uses { nothing, eager, bounce };
  /// An operation's sequence number, and what goes with it.
  struct Sequence {
    std::uint64_t number = 0;
    std::uint64_t tag = 0;        ///< what a posting of it begins with
    std::uint64_t waits_for = 0;  ///< the operation that had its buffers before
    std::uint32_t buffers = 0;    ///< which of the eager or bounce buffers it has
    Signature signature;
  };
  /// The next operation. All ranks open the same ones in the same order.
  Sequence open(const Signature& signature, Uses uses);
  /// Its slot and its buffers are free on all ranks.
  bool may_post(const Sequence& sequence);
  void post(const Sequence& sequence, const void* data, std::size_t bytes);  ///< up to kInline
  /// Throws where `by` has posted something else.
  bool posted(const Sequence& sequence, int by);
  bool all_posted(const Sequence& sequence);
  const void* inlined(const Sequence& sequence, int by) const;  ///< what `by` has posted
  std::byte* eager(const Sequence& sequence, int of) const;     ///< kEager bytes
  std::byte* bounce(const Sequence& sequence, int of) const;    ///< kBounce bytes
  Regions::Place* places(const Sequence& sequence,
                         int of) const;  ///< kPlaces, for more than fit inline

  void set_stage(const Sequence& sequence, std::uint32_t stage);
  bool all_at(const Sequence& sequence, std::uint32_t stage) const;
  /// This rank touches nothing of others any more in this operation.
  void close(const Sequence& sequence);
  bool finished_by_all(std::uint64_t number);

  /// Where this rank's vector is for others, and where others' are.
  Regions::Place find(const void* data, std::size_t bytes) const {
    return regions_.find(data, bytes, members_);
  }
  std::byte* at(int rank, Regions::Place place) const {
    return regions_.at(members_[static_cast<std::size_t>(rank)], place);
  }

  /// Looks until `done`, for a while: spins where every rank has a core, else gives the core away.
  template <class F>
  bool spin(F&& done) {
    for (int i = 0; i < looks_; ++i) {
      if (done()) return true;
      if (oversubscribed_) {
        sched_yield();
      } else {
        relax();
      }
    }
    return done();
  }
  /// Whether operations may spin: their caller has nothing else to do.
  void set_blocking(bool blocking) { blocking_ = blocking; }
  bool blocking() const { return blocking_; }
  /// Something has happened, so this is no stall.
  void note_work() { ++work_; }
  /// Throws where a rank has left that has not posted.
  void check_present(const Sequence& sequence);

 private:
  struct Slot;
  struct Lines;
  ControlBlock(std::unique_ptr<CommonMemory> memory, const Link& link, const Regions& regions,
               std::uint64_t& work, bool oversubscribed);
  Slot& slot(int of, const Sequence& sequence) const;
  [[noreturn]] void mismatch(const Sequence& sequence, int by);
  [[noreturn]] void fail_on(int rank, const std::string& what);
  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::unique_ptr<CommonMemory> memory_;
  std::vector<int> members_;
  int rank_;
  Transport& transport_;
  const Regions& regions_;
  std::uint64_t& work_;
  bool oversubscribed_;
  int looks_;
  bool blocking_ = false;
  std::vector<Lines*> lines_;  ///< by rank
  std::vector<const void*> pointers_;
  std::vector<std::uint64_t> known_;   ///< by rank: it has finished all operations up to here
  std::uint64_t all_finished_ = 0;     ///< the least of them, as of the last look
  std::uint64_t opened_ = 0;           ///< the last operation
  std::uint64_t finished_ = 0;         ///< this rank: all up to here
  std::uint64_t finished_beyond_ = 0;  ///< bit i: finished_ + 2 + i
  std::uint64_t turns_[2] = {};        ///< of eager and bounce buffers
  std::uint64_t users_[2][2] = {};     ///< the last operation that took them
};

/// `co_await control_block_until(control_block, sequence, [&] {...})`: waits for what other ranks
/// do on the control block.
template <class F>
class ControlBlockUntil : public Awaitable {
 public:
  ControlBlockUntil(ControlBlock& control_block, const ControlBlock::Sequence& sequence,
                    F condition)
      : control_block_(control_block), sequence_(sequence), condition_(std::move(condition)) {}
  bool ready() override {
    if (control_block_.blocking() ? control_block_.spin(condition_) : condition_()) {
      control_block_.note_work();
      return true;
    }
    control_block_.check_present(sequence_);
    return false;
  }

 private:
  ControlBlock& control_block_;
  const ControlBlock::Sequence& sequence_;
  F condition_;
};

/// Lets other operations go on in between: `co_await Pause(control_block)`.
class Pause : public Awaitable {
 public:
  explicit Pause(ControlBlock& control_block) : control_block_(control_block) {}
  bool ready() override {
    control_block_.note_work();
    return control_block_.blocking() || std::exchange(looked_, true);
  }

 private:
  ControlBlock& control_block_;
  bool looked_ = false;
};

}  // namespace thalweg::engine::comm
