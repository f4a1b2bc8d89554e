// What a transport stands on where it is tested by itself: losses and wrong lengths are exceptions
// with their words, and nothing waits.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include "engine/comm/transport/host.h"

namespace thalweg::engine::comm {

class ThrowingHost : public TransportHost {
 public:
  void progress() override { throw std::logic_error("nobody waits in these tests"); }
  void lost(int rank, const std::string& how) override {
    throw std::runtime_error("lost " + std::to_string(rank) + ": " + how);
  }
  void wrong_length(int rank, std::size_t sent, std::size_t expected) override {
    throw std::runtime_error("rank " + std::to_string(rank) + " sent " + std::to_string(sent) +
                             ", expected " + std::to_string(expected));
  }
};

}  // namespace thalweg::engine::comm
