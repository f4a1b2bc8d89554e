// A fiber for each rank, which makes an attempt as a process would; its other threads are fibers
// too. What takes time: forward and backward, by the samples, and messages. All else takes none.
#include "engine/simulate/simulation.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/nn/flops.h"
#include "engine/nn/graph.h"
#include "engine/simulate/network.h"
#include "engine/simulate/scheduler.h"
#include "engine/sync/emulate.h"
#include "engine/train/factory.h"
#include "engine/train/options.h"
#include "engine/train/shared_ranks.h"

namespace thalweg::engine::simulate {
namespace {

constexpr double kMiB = 1 << 20;

std::vector<Link> links_of(const Machine& machine, const Emulation& emulation) {
  const Link fast{1e-6 * machine.latency_us, 1e9 * machine.gb_per_s};
  std::vector<Link> links(static_cast<std::size_t>(machine.ranks), fast);
  const std::vector<comm::LinkLimit> limits = emulation.links(machine.ranks);
  for (std::size_t rank = 0; rank < limits.size(); ++rank) {
    links[rank].latency_s += 1e-6 * limits[rank].latency_us;
    if (limits[rank].mib_per_s > 0)
      links[rank].bytes_per_s = std::min(fast.bytes_per_s, kMiB * limits[rank].mib_per_s);
  }
  return links;
}

std::string label_of(const Machine& machine, double seconds_per_sample,
                     const Emulation& emulation) {
  char text[160];
  std::snprintf(text, sizeof text, "%d ranks, %.4g us a sample, messages %.4g us + %.4g GB/s",
                machine.ranks, 1e6 * seconds_per_sample, machine.latency_us, machine.gb_per_s);
  const std::string slowed = emulation.label();
  return slowed.empty() ? text : text + (", " + slowed);
}

/// Without what a simulation has no use for.
jobspec::Value config_of(const jobspec::Trial& trial, int ranks, const std::string& file) {
  jobspec::Value train = trial.train;
  train.set("checkpoint", jobspec::Map{{"every", 0}});
  jobspec::Value config = complete_for(train, ranks, train_schema(), file);
  if (Factory(config).wants_autotune())
    throw std::invalid_argument(
        "sync.allreduce: autotune measures this machine's messages, and a simulation has none; "
        "name "
        "an algorithm, or auto");
  return config;
}

}  // namespace

Simulated simulate(const jobspec::Trial& trial, const Machine& machine,
                   const std::filesystem::path& folder, const std::string& file,
                   const StopFlag& stop) {
  const jobspec::Value config = config_of(trial, machine.ranks, file);
  const Factory factory(config);
  const Emulation emulation = factory.emulation();
  SharedRanks shared;
  shared.seconds_per_sample = machine.sample_us > 0
                                  ? 1e-6 * machine.sample_us
                                  : 1e-9 / machine.gflops * shared.flops_per_sample(factory);
  shared.label = label_of(machine, shared.seconds_per_sample, emulation);

  Scheduler scheduler;
  Network network(scheduler, links_of(machine, emulation));
  const StopFlag never;
  std::optional<Outcome> outcome;
  for (int rank = 0; rank < machine.ranks; ++rank)
    scheduler.start([&, rank] {
      comm::Group group(network.transport(rank), group_options(*config.find("sync")));
      AttemptInput in{trial, config, folder, group, never};
      in.simulated = &shared;
      const Outcome ended = run_attempt(in);
      if (rank == 0) outcome = ended;
    });
  Simulated result;
  result.label = shared.label;
  result.interrupted = !scheduler.run([&stop] { return stop.requested(); });
  if (outcome) result.outcome = *outcome;
  result.seconds = scheduler.seconds();
  result.seconds_per_sample = shared.seconds_per_sample;
  result.messages = network.messages();
  return result;
}

}  // namespace thalweg::engine::simulate
