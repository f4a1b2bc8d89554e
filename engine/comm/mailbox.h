// Messages between two ranks outside of collectives: what servers and workers tell each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "engine/comm/group.h"

namespace thalweg::engine::comm {

/// Point-to-point messages of a group's ranks, which meet no collective and no other mailbox. Used
/// by one thread at a time, together with the group.
class Mailbox {
 public:
  /// Collective.
  explicit Mailbox(Group& group);
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Non-blocking, matched by (peer, tag) in order, to this rank as well not at all: `to` and
  /// `from` are other ranks. The memory must stay until the request is done. nullptr: already done.
  /// A receive whose message never comes must be kept until the mailbox goes.
  std::unique_ptr<Request> send(int to, std::uint32_t tag, const void* data, std::size_t bytes);
  std::unique_ptr<Request> receive(int from, std::uint32_t tag, void* data, std::size_t bytes);
  /// One look at what is under way, also of the group. Throws CommError where a rank is known to be
  /// lost.
  void poll();
  /// Until done(), which is asked again and again meanwhile; `what` (a literal) names it in
  /// messages about stalls. Throws CommError as collectives do: a lost rank, or no progress for
  /// long.
  void wait(const char* what, const std::function<bool()>& done);

 private:
  std::unique_ptr<Group> group_;
};

/// Whether a request is done, whose null form says so, too.
inline bool is_done(const std::unique_ptr<Request>& request) {
  return request == nullptr || request->test();
}

}  // namespace thalweg::engine::comm
