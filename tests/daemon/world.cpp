#include "tests/daemon/world.h"

#include <chrono>

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
  slots.push_back({world.cluster.backend(), 0.002, 0, world.start_timeout_s});
  controller =
      std::make_unique<daemon::Controller>(io.get_executor(), *store, options, std::move(slots));
  controller->restart();
}

World::Life::~Life() {
  // As kill -9: nothing is told goodbye. The controller goes before the coroutines that work on it
  // are destroyed unrun.
}

bool World::Life::run_until(const std::function<bool()>& condition, const Deadline& deadline) {
  controller->start();
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
      ++ends;
    }
  }
  return false;
}

jobspec::Sweep sweep_of(int trials, int steps) {
  jobspec::Sweep sweep;
  sweep.name = "test";
  sweep.train.set("steps", steps);
  sweep.seeds.clear();
  for (int i = 1; i <= trials; ++i)
    sweep.seeds.push_back(static_cast<std::uint64_t>(i));
  return sweep;
}

namespace {

jobspec::Expansion expand(const jobspec::Sweep& sweep) {
  jobspec::Expansion expansion;
  for (const auto seed : sweep.seeds) {
    jobspec::ExpandedTrial trial;
    trial.number = static_cast<std::int64_t>(expansion.trials.size()) + 1;
    trial.configuration = 1;
    trial.seed = seed;
    trial.train = sweep.train;
    trial.resources = sweep.resources;
    trial.hash = "0123456789abcdef0123456789abcdef";
    expansion.trials.push_back(trial);
  }
  return expansion;
}

}  // namespace

std::int64_t submit(daemon::Controller& controller, const jobspec::Sweep& sweep,
                    const std::optional<daemon::Owner>& runs_as) {
  return controller
      .submit(sweep, expand(sweep), "name: test", "test.yaml", "fake", "me", {}, runs_as)
      .id;
}

void extend(daemon::Controller& controller, std::int64_t id, const jobspec::Sweep& sweep) {
  daemon::Controller::Extension with;
  with.sweep = id;
  with.missing = expand(sweep).trials;
  const auto there = controller.state().sweeps.at(id).trials.size();
  with.missing.erase(with.missing.begin(),
                     with.missing.begin() + static_cast<std::ptrdiff_t>(there));
  with.limits = sweep.limits;
  with.text = "name: test\nmore: true";
  with.changes = {"more"};
  with.by = "me";
  controller.extend(with);
}

}  // namespace thalweg::test
