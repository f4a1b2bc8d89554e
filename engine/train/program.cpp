#include "engine/train/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>
#include <thread>

#include "base/machine.h"
#include "base/text.h"
#include "engine/attempt/other_program.h"
#include "engine/attempt/stop.h"
#include "engine/comm/wireup/wireup.h"
#include "engine/data/array.h"
#include "engine/nn/graph.h"
#include "engine/sync/emulate.h"
#include "engine/sync/mode.h"
#include "engine/threads/denormals.h"
#include "engine/train/arguments.h"
#include "engine/train/check_sweep.h"
#include "engine/train/describe.h"
#include "engine/train/describe_failure.h"
#include "engine/train/exact_noise.h"
#include "engine/train/export.h"
#include "engine/train/flood_filling.h"
#include "engine/train/libraries.h"
#include "engine/train/metrics.h"
#include "engine/train/option_text.h"
#include "engine/train/options.h"
#include "engine/train/restored.h"
#include "engine/train/train.h"
#include "jobspec/complete.h"
#include "jobspec/diagnostic.h"

namespace thalweg::engine {
namespace {

/// Says it on stderr; `who` is empty before the rank is known.
int report_error(const std::string& who, const Failure& failure) {
  std::fprintf(stderr, "thalweg-train: %s%s\n", who.c_str(), failure.reason.c_str());
  return static_cast<int>(failure.code);
}

/// Peers may be gone and libraries in any state: no destructor may wait for them.
[[noreturn]] void leave(int code) {
  std::fflush(nullptr);
  _exit(code);
}

comm::WireupOptions wireup_options(const jobspec::Value& sync,
                                   std::chrono::milliseconds stall_timeout,
                                   const std::filesystem::path& folder) {
  comm::WireupOptions options;
  options.timeout = std::max(options.timeout, stall_timeout);
  options.start_timeout = start_timeout(sync);
  options.warn = [](const std::string& text) {
    std::fprintf(stderr, "thalweg-train: %s\n", text.c_str());
  };
  // Slurm ends the other ranks where one fails, but not one that was only starting then (22.05).
  options.look = [folder] {
    if (const auto failure = failure_in_step(folder))
      throw PeerFailed(failure->code, failure->rank, failure->node,
                       "has failed: " + failure->reason);
  };
  return options;
}

/// Before ranks have met, PMIx's word alone says which one this is.
int rank_of_launcher() {
  const char* rank = std::getenv("PMIX_RANK");
  return rank == nullptr ? 0 : std::atoi(rank);
}

std::unique_ptr<comm::Wireup> meet(const comm::WireupOptions& options,
                                   const std::filesystem::path& folder) {
  try {
    return comm::Wireup::connect(options);
  } catch (...) {
    const int rank = rank_of_launcher();
    write_failure(folder, rank, describe_failure(std::current_exception(), rank, host_name()));
    throw;
  }
}

/// A disk that is full is waited for, since nothing else says what happened.
void tell_failure(const std::filesystem::path& folder, int rank, const Failure& failure,
                  const StopFlag& stop) {
  constexpr int looks = 60;
  std::error_code missing;
  for (int look = 1; !write_failure(folder, rank, failure) && look < looks && !stop.requested() &&
                     std::filesystem::exists(folder, missing);
       ++look)
    std::this_thread::sleep_for(std::chrono::seconds(1));
}

int train_rank(const std::string& file) {
  const StopFlag& stop = stop_on_signals();
  const std::filesystem::path path = std::filesystem::absolute(file);
  const jobspec::Trial trial = jobspec::read_trial(path);
  if (trial.program) become("thalweg-attempt", path.string());
  const jobspec::Value written = jobspec::complete_train(trial.train, train_schema(), file);
  const jobspec::Value& sync = *written.find("sync");
  comm::GroupOptions options = group_options(sync);
  const std::filesystem::path folder = path.parent_path();
  const auto wireup = meet(wireup_options(sync, options.stall_timeout, folder), folder);
  const comm::World world = wireup->world();
  const std::string who = "rank " + std::to_string(world.rank) + " on " + world.node + ": ";
  try {
    const jobspec::Value config = complete_for(trial.train, world.size, train_schema(), file);
    options.links = read_emulation(*config.find("emulate")).links(world.size);
    comm::Group group(wireup->transport(), options);
    const Outcome outcome = run_attempt({trial, config, path.parent_path(), group, stop});
    if (world.rank == 0 && outcome.code == ExitCode::diverged)
      report_error(who, {outcome.code, outcome.reason, world.rank, world.node});
    wireup->finalize();
    return static_cast<int>(outcome.code);
  } catch (...) {
    const Failure failure = describe_failure(std::current_exception(), world.rank, world.node);
    report_error(who, failure);
    if (failure.code == ExitCode::failed) tell_failure(folder, world.rank, failure, stop);
    leave(static_cast<int>(failure.code));
  }
}

/// Wrong keys as part of the answer.
SweepCheck check_or_mistakes(const SweepCheckOptions& options) {
  try {
    return check_sweep(options);
  } catch (const jobspec::InputError& error) {
    SweepCheck check;
    check.name = options.name.empty() ? options.file.string() : options.name;
    for (const jobspec::Diagnostic& mistake : error.diagnostics())
      check.errors.push_back({mistake, {}});
    return check;
  }
}

int check_sweep_file(const Arguments& a) {
  const SweepCheck check = a.json ? check_or_mistakes(a.check) : check_sweep(a.check);
  std::fputs((a.json ? check.to_json() : check.text()).c_str(), stdout);
  std::fflush(stdout);
  if (!a.json)
    for (const PlacedError& error : check.errors)
      std::fprintf(stderr, "%s\n", error.diagnostic.to_string().c_str());
  return static_cast<int>(check.ok() ? ExitCode::finished : ExitCode::bad_input);
}

int check_file(const Arguments& a) {
  const bool sweep = a.check.is_sweep || is_sweep_file(a.check.file);
  if (sweep || a.json) return check_sweep_file(a);
  std::fputs(check_trial(a.check.file).c_str(), stdout);
  return 0;
}

int describe_files(Arguments a) {
  a.check.contents = false;
  const bool one = a.files.size() == 1 && a.file != "-";
  if (one && (a.check.is_sweep || is_sweep_file(a.check.file))) return check_sweep_file(a);
  const bool fine =
      describe_trials(a.files, {a.json, a.check.elsewhere}, {std::cin, std::cout, std::cerr});
  return static_cast<int>(fine ? ExitCode::finished : ExitCode::bad_input);
}

int tell_schema() {
  jobspec::Value schema = jobspec::read_yaml(train_schema().to_json(), "schema");
  schema.set("metrics", metrics_json(metric_table()));
  std::printf("%s\n", schema.to_json().c_str());
  return 0;
}

int tell_metrics(const Arguments& a) {
  std::vector<MetricInfo> metrics = metric_table();
  if (!a.file.empty()) {
    SweepCheckOptions options = a.check;
    options.plan_memory = false;
    const SweepCheck check = check_sweep(options);
    if (check.metrics.empty() && !check.ok())
      throw std::invalid_argument(check.errors.front().diagnostic.to_string());
    std::erase_if(metrics, [&](const MetricInfo& m) {
      return std::find(check.metrics.begin(), check.metrics.end(), m.name) == check.metrics.end();
    });
  }
  std::fputs(describe_metrics(metrics).c_str(), stdout);
  return 0;
}

/// "X  float32  200 x 8" for each array, as JSON or for people.
int tell_arrays(const Arguments& a) {
  jobspec::List list;
  std::string text;
  for (const Array& array : array_headers(a.file)) {
    const jobspec::List shape(array.shape.begin(), array.shape.end());
    list.push_back(jobspec::Map{{"name", array.name},
                                {"type", std::string(name_of(array.type))},
                                {"integer", is_integer(array.type)},
                                {"shape", shape}});
    std::string sizes;
    for (const std::int64_t size : array.shape)
      sizes += (sizes.empty() ? "" : " x ") + std::to_string(size);
    text += fmt::format("{}{}{}  {}\n", array.name, array.name.empty() ? "" : "  ",
                        name_of(array.type), sizes);
  }
  const std::string json = jobspec::Value(jobspec::Map{{"arrays", list}}).to_json() + "\n";
  std::fputs(a.json ? json.c_str() : text.c_str(), stdout);
  return 0;
}

int act(const std::vector<std::string>& words) {
  const Arguments a = parse(words);
  switch (a.action) {
    case Arguments::Action::train:
      return train_rank(a.file);
    case Arguments::Action::check:
      return check_file(a);
    case Arguments::Action::describe:
      return describe_files(a);
    case Arguments::Action::noise:
      std::fputs(noise_of_trial(a.file, a.json).c_str(), stdout);
      return 0;
    case Arguments::Action::flood_fill:
      std::fputs(flood_fill_of_trial(a.file, a.flood, a.json, a.best).c_str(), stdout);
      return 0;
    case Arguments::Action::evaluate:
      std::fputs(evaluate_trial(a.file, {a.checkpoint, a.best}, a.json).c_str(), stdout);
      return 0;
    case Arguments::Action::export_weights:
      std::fputs(export_trial(a.file, {a.checkpoint, a.best}, a.exported).c_str(), stdout);
      return 0;
    case Arguments::Action::metrics:
      return tell_metrics(a);
    case Arguments::Action::arrays:
      return tell_arrays(a);
    case Arguments::Action::schema:
      return tell_schema();
    case Arguments::Action::options:
      std::fputs(describe_options(train_schema(), a.file).c_str(), stdout);
      return 0;
    case Arguments::Action::manual:
      std::fputs(options_manual(train_schema()).c_str(), stdout);
      return 0;
    case Arguments::Action::layers:
      std::fputs(describe_layers().c_str(), stdout);
      return 0;
    case Arguments::Action::help:
      std::fputs(in_columns(help_text()).c_str(), stdout);
      return 0;
    case Arguments::Action::version:
      std::printf("thalweg-train %s\n", engine_version().c_str());
      return 0;
  }
  return 0;
}

}  // namespace

int run_program(const std::vector<std::string>& arguments) {
  const FlushDenormals flush;  // also for the group's threads
  try {
    return act(arguments);
  } catch (...) {
    return report_error("", describe_failure(std::current_exception(), -1, ""));
  }
}

}  // namespace thalweg::engine
