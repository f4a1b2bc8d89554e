// What a PeerConnection (peer_connection.h) keeps of every message; for its own .cpp files.
#pragma once

#include <cstring>

#include "engine/comm/transport/socket/peer_connection.h"

namespace thalweg::engine::comm {

/// Empty messages may have no memory.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

struct PeerConnection::Outbound {
  Header header;
  const std::byte* data;
  std::size_t left;  ///< bytes, with the header's
  std::size_t header_left = sizeof(Header);
  std::unique_ptr<std::byte[]> own{};  ///< where the sender has gone
};

struct PeerConnection::Inbound {
  std::uint64_t tag;
  std::size_t bytes;  ///< expected, or announced where nobody has come for it
  std::byte* data;
  std::size_t missing;
  Receiving* receiver = nullptr;
  std::unique_ptr<std::byte[]> own{};  ///< of a message that was put aside
};

class PeerConnection::Sending : public Request {
 public:
  Sending(PeerConnection& owner, const Outbound& message)
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
  PeerConnection& owner_;
  Outbound message_;
};

class PeerConnection::Receiving : public Request {
 public:
  Receiving(PeerConnection& owner, std::uint64_t tag, void* data, std::size_t bytes)
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
  PeerConnection& owner_;
  Inbound message_;
  std::size_t sent_ = 0;
  bool done_ = false;
};

}  // namespace thalweg::engine::comm
