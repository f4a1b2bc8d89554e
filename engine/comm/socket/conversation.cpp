#include "engine/comm/socket/conversation.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace thalweg::engine::comm {
namespace {

// From here on a message goes over all streams at once.
constexpr std::size_t kLong = 256 * 1024;
constexpr std::size_t kPacketsAtOnce = 4;
// What the kernel hands down at once, before it is cut into frames; a part of it are headers.
constexpr std::size_t kPacket = 65536;
constexpr std::size_t kPacketHeaders = 321;
constexpr std::size_t kLine = 64;
// Shorter messages are read together with their headers, and copied.
constexpr std::size_t kWithHeader = 8 * 1024;

/// Empty messages may have no memory.
void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

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

struct Conversation::Outbound {
  Header header;
  const std::byte* data;
  std::size_t left;  ///< bytes, with the header's
  std::size_t header_left = sizeof(Header);
  std::unique_ptr<std::byte[]> own{};  ///< where the sender has gone
};

struct Conversation::Inbound {
  std::uint64_t tag;
  std::size_t bytes;  ///< expected, or announced where nobody has come for it
  std::byte* data;
  std::size_t missing;
  Receiving* receiver = nullptr;
  std::unique_ptr<std::byte[]> own{};  ///< of a message that was put aside
};

class Conversation::Sending : public Request {
 public:
  Sending(Conversation& owner, const Outbound& message)
      : owner_(owner),
        message_{message.header, message.data, message.left, message.header_left, nullptr} {}
  ~Sending() override {
    if (message_.left > 0) owner_.abandon(message_);
  }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
  bool test() override { return message_.left == 0; }
  void wait() override {
    while (!test()) {
      owner_.host_.progress();
    }
  }
  Outbound& message() { return message_; }

 private:
  Conversation& owner_;
  Outbound message_;
};

class Conversation::Receiving : public Request {
 public:
  Receiving(Conversation& owner, std::uint64_t tag, void* data, std::size_t bytes)
      : owner_(owner), message_{tag, bytes, static_cast<std::byte*>(data), bytes, this, nullptr} {}
  ~Receiving() override {
    if (!done_) owner_.abandon(message_);
  }
  Receiving(const Receiving&) = delete;
  Receiving& operator=(const Receiving&) = delete;
  bool test() override {
    if (done_ && sent_ != message_.bytes) {
      owner_.host_.wrong_length(owner_.peer_, sent_, message_.bytes);
    }
    return done_;
  }
  void wait() override {
    while (!test()) {
      owner_.host_.progress();
    }
  }
  Inbound& message() { return message_; }
  void arrived(std::size_t sent) {
    sent_ = sent;
    done_ = true;
  }

 private:
  Conversation& owner_;
  Inbound message_;
  std::size_t sent_ = 0;
  bool done_ = false;
};

Conversation::Conversation(SocketHost& host, int peer, std::vector<Descriptor> streams,
                           std::uint64_t& moved)
    : host_(host), peer_(peer), moved_(moved) {
  for (auto& socket : streams) {
    streams_.push_back({std::move(socket), {}, {}});
  }
  at_once_ = kPacketsAtOnce * packet_bytes(streams_[0].socket.get());
}

Conversation::~Conversation() = default;

std::size_t Conversation::streams_for(std::size_t bytes) const {
  return bytes < kLong ? 1 : streams_.size();
}

std::size_t Conversation::share_start(std::size_t bytes, std::size_t stream, std::size_t streams) {
  return stream == streams ? bytes : bytes / streams / kLine * kLine * stream;
}

std::unique_ptr<Request> Conversation::send(std::uint64_t tag, const void* data,
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

std::unique_ptr<Request> Conversation::receive(std::uint64_t tag, void* data, std::size_t bytes) {
  const auto found = std::find_if(put_aside_.begin(), put_aside_.end(),
                                  [&](const Inbound& m) { return m.tag == tag && !m.receiver; });
  if (found == put_aside_.end()) {
    auto request = std::make_unique<Receiving>(*this, tag, data, bytes);
    expected_.push_back(&request->message());
    return request;
  }
  if (found->missing == 0 && found->bytes == bytes) {
    copy_bytes(data, found->own.get(), bytes);
    put_aside_.erase(found);
    ++moved_;
    return nullptr;
  }
  auto request = std::make_unique<Receiving>(*this, tag, data, bytes);
  found->receiver = request.get();
  if (found->missing == 0) finished(*found);
  return request;
}

bool Conversation::active() const {
  if (!expected_.empty()) return true;
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const Stream& s) { return !s.out.empty() || !s.in.empty(); });
}

void Conversation::advance() {
  // Only the first stream has headers, so it goes first: it tells the others what they carry.
  for (auto& stream : streams_) {
    while (advance_out(stream)) {
    }
    while (advance_in(stream)) {
    }
  }
}

void Conversation::close() {
  for (auto& stream : streams_) {
    stream.socket = Descriptor();
  }
}

void Conversation::add_interests(std::vector<pollfd>& fds) const {
  for (const auto& stream : streams_) {
    short events = 0;
    if (!stream.out.empty()) events |= POLLOUT;
    if (!stream.in.empty() || (&stream == &streams_[0] && !expected_.empty())) events |= POLLIN;
    if (events) fds.push_back({stream.socket.get(), events, 0});
  }
}

std::size_t Conversation::write(Stream& stream, const Header* header, std::size_t header_left,
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

std::size_t Conversation::read(Stream& stream, void* first, std::size_t first_bytes,
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
bool Conversation::advance_out(Stream& stream) {
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

bool Conversation::advance_in(Stream& stream) {
  if (stream.in.empty()) {
    return &stream == &streams_[0] && !expected_.empty() && read_header();
  }
  auto& share = stream.in.front();
  Inbound& message = *share.message;
  const std::size_t want = std::min(share.end - share.next, at_once_);
  const bool early = &stream == &streams_[0] && !early_.empty();
  std::size_t n = 0;
  if (early) {
    n = std::min(want, early_.size() - early_next_);
    copy_bytes(message.data + share.next, early_.data() + early_next_, n);
    early_next_ += n;
    if (early_next_ == early_.size()) early_.clear();
  } else {
    n = read(stream, message.data + share.next, want, nullptr, 0);
  }
  share.next += n;
  message.missing -= n;
  const bool over = share.next == share.end;
  if (over) {
    stream.in.pop_front();
    if (message.missing == 0) finished(message);
  }
  return over || early;
}

/// Reads the header and, where the next expected message is short, what follows. Not into that
/// one's memory: another message may come first, and until it has come the memory belongs to the
/// receiver. True when a message has begun.
bool Conversation::read_header() {
  auto* header = reinterpret_cast<std::byte*>(&header_);
  if (!early_.empty()) {
    const std::size_t n = std::min(sizeof header_ - header_have_, early_.size() - early_next_);
    copy_bytes(header + header_have_, early_.data() + early_next_, n);
    header_have_ += n;
    early_next_ += n;
    if (early_next_ == early_.size()) early_.clear();
    if (header_have_ < sizeof header_) return true;
    begin_message(nullptr, 0);
    return true;
  }
  std::byte more[kWithHeader];
  const std::size_t next = expected_.front()->bytes;
  const std::size_t wanted = sizeof header_ - header_have_;
  const std::size_t n =
      read(streams_[0], header + header_have_, wanted, more, next <= kWithHeader ? next : 0);
  header_have_ += std::min(n, wanted);
  if (header_have_ < sizeof header_) return false;
  begin_message(more, n - wanted);
  return true;
}

/// The header is complete; `already` bytes that follow it lie at `read`.
void Conversation::begin_message(const std::byte* read, std::size_t already) {
  header_have_ = 0;
  const std::size_t bytes = header_.bytes;
  const auto found = std::find_if(expected_.begin(), expected_.end(),
                                  [this](const Inbound* m) { return m->tag == header_.tag; });
  Inbound* message = nullptr;
  if (found != expected_.end() && (*found)->bytes == bytes) {
    message = *found;
    expected_.erase(found);
  } else {
    put_aside_.push_back({header_.tag, bytes, nullptr, bytes, nullptr, nullptr});
    message = &put_aside_.back();
    message->own.reset(new std::byte[bytes]);
    message->data = message->own.get();
    if (found != expected_.end()) {  // of another length: it will say so
      message->receiver = (*found)->receiver;
      expected_.erase(found);
    }
  }
  const std::size_t streams = streams_for(bytes);
  const std::size_t first = std::min(already, share_start(bytes, 1, streams));
  copy_bytes(message->data, read, first);
  if (already > first) {
    early_.assign(read + first, read + already);
    early_next_ = 0;
  }
  message->missing -= first;
  for (std::size_t s = 0; s < streams; ++s) {
    const std::size_t start = share_start(bytes, s, streams) + (s == 0 ? first : 0);
    const std::size_t end = share_start(bytes, s + 1, streams);
    if (start < end) streams_[s].in.push_back({message, start, end});
  }
  if (message->missing == 0) finished(*message);
}

void Conversation::finished(Inbound& message) {
  if (!message.own) {
    message.receiver->arrived(message.bytes);
    return;
  }
  if (!message.receiver) return;  // nobody has come for it yet
  const Inbound& wanted = message.receiver->message();
  if (wanted.bytes == message.bytes) copy_bytes(wanted.data, message.data, message.bytes);
  message.receiver->arrived(message.bytes);
  put_aside_.remove_if([&](const Inbound& m) { return &m == &message; });
}

/// The sender is gone before its memory was sent: what is left of the message is copied, so that
/// the stream stays in order.
void Conversation::abandon(Outbound& message) {
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

/// The receiver is gone: the rest of the message goes nowhere.
void Conversation::abandon(Inbound& message) {
  std::erase(expected_, &message);
  for (auto& aside : put_aside_) {
    if (aside.receiver == message.receiver) aside.receiver = nullptr;
  }
  Inbound* rest = nullptr;
  for (auto& stream : streams_) {
    for (auto& share : stream.in) {
      if (share.message != &message) continue;
      if (!rest) {
        put_aside_.push_back({message.tag, message.bytes, nullptr, message.missing, nullptr,
                              std::unique_ptr<std::byte[]>(new std::byte[message.bytes])});
        rest = &put_aside_.back();
        rest->data = rest->own.get();
      }
      share.message = rest;
    }
  }
}

}  // namespace thalweg::engine::comm
