#include "tests/daemon/world.h"

#include <chrono>
#include <utility>

#include "daemon/controller/fault.h"

namespace thalweg::test {

World::Life::Life(World& world) : store(db::Store::open(world.home().database())) {
  daemon::ControllerOptions options;
  options.runs = world.home().runs();
  options.ingest_s = 0.005;
  options.policy.first_backoff_s = 0.01;
  options.fence_s = 0.02;
  if (world.options) world.options(options);
  std::vector<daemon::BackendSetup> slots;
  slots.push_back({world.cluster.backend(), 0.002, 0, world.start_timeout_s, world.rest_s});
  controller =
      std::make_unique<daemon::Controller>(io.get_executor(), *store, options, std::move(slots));
  controller->restart();
}

World::Life::~Life() {
  // As kill -9: nothing is told goodbye. The controller goes before the coroutines that work on it
  // are destroyed unrun.
}

bool World::Life::run_until(const std::function<bool()>& condition, const Deadline& deadline) {
  if (!std::exchange(started, true)) controller->start();
  while (!condition()) {
    if (deadline.passed()) return false;
    io.run_for(std::chrono::milliseconds(5));
  }
  return true;
}

bool World::run_to_the_end(std::chrono::seconds limit) {
  const Deadline deadline(limit);
  while (!deadline.passed()) {
    try {
      Life life(*this);
      return life.run_until(
          [&] {
            for (const auto& [id, sweep] : life.controller->state().sweeps)
              if (sweep.phase == daemon::SweepPhase::active) return false;
            return true;
          },
          deadline);
    } catch (const Killed&) {
    }
  }
  return false;
}

}  // namespace thalweg::test
