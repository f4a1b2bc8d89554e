// How a process finds the other ranks of its job.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

/// What wire-up (PMIx) tells a process about itself and its peers.
struct World {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  std::string node;
};

struct WireupOptions {
  /// How long it waits for a rank that gives no sign of life, in fence() and in finalize(); then a
  /// CommError names it.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  /// How long until all ranks have started (then a std::runtime_error), and from there until all
  /// are connected (then a CommError that names who is not).
  std::chrono::milliseconds start_timeout = std::chrono::minutes(5);
  /// Told once when ranks have been missing for half a minute.
  std::function<void(const std::string& text)> warn{};
  /// Called every few seconds while ranks have not started; what it throws ends the wait.
  std::function<void()> look{};
};

/// Connects to PMIx (the launcher's or Slurm's server), exchanges addresses, connects the
/// transports. Without a PMIx server in the environment: a world of one. Throws CommError or
/// std::runtime_error.
class Wireup {
 public:
  static std::unique_ptr<Wireup> connect(const WireupOptions& options = {});
  virtual ~Wireup() = default;
  virtual const World& world() const = 0;
  /// Once. It must go before the Wireup.
  virtual std::shared_ptr<Transport> transport() = 0;
  /// Collective over PMIx with data collection (a plain fence is no barrier on small Slurm steps).
  virtual void fence() = 0;
  /// Tells the server we are leaving in good order.
  virtual void finalize() = 0;
};

}  // namespace thalweg::engine::comm
