// What every layer of comm throws when ranks do not come to an end together.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace thalweg::engine::comm {

/// A collective did not complete: a peer died, stalled past the deadline, or called something else.
/// rank() is the first failed rank seen (-1 unknown), node() the host it ran on.
class CommError : public std::runtime_error {
 public:
  CommError(const std::string& message, int rank, std::string node)
      : std::runtime_error(message), rank_(rank), node_(std::move(node)) {}
  int rank() const { return rank_; }
  const std::string& node() const { return node_; }

 private:
  int rank_;
  std::string node_;
};

/// What a receiver says when a message has not the length that it expects.
CommError wrong_length(int from, std::size_t sent, int to, std::size_t expected,
                       const std::string& node);

}  // namespace thalweg::engine::comm
