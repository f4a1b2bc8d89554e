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

/// Used by one thread.
class Sockets {
 public:
  Sockets(SocketHost& host, SocketSettings settings);

  /// For the peers, over PMIx: one line.
  std::string place() const;
  /// Who takes part with whom follows from the places: `machines` says which ranks are on the
  /// same one.
  void connect(int rank, const std::vector<std::string>& places,
               const std::vector<std::string>& machines, const std::function<void()>& idle);

  bool reach(int peer) const { return conversations_[static_cast<std::size_t>(peer)] != nullptr; }
  // As Transport's, of ranks that they reach.
  std::unique_ptr<Request> send(int peer, std::uint64_t tag, const void* data, std::size_t bytes);
  std::unique_ptr<Request> receive(int peer, std::uint64_t tag, void* data, std::size_t bytes);

  bool active() const { return !active_.empty(); }
  void progress();
  /// What to wait for until progress() may do something.
  void add_interests(std::vector<pollfd>& fds) const;
  /// Changes whenever bytes have moved.
  std::uint64_t moved() const { return moved_; }
  void close();

 private:
  void activate(Conversation& conversation);

  SocketHost& host_;
  SocketSettings settings_;
  std::unique_ptr<Mesh> mesh_;
  std::vector<std::unique_ptr<Conversation>> conversations_;
  std::vector<Conversation*> active_;
  std::uint64_t moved_ = 0;
};

}  // namespace thalweg::engine::comm
