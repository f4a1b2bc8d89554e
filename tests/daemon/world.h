// What survives the end of a controller: the folder with its database, and a scripted backend with
// "jobs" that write journals.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/controller/controller.h"
#include "tests/daemon/fake_backend.h"
#include "tests/daemon/sweeps.h"
#include "tests/support/process.h"

namespace thalweg::test {

/// Thrown at a fault point in place of SIGKILL; no std::exception, so that nothing on the way takes
/// it for an error.
struct Killed {};

struct World {
  TempDir dir;
  FakeCluster cluster;
  std::function<void(daemon::ControllerOptions&)> options;  ///< changes the defaults
  double start_timeout_s = 0, rest_s = 0;                   ///< BackendSetup

  daemon::api::Home home() const { return {dir.path()}; }

  /// A controller with a life of its own; what it holds dies with it.
  struct Life {
    explicit Life(World& world);
    ~Life();
    /// Goes round until the condition holds; false after the deadline.
    bool run_until(const std::function<bool()>& condition,
                   const Deadline& deadline = Deadline(std::chrono::seconds(20)));
    boost::asio::io_context io{1};
    std::unique_ptr<db::Store> store;
    std::unique_ptr<daemon::Controller> controller;
    bool started = false;
  };

  /// Runs a controller until every sweep has ended, starting a new one after each end at a fault
  /// point. False after the deadline.
  bool run_to_the_end(std::chrono::seconds limit = std::chrono::seconds(30));
};

}  // namespace thalweg::test
