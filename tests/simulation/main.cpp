// Runs simulations by seed: one to be looked at, or as many as there is time for.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <new>
#include <thread>

#include "tests/simulation/simulation.h"

namespace {

using namespace thalweg::simulation;

struct Asked {
  Plan plan;
  int count = 1, processes = 0, worst = 5;
  bool shrink = false, digest = false;
  std::vector<int> only;
};

constexpr unsigned progress_every_s = 60;

/// Shared by the processes.
struct Progress {
  std::atomic<int> done{0}, broken{0};
};

volatile std::sig_atomic_t stopped = 0;

/// After the first signal each process ends with the seed that it runs; a second one ends it at
/// once.
void stop_on(int signal) {
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(signal, &action, nullptr);
}

Progress& shared_progress() {
  void* memory =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return *new (memory) Progress;
}

void tell(const Plan& plan, const RunResult& result) {
  fmt::print("seed {}: {}\n  {}\n", plan.seed, result.broken, command(plan));
  std::fflush(stdout);
}

/// Each process takes every n-th seed.
int run_part(const Asked& asked, int part, int parts, Progress& progress) {
  int broken = 0;
  RunResult sum;
  for (int i = part; i < asked.count && stopped == 0; i += parts) {
    Plan plan = asked.plan;
    plan.seed += static_cast<std::uint64_t>(i);
    RunResult result = simulate(plan);
    sum.controllers += result.controllers;
    sum.attempts += result.attempts;
    sum.promoted += result.promoted;
    sum.simulated_s += result.simulated_s;
    ++progress.done;
    if (asked.digest) fmt::print("{} {:016x}\n", plan.seed, result.digest);
    if (result.broken.empty()) continue;
    ++broken;
    ++progress.broken;
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

/// Waits for the processes, and says each minute how far they are. How many of them crashed.
int watch(const Asked& asked, const Progress& progress, const std::vector<pid_t>& children) {
  struct sigaction tick {};
  tick.sa_handler = [](int) {};  // interrupts wait()
  sigaction(SIGALRM, &tick, nullptr);
  const std::time_t begun = std::time(nullptr);
  int crashed = 0;
  alarm(progress_every_s);
  for (int status = 0;;) {
    if (wait(&status) > 0) {
      crashed += WIFEXITED(status) ? 0 : 1;
      continue;
    }
    if (errno != EINTR) break;
    if (stopped != 0) {
      for (const pid_t child : children)
        kill(child, SIGTERM);
      continue;
    }
    fmt::print(stderr, "{} of {} seeds in {} s, {} broken\n", progress.done.load(), asked.count,
               std::time(nullptr) - begun, progress.broken.load());
    alarm(progress_every_s);
  }
  alarm(0);
  return crashed;
}

int run_all(const Asked& asked) {
  Progress& progress = shared_progress();
  for (const int signal : {SIGINT, SIGTERM})
    stop_on(signal);
  const int parts =
      asked.processes > 0 ? asked.processes : static_cast<int>(std::thread::hardware_concurrency());
  std::vector<pid_t> children;
  for (int part = 0; part < parts; ++part) {
    const pid_t child = fork();
    if (child == 0) _exit(run_part(asked, part, parts, progress) == 0 ? 0 : 1);
    if (child > 0) children.push_back(child);
  }
  const int crashed = watch(asked, progress, children);
  const int done = progress.done, broken = progress.broken;
  const bool whole = done == asked.count;
  if (crashed > 0) fmt::print("processes that crashed: {}\n", crashed);
  fmt::print("{}{} seeds from {}: {}\n", whole ? "" : fmt::format("{} of ", done), asked.count,
             asked.plan.seed, broken + crashed == 0 ? "everything held" : "see above");
  return whole && broken + crashed == 0 ? 0 : 1;
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
  app.add_flag("--local", asked.plan.local, "the local backend and its processes, not Slurm");
  app.add_flag("--looks", asked.plan.looks, "sweeps have looks at seeds");
  app.add_flag("--shrink", asked.shrink, "leave out the faults that a broken run does not need");
  app.add_flag("--digest", asked.digest,
               "say for each seed a number that is another where it runs otherwise");
  app.add_flag("--trace", asked.plan.trace, "tell what happens");
  CLI11_PARSE(app, argc, argv);
  if (!asked.only.empty()) asked.plan.only = std::set<int>(asked.only.begin(), asked.only.end());
  if (asked.count != 1) return run_all(asked);
  Progress alone;
  return run_part(asked, 0, 1, alone) == 0 ? 0 : 1;
}
