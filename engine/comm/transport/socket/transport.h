// TCP connections of our own to ranks that UCX, too, would only reach over TCP.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/transport/socket/connection_table.h"
#include "engine/comm/transport/socket/peer_connection.h"

namespace thalweg::engine::comm {

/// From the environment; see engine/comm/README.md.
struct SocketSettings {
  enum class Use {
    never,
    between_machines,  ///< that have no faster network
    always,
  };
  Use use = Use::between_machines;
  int streams = 1;
  std::string congestion;  ///< "": the system's, "-": the same unless it paces

  /// Throws std::runtime_error for what it does not understand.
  static SocketSettings from_environment();
};

/// To the peers that these sockets reach; used by one thread.
class SocketTransport final : public MessageTransport {
 public:
  SocketTransport(TransportHost& host, SocketSettings settings);

  /// For the peers, over PMIx: one line.
  std::string place() const;
  /// Who takes part with whom follows from the places: `machines` says which ranks are on the
  /// same one.
  void connect(int rank, const std::vector<std::string>& places,
               const std::vector<std::string>& machines, const std::function<void()>& idle);

  bool reaches(int peer) const { return connections_[static_cast<std::size_t>(peer)] != nullptr; }
  using MessageTransport::receive;
  using MessageTransport::send;
  std::unique_ptr<Request> send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                                MessageMemory where) override;
  std::unique_ptr<Request> receive(int peer, std::uint64_t tag, void* data, std::size_t bytes,
                                   MessageMemory where) override;

  /// Whether progress() has anything to look after.
  bool active() const { return !active_.empty(); }
  void progress() override;
  /// What to wait for until progress() may do something.
  void add_interests(std::vector<pollfd>& fds) const;
  /// Changes whenever bytes have moved.
  std::uint64_t completed() const override { return moved_; }
  void close();

 private:
  void activate(PeerConnection& connection);

  TransportHost& host_;
  SocketSettings settings_;
  std::unique_ptr<ConnectionTable> table_;
  std::vector<std::unique_ptr<PeerConnection>> connections_;
  std::vector<PeerConnection*> active_;
  std::uint64_t moved_ = 0;
};

}  // namespace thalweg::engine::comm
