// Messages to and from one peer over TCP, matched by tag.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "base/file.h"
#include "engine/comm/transport/host.h"
#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

/// On the first stream, every message is a header and its bytes; of a long message, each further
/// stream carries its share, without a header, in the order of the headers. So the bytes go from
/// the kernel straight into the receiver's memory.
///
/// A message that nobody waits for stays in the kernel, and the sender waits in the end: until this
/// rank waits for another message of the same peer. Then it is put aside.
class PeerConnection {
 public:
  /// `moved` is counted up whenever bytes have moved.
  PeerConnection(TransportHost& host, int peer, std::vector<Descriptor> streams,
                 std::uint64_t& moved);
  ~PeerConnection();
  PeerConnection(const PeerConnection&) = delete;
  PeerConnection& operator=(const PeerConnection&) = delete;

  // As Transport's.
  std::unique_ptr<Request> send(std::uint64_t tag, const void* data, std::size_t bytes);
  std::unique_ptr<Request> receive(std::uint64_t tag, void* data, std::size_t bytes);

  /// Whether there is anything that advance() could do, now or later.
  bool active() const;
  /// Moves what can be moved without waiting. Calls host.lost().
  void advance();
  /// Closes the connections; requests may still be dropped.
  void close();
  /// What to wait for until advance() may do something.
  void add_interests(std::vector<pollfd>& fds) const;

 private:
  struct Header {
    std::uint64_t tag;
    std::uint64_t bytes;
  };
  struct Outbound;
  struct Inbound;
  class Sending;
  class Receiving;
  /// What a stream still has to carry of a message.
  template <class Message>
  struct Share {
    Message* message;
    std::size_t next, end;
  };
  struct Stream {
    Descriptor socket;
    std::deque<Share<Outbound>> out;
    std::deque<Share<Inbound>> in;
  };

  std::size_t streams_for(std::size_t bytes) const;
  static std::size_t share_start(std::size_t bytes, std::size_t stream, std::size_t streams);
  /// How many bytes have gone, of the header and what follows it. `more`: there is more to come
  /// at once, so that a packet may wait for it.
  std::size_t write(Stream& stream, const Header* header, std::size_t header_left,
                    const std::byte* data, std::size_t bytes, bool more);
  std::size_t read(Stream& stream, void* first, std::size_t first_bytes, std::byte* second,
                   std::size_t second_bytes);
  bool advance_out(Stream& stream);
  bool advance_in(Stream& stream);
  bool read_header();
  void begin_message(const std::byte* read, std::size_t already);
  void finished(Inbound& message);
  void abandon(Outbound& message);
  void abandon(Inbound& message);

  TransportHost& host_;
  int peer_;
  std::uint64_t& moved_;
  std::vector<Stream> streams_;
  /// Moved at a time in one direction, so that the other gets its turn while the bytes are still
  /// in the cache. Whole packets.
  std::size_t at_once_;
  Header header_{};
  std::size_t header_have_ = 0;
  std::vector<std::byte> early_;  ///< read on the first stream, but not yet looked at
  std::size_t early_next_ = 0;
  std::deque<Inbound*> expected_;  ///< whose headers have not come, in the order of posting
  std::list<Inbound> put_aside_;   ///< whose receivers have not come, in the order of arrival
  std::list<Outbound> given_up_;   ///< whose senders have gone
};

}  // namespace thalweg::engine::comm
