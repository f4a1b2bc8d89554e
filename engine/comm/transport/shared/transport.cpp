// A short message tells where the long one is; the rest is a system call of the receiver.
#include "engine/comm/transport/shared/transport.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "engine/comm/transport/shared/direct.h"

namespace thalweg::engine::comm {
namespace {

/// What is sent in place of a message.
struct MessageDescriptor {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t number;  ///< for the answer that the message has been read
};

}  // namespace

/// Done when the receiver has read the message out of our memory.
class SharedTransport::Send : public Request {
 public:
  Send(SharedTransport& owner, int peer, std::uint64_t tag, const void* data, std::size_t bytes)
      : owner_(owner), descriptor_{reinterpret_cast<std::uint64_t>(data), bytes, ++owner.number_} {
    owner_.sends_[static_cast<std::uint32_t>(descriptor_.number)] = this;
    try {
      sending_ = owner_.carrier_.send(peer, tag, &descriptor_, sizeof descriptor_);
    } catch (...) {
      forget();
      throw;
    }
  }
  ~Send() override { forget(); }
  Send(const Send&) = delete;
  Send& operator=(const Send&) = delete;
  bool test() override { return taken_; }
  void wait() override {
    while (!test()) {
      owner_.host_.progress();
    }
  }
  void taken() { taken_ = true; }

 private:
  void forget() { owner_.sends_.erase(static_cast<std::uint32_t>(descriptor_.number)); }

  SharedTransport& owner_;
  MessageDescriptor descriptor_;
  std::unique_ptr<Request> sending_;
  bool taken_ = false;
};

/// Waits for the descriptor, then reads, both in progress().
class SharedTransport::Receive : public Request {
 public:
  Receive(SharedTransport& owner, int peer, std::uint64_t tag, void* data, std::size_t bytes)
      : owner_(owner), peer_(peer), data_(data), bytes_(bytes) {
    arriving_ = owner_.carrier_.receive(peer, tag, &descriptor_, sizeof descriptor_);
    owner_.receives_.push_back(this);
  }
  ~Receive() override {
    if (!done_) std::erase(owner_.receives_, this);
  }
  Receive(const Receive&) = delete;
  Receive& operator=(const Receive&) = delete;
  bool test() override { return done_; }
  void wait() override {
    while (!test()) {
      owner_.host_.progress();
    }
  }

  /// True when done.
  bool advance() {
    if (arriving_ && !arriving_->test()) return false;
    if (descriptor_.bytes != bytes_) owner_.host_.wrong_length(peer_, descriptor_.bytes, bytes_);
    const pid_t process = owner_.processes_[static_cast<std::size_t>(peer_)];
    if (!read_directly(process, descriptor_.address, data_, bytes_)) {
      owner_.host_.lost(peer_,
                        std::string("its memory cannot be read (") + std::strerror(errno) + ")");
    }
    owner_.tell_taken_(peer_, static_cast<std::uint32_t>(descriptor_.number));
    done_ = true;
    return true;
  }

 private:
  SharedTransport& owner_;
  int peer_;
  void* data_;
  std::size_t bytes_;
  MessageDescriptor descriptor_{};
  std::unique_ptr<Request> arriving_;
  bool done_ = false;
};

SharedTransport::SharedTransport(TransportHost& host, MessageTransport& carrier,
                                 std::function<void(int, std::uint32_t)> tell_taken)
    : host_(host), carrier_(carrier), tell_taken_(std::move(tell_taken)) {}

std::unique_ptr<Request> SharedTransport::send(int peer, std::uint64_t tag, const void* data,
                                               std::size_t bytes, MessageMemory) {
  return std::make_unique<Send>(*this, peer, tag, data, bytes);
}

std::unique_ptr<Request> SharedTransport::receive(int peer, std::uint64_t tag, void* data,
                                                  std::size_t bytes, MessageMemory) {
  return std::make_unique<Receive>(*this, peer, tag, data, bytes);
}

void SharedTransport::progress() {
  std::erase_if(receives_, [](Receive* receive) { return receive->advance(); });
}

void SharedTransport::taken(std::uint32_t number) {
  const auto found = sends_.find(number);
  if (found == sends_.end()) return;
  found->second->taken();
  ++completed_;
}

}  // namespace thalweg::engine::comm
