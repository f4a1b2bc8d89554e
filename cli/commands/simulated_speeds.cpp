// The trial's own file is simulated, so modes, shards, buckets and algorithms are what they would
// be; steps and validation are cut to what a speed needs.
#include "cli/commands/simulated_speeds.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/process.h"
#include "base/temporary_folder.h"
#include "cli/commands/engine_program.h"
#include "cli/commands/trial_sweep.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kSteps = 8;

/// The trial's sweep file for a few steps on this machine's cores, with nothing that ends it
/// before or takes time beside steps.
std::string short_file(const RecordedTrial& recorded) {
  TrialChanges changes;
  changes.changes = {"train.epochs=",
                     "train.stop=",
                     "train.init_from=",
                     "train.device=",
                     "train.precision=",
                     "train.eval=",
                     "metric.target=",
                     "metric.targets=",
                     fmt::format("train.steps={}", kSteps),
                     "train.data.validation=64",
                     "train.noise.every=0",
                     "train.log={every: 1000}"};
  const jobspec::Value file = sweep_of_trial(recorded, changes);
  if (!file.find("train.model"))
    throw CommandError(exit_bad_input,
                       "trial " + recorded.id.to_string() +
                           " is of a program: only the engine's own trainings can be simulated");
  return jobspec::to_yaml(file);
}

/// Seconds of a step.
double simulated_step(const fs::path& program, const fs::path& file, const SimulatedSpeeds& wanted,
                      double ranks) {
  const auto number = [](double value) { return fmt::format("{}", value); };
  const ProgramOutput output =
      run_program({program.string(), "--ranks", number(ranks), "--sample-us",
                   number(wanted.sample_us), "--gb-per-s", number(wanted.link_gbit / 8),
                   "--latency-us", number(wanted.latency_us), "--json", "--", file.string()},
                  wanted.patience_s);
  const Json answer = Json::parse(output.out, nullptr, false);
  const Json& trials = list_at(answer, "trials");
  const double speed = trials.empty() ? 0 : number_at(trials[0], "samples_per_s").value_or(0);
  if (output.code != 0 || !(speed > 0))
    throw CommandError(
        exit_failed,
        fmt::format("the simulation of {:g} ranks failed: {}", ranks,
                    printable(output.timed_out ? fmt::format("it took {:g} s", wanted.patience_s)
                                               : output.err)));
  return wanted.batch / speed;
}

}  // namespace

std::map<double, double> simulated_speeds(Context& context, const SimulatedSpeeds& wanted) {
  if (!(wanted.sample_us > 0 && wanted.measured_speed > 0))
    throw CommandError(exit_bad_input, "trial " + wanted.trial.to_string() +
                                           " has not measured how long its passes take");
  const fs::path program = engine_program("thalweg-simulate");
  const RecordedTrial recorded = find_recorded(context, wanted.trial);
  const double ranks_per_node = Json::parse(recorded.resources).value("ranks_per_node", 1.0);
  const TemporaryFolder folder("thalweg-predict");
  const fs::path file = folder.path() / "sweep.yaml";
  std::ofstream(file) << short_file(recorded);
  const auto step = [&](double nodes) {
    context.err << fmt::format("simulating {} steps on {}\n", kSteps,
                               count_of(std::llround(nodes), "node"));
    return simulated_step(program, file, wanted, nodes * ranks_per_node) + wanted.update_ms / 1000;
  };
  const double measured = step(wanted.measured_nodes);
  std::map<double, double> speeds;
  for (const double nodes : wanted.nodes)
    speeds[nodes] = wanted.measured_speed * measured / step(nodes);
  return speeds;
}

}  // namespace thalweg::cli
