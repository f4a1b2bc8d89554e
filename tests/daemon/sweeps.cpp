#include "tests/daemon/sweeps.h"

namespace thalweg::test {

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
                    const std::optional<daemon::Owner>& runs_as, const std::string& backend) {
  return controller
      .submit(sweep, expand(sweep), "name: test", "test.yaml", backend, "me", {}, runs_as)
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
