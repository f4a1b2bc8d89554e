// What a collective algorithm sees: its ranks, messages between them that belong to this call
// alone, and memory to work in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "engine/comm/algorithms/scratch.h"
#include "engine/comm/algorithms/task.h"
#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

class ControlBlock;
class Messages;

/// Ranks count from 0 within the link. Copies are cheap.
class Link {
 public:
  /// `members`: the transport's ranks, in the order of this link's; must stay. `tag` belongs to
  /// this call, and so do the next kPhases - 1 tags.
  Link(Transport& transport, Scratch& scratch, std::span<const int> members, int rank,
       std::uint64_t tag)
      : transport_(&transport), scratch_(&scratch), members_(members), rank_(rank), tag_(tag) {}

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  /// A rank as the transport counts them.
  int world_rank(int rank) const { return members_[static_cast<std::size_t>(rank)]; }
  std::span<const int> members() const { return members_; }
  Transport& transport() const { return *transport_; }
  std::uint64_t tag() const { return tag_; }
  /// Where these ranks share memory (shared/control_block.h); nullptr: they do not.
  ControlBlock* control_block() const { return control_block_; }
  void set_control_block(ControlBlock* control_block) { control_block_ = control_block; }

  /// None yet; to be filled.
  Messages messages() const;
  /// co_await link.send(...), or the like.
  Messages send(int to, const void* data, std::size_t bytes) const;
  Messages receive(int from, void* data, std::size_t bytes) const;
  /// Both at once, so that neither side waits for the other to listen first.
  Messages exchange(int to, const void* out, std::size_t out_bytes, int from, void* in,
                    std::size_t in_bytes) const;

  /// Memory until the lease ends, aligned to 64 bytes, not zeroed.
  Scratch::Lease scratch(std::size_t bytes) const { return scratch_->lease(bytes); }

  static constexpr int kPhases = 256;
  static constexpr int kCheckPhase = kPhases - 1;  ///< not for algorithms: see check.h
  /// The same ranks; messages of different phases never meet. For concurrent tasks.
  Link phase(int number) const {
    return {*transport_, *scratch_, members_, rank_, tag_ + static_cast<std::uint64_t>(number)};
  }
  /// Some of the ranks, which `members` names as the transport counts them; this rank is number
  /// `rank` of them. `members` must stay.
  Link subgroup(std::span<const int> members, int rank, int phase_number) const {
    return {*transport_, *scratch_, members, rank, tag_ + static_cast<std::uint64_t>(phase_number)};
  }

 private:
  Transport* transport_;
  Scratch* scratch_;
  std::span<const int> members_;
  int rank_;
  std::uint64_t tag_;
  ControlBlock* control_block_ = nullptr;
};

/// Messages under way; `co_await` waits for all of them. It may be filled and awaited again.
/// Messages between two ranks with the same Link arrive in the order of their posting.
class Messages : public Awaitable {
 public:
  /// `where`: what all of them stand in, on both sides.
  explicit Messages(const Link& link, MessageMemory where = MessageMemory::host)
      : link_(link), where_(where) {}
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  /// The memory must stay until the messages have been awaited.
  Messages& send(int to, const void* data, std::size_t bytes);
  Messages& receive(int from, void* data, std::size_t bytes);
  bool ready() override;

 private:
  friend class Link;
  /// `to` and `from`: -1 for none.
  Messages(const Link& link, int to, const void* out, std::size_t out_bytes, int from, void* in,
           std::size_t in_bytes);
  template <class F>
  void post(F&& f);

  Link link_;
  MessageMemory where_ = MessageMemory::host;
  std::vector<std::unique_ptr<Request>> open_;
  std::exception_ptr failure_;
};

/// Messages that are worked on in the order of their posting: each `co_await` waits for one more.
class Arrivals : public Awaitable {
 public:
  explicit Arrivals(const Link& link) : link_(link) {}
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  /// The memory must stay until the message has been awaited.
  Arrivals& receive(int from, void* data, std::size_t bytes);
  bool ready() override;

 private:
  Link link_;
  std::deque<std::unique_ptr<Request>> open_;
  std::exception_ptr failure_;
};

}  // namespace thalweg::engine::comm
