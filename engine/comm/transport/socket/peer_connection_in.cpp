// The receiving half of a PeerConnection.
#include <algorithm>

#include "engine/comm/transport/socket/messages.h"
#include "engine/comm/transport/socket/peer_connection.h"

namespace thalweg::engine::comm {
namespace {

// Shorter messages are read together with their headers, and copied.
constexpr std::size_t kWithHeader = 8 * 1024;

}  // namespace

std::unique_ptr<Request> PeerConnection::receive(std::uint64_t tag, void* data, std::size_t bytes) {
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

bool PeerConnection::advance_in(Stream& stream) {
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
bool PeerConnection::read_header() {
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
void PeerConnection::begin_message(const std::byte* read, std::size_t already) {
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

void PeerConnection::finished(Inbound& message) {
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

/// The receiver is gone: the rest of the message goes nowhere.
void PeerConnection::abandon(Inbound& message) {
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
