// Runs simulations by seed: one to be looked at, or as many as there is time for.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <thread>

#include "tests/simulation/simulation.h"

namespace {

using namespace thalweg::simulation;

struct Asked {
  Plan plan;
  int count = 1, processes = 0, worst = 5;
  bool shrink = false;
  std::vector<int> only;
};

void tell(const Plan& plan, const RunResult& result) {
  fmt::print("seed {}: {}\n  {}\n", plan.seed, result.broken, command(plan));
  std::fflush(stdout);
}

/// Each process takes every n-th seed.
int run_part(const Asked& asked, int part, int parts) {
  int broken = 0;
  RunResult sum;
  for (int i = part; i < asked.count; i += parts) {
    Plan plan = asked.plan;
    plan.seed += static_cast<std::uint64_t>(i);
    RunResult result = simulate(plan);
    sum.controllers += result.controllers;
    sum.attempts += result.attempts;
    sum.promoted += result.promoted;
    sum.simulated_s += result.simulated_s;
    if (result.broken.empty()) continue;
    ++broken;
    if (asked.shrink) {
      plan = shrunk(plan);
      result = simulate(plan);
    }
    tell(plan, result);
    if (asked.count == 1) fmt::print("{}\n{}\n", fmt::join(result.faults, "\n"), result.log);
    if (broken == asked.worst) break;
  }
  if (asked.count > 1)
    fmt::print(
        "{} controllers lived, {} engines trained, {} trials went on from rungs, in {:.0f} "
        "simulated hours\n",
        sum.controllers, sum.attempts, sum.promoted, sum.simulated_s / 3600);
  std::fflush(stdout);
  return broken;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The controller on a simulated clock, disk and cluster"};
  Asked asked;
  app.add_option("--seed", asked.plan.seed, "the first seed");
  app.add_option("--count", asked.count, "how many seeds");
  app.add_option("--faults", asked.plan.faults, "how many faults strike in each");
  app.add_option("--only", asked.only, "only faults of these numbers")->delimiter(',');
  app.add_option("--processes", asked.processes, "how many at once; 0: as many as there are cores");
  app.add_option("--stop-after", asked.worst, "runs that break, for each process");
  app.add_flag("--shrink", asked.shrink, "leave out the faults that a broken run does not need");
  app.add_flag("--trace", asked.plan.trace, "tell what happens");
  CLI11_PARSE(app, argc, argv);
  if (!asked.only.empty()) asked.plan.only = std::set<int>(asked.only.begin(), asked.only.end());
  if (asked.count == 1) return run_part(asked, 0, 1) == 0 ? 0 : 1;
  const int parts =
      asked.processes > 0 ? asked.processes : static_cast<int>(std::thread::hardware_concurrency());
  for (int part = 0; part < parts; ++part)
    if (fork() == 0) _exit(run_part(asked, part, parts) == 0 ? 0 : 1);
  int broken = 0;
  for (int status = 0; wait(&status) > 0;)
    broken += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
  fmt::print("{} seeds from {}: {}\n", asked.count, asked.plan.seed,
             broken == 0 ? "everything held" : "see above");
  return broken == 0 ? 0 : 1;
}
