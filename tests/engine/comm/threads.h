// Ranks as threads: runs a function once per rank, each with its own Group over memory transports.
#pragma once

#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "engine/comm/group.h"
#include "tests/support/memory_transport.h"

namespace thalweg::engine::comm {

/// Rethrows the first rank's exception, after all ranks have ended.
inline void on_transports(std::vector<std::unique_ptr<Transport>> transports,
                          const GroupOptions& options, const std::function<void(Group&)>& body) {
  std::vector<std::exception_ptr> errors(transports.size());
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

inline void on_ranks(int ranks, const GroupOptions& options,
                     const std::function<void(Group&)>& body) {
  on_transports(memory_transports(ranks), options, body);
}

inline void on_ranks(int ranks, const std::function<void(Group&)>& body) {
  on_ranks(ranks, GroupOptions{}, body);
}

/// Ranks that play several machines: rank r is on machine machine_of[r].
inline void on_machines(std::vector<int> machine_of, const GroupOptions& options,
                        const std::function<void(Group&)>& body) {
  on_transports(memory_transports(std::move(machine_of)), options, body);
}

}  // namespace thalweg::engine::comm
