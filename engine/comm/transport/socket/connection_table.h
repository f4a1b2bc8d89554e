// How ranks of different machines get TCP connections to each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/file.h"

namespace thalweg::engine::comm {

/// Listens from its construction until meet() has returned. Whoever connects must know this rank's
/// secret, which it publishes together with its addresses. Throws std::system_error.
class ConnectionTable {
 public:
  ConnectionTable();

  /// "port secret address/prefix ...", for all peers, over PMIx.
  const std::string& place() const { return place_; }

  /// Connects to every rank whose place is not empty, `streams` times (the same number everywhere):
  /// [rank][stream], empty where none. All of them call it. `idle` is called every now and then and
  /// may throw. Throws std::runtime_error when somebody cannot be reached.
  std::vector<std::vector<Descriptor>> meet(int rank, const std::vector<std::string>& places,
                                            int streams, const std::function<void()>& idle);

 private:
  Descriptor listener_;
  std::string place_;
};

}  // namespace thalweg::engine::comm
