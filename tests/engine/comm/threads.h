// Ranks as threads: runs a function once per rank, each with its own Group over memory transports.
#pragma once

#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "engine/comm/group.h"

namespace thalweg::engine::comm {

/// Rethrows the first rank's exception, after all ranks have ended.
inline void on_ranks(int ranks, const GroupOptions& options,
                     const std::function<void(Group&)>& body) {
  auto transports = memory_transports(ranks);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < transports.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        Group group(std::move(transports[r]), options);
        body(group);
        group.barrier();  // nobody leaves while others still wait for its messages
      } catch (...) {
        errors[r] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

inline void on_ranks(int ranks, const std::function<void(Group&)>& body) {
  on_ranks(ranks, GroupOptions{}, body);
}

}  // namespace thalweg::engine::comm
