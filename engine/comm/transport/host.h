// What one transport of several needs from the whole.
#pragma once

#include <cstddef>
#include <string>

namespace thalweg::engine::comm {

/// Requests that block let it progress everything; who finds that a peer is gone tells it.
class TransportHost {
 public:
  virtual ~TransportHost() = default;
  virtual void progress() = 0;
  /// A message to or from `rank` failed: settles which rank is the cause and throws CommError.
  [[noreturn]] virtual void lost(int rank, const std::string& how) = 0;
  [[noreturn]] virtual void wrong_length(int rank, std::size_t sent, std::size_t expected) = 0;
};

}  // namespace thalweg::engine::comm
