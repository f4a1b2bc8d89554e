// Connections, and the sending half of a PeerConnection.
#include "engine/comm/transport/socket/peer_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "engine/comm/transport/socket/messages.h"

namespace thalweg::engine::comm {
namespace {

// From here on a message goes over all streams at once.
constexpr std::size_t kLong = 256 * 1024;
constexpr std::size_t kPacketsAtOnce = 4;
// What the kernel hands down at once, before it is cut into frames; a part of it are headers.
constexpr std::size_t kPacket = 65536;
constexpr std::size_t kPacketHeaders = 321;
constexpr std::size_t kLine = 64;

bool try_again(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/// Bytes of payload: as many whole frames as go into a packet.
std::size_t packet_bytes(int fd) {
  int frame = 0;
  socklen_t length = sizeof frame;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &frame, &length) != 0 || frame <= 0) return kPacket;
  const auto bytes = static_cast<std::size_t>(frame);
  return std::max<std::size_t>((kPacket - kPacketHeaders) / bytes, 1) * bytes;
}

}  // namespace

PeerConnection::PeerConnection(TransportHost& host, int peer, std::vector<Descriptor> streams,
                               std::uint64_t& moved)
    : host_(host), peer_(peer), moved_(moved) {
  for (auto& socket : streams) {
    streams_.push_back({std::move(socket), {}, {}});
  }
  at_once_ = kPacketsAtOnce * packet_bytes(streams_[0].socket.get());
}

PeerConnection::~PeerConnection() = default;

std::size_t PeerConnection::streams_for(std::size_t bytes) const {
  return bytes < kLong ? 1 : streams_.size();
}

std::size_t PeerConnection::share_start(std::size_t bytes, std::size_t stream,
                                        std::size_t streams) {
  return stream == streams ? bytes : bytes / streams / kLine * kLine * stream;
}

std::unique_ptr<Request> PeerConnection::send(std::uint64_t tag, const void* data,
                                              std::size_t bytes) {
  Outbound message{{tag, bytes}, static_cast<const std::byte*>(data), sizeof(Header) + bytes};
  const std::size_t streams = streams_for(bytes);
  std::size_t gone = 0;  // of the first stream's share
  if (streams_[0].out.empty()) {
    const std::size_t share = share_start(bytes, 1, streams);
    const std::size_t first = std::min(share, at_once_ - sizeof(Header));
    const std::size_t n =
        write(streams_[0], &message.header, sizeof(Header), message.data, first, first < share);
    message.left -= n;
    message.header_left -= std::min(n, sizeof(Header));
    gone = n - std::min(n, sizeof(Header));
    if (message.left == 0) return nullptr;
  }
  auto request = std::make_unique<Sending>(*this, message);
  for (std::size_t s = 0; s < streams; ++s) {
    const std::size_t start = share_start(bytes, s, streams) + (s == 0 ? gone : 0);
    const std::size_t end = share_start(bytes, s + 1, streams);
    if (start < end || (s == 0 && message.header_left > 0)) {
      streams_[s].out.push_back({&request->message(), start, end});
    }
  }
  return request;
}

bool PeerConnection::active() const {
  if (!expected_.empty()) return true;
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const Stream& s) { return !s.out.empty() || !s.in.empty(); });
}

void PeerConnection::advance() {
  // Only the first stream has headers, so it goes first: it tells the others what they carry.
  for (auto& stream : streams_) {
    while (advance_out(stream)) {
    }
    while (advance_in(stream)) {
    }
  }
}

void PeerConnection::close() {
  for (auto& stream : streams_) {
    stream.socket = Descriptor();
  }
}

void PeerConnection::add_interests(std::vector<pollfd>& fds) const {
  for (const auto& stream : streams_) {
    short events = 0;
    if (!stream.out.empty()) events |= POLLOUT;
    if (!stream.in.empty() || (&stream == &streams_[0] && !expected_.empty())) events |= POLLIN;
    if (events) fds.push_back({stream.socket.get(), events, 0});
  }
}

std::size_t PeerConnection::write(Stream& stream, const Header* header, std::size_t header_left,
                                  const std::byte* data, std::size_t bytes, bool more) {
  const auto* rest = reinterpret_cast<const std::byte*>(header + 1) - header_left;
  iovec parts[2] = {{const_cast<std::byte*>(rest), header_left},
                    {const_cast<std::byte*>(data), bytes}};
  msghdr message{};
  message.msg_iov = header_left > 0 ? parts : parts + 1;
  message.msg_iovlen = header_left > 0 ? 2 : 1;
  const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0);
  const ssize_t n = ::sendmsg(stream.socket.get(), &message, flags);
  if (n < 0) {
    if (try_again(errno)) return 0;
    host_.lost(peer_, "its connection is lost (" + std::generic_category().message(errno) + ")");
  }
  ++moved_;
  return static_cast<std::size_t>(n);
}

std::size_t PeerConnection::read(Stream& stream, void* first, std::size_t first_bytes,
                                 std::byte* second, std::size_t second_bytes) {
  iovec parts[2] = {{first, first_bytes}, {second, second_bytes}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = second_bytes > 0 ? 2 : 1;
  const ssize_t n = ::recvmsg(stream.socket.get(), &message, MSG_DONTWAIT);
  if (n < 0) {
    if (try_again(errno)) return 0;
    host_.lost(peer_, "its connection is lost (" + std::generic_category().message(errno) + ")");
  }
  if (n == 0) host_.lost(peer_, "its connection is closed");
  ++moved_;
  return static_cast<std::size_t>(n);
}

/// True when there may be more to do at once.
bool PeerConnection::advance_out(Stream& stream) {
  if (stream.out.empty()) return false;
  auto& share = stream.out.front();
  Outbound& message = *share.message;
  const std::size_t header_left = &stream == &streams_[0] ? message.header_left : 0;
  const std::size_t bytes = std::min(share.end - share.next, at_once_ - header_left);
  const bool more = share.next + bytes < share.end || stream.out.size() > 1;
  const std::size_t n =
      write(stream, &message.header, header_left, message.data + share.next, bytes, more);
  const std::size_t of_header = std::min(n, header_left);
  if (header_left > 0) message.header_left -= of_header;
  share.next += n - of_header;
  message.left -= n;
  if (share.next < share.end || (header_left > of_header)) return false;
  const bool gone = message.left == 0;
  stream.out.pop_front();
  if (gone) {
    given_up_.remove_if([&](const Outbound& m) { return &m == &message; });
  }
  return !stream.out.empty();
}

/// The sender is gone before its memory was sent: what is left of the message is copied, so that
/// the stream stays in order.
void PeerConnection::abandon(Outbound& message) {
  given_up_.push_back({message.header, nullptr, message.left, message.header_left,
                       std::unique_ptr<std::byte[]>(new std::byte[message.header.bytes])});
  Outbound& kept = given_up_.back();
  kept.data = kept.own.get();
  copy_bytes(kept.own.get(), message.data, message.header.bytes);
  for (auto& stream : streams_) {
    for (auto& share : stream.out) {
      if (share.message == &message) share.message = &kept;
    }
  }
}

}  // namespace thalweg::engine::comm
