// Long messages between processes of one machine: the receiver reads the sender's memory.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/comm/transport/host.h"
#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

/// One copy, by the receiver (direct.h). What is sent is where the message is in memory, over
/// another transport; the receiver reads it there and says so, which ends the send.
class SharedTransport final : public MessageTransport {
 public:
  /// Messages from here on are worth it. Over queues in shared memory both sides would take turns,
  /// chunk by chunk: slow where ranks and threads share cores.
  static constexpr std::size_t kFrom = 64 * 1024;

  /// `carrier` carries descriptions of messages. `tell_taken(peer, number)` makes taken(number) be
  /// called on that peer.
  SharedTransport(TransportHost& host, MessageTransport& carrier,
                  std::function<void(int peer, std::uint32_t number)> tell_taken);

  /// By rank, the process of a peer on this machine.
  void connect(std::vector<pid_t> processes) { processes_ = std::move(processes); }

  using MessageTransport::receive;
  using MessageTransport::send;
  /// Only to peers that may read this process's memory, and from those whose memory this one may.
  std::unique_ptr<Request> send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                                MessageMemory where) override;
  std::unique_ptr<Request> receive(int peer, std::uint64_t tag, void* data, std::size_t bytes,
                                   MessageMemory where) override;
  void progress() override;
  std::uint64_t completed() const override { return completed_; }
  /// Whether progress() has anything to look after.
  bool receiving() const { return !receives_.empty(); }
  /// Whether a peer's taken() may be on its way.
  bool sending() const { return !sends_.empty(); }
  void taken(std::uint32_t number);

 private:
  class Send;
  class Receive;

  TransportHost& host_;
  MessageTransport& carrier_;
  std::function<void(int, std::uint32_t)> tell_taken_;
  std::vector<pid_t> processes_;
  std::uint64_t completed_ = 0;
  std::uint32_t number_ = 0;  ///< of the last send
  std::unordered_map<std::uint32_t, Send*> sends_;
  std::vector<Receive*> receives_;
};

}  // namespace thalweg::engine::comm
