#include "engine/train/program.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include "engine/nn/graph.h"
#include "engine/sync/mode.h"
#include "engine/train/exact_noise.h"
#include "engine/train/libraries.h"
#include "engine/train/option_text.h"
#include "engine/train/options.h"
#include "engine/train/train.h"
#include "jobspec/diagnostic.h"

namespace thalweg::engine {
namespace {

constexpr const char* kHelp =
    R"(thalweg-train: trains one trial; one process is one rank

usage: thalweg-train TRIAL.yaml
       thalweg-train --check TRIAL.yaml
       thalweg-train --noise [--json] TRIAL.yaml
       thalweg-train --options [PREFIX]
       thalweg-train --schema | --layers | --manual | --version | --help

  --check    build everything, train nothing: parameters, steps, memory
  --noise    the gradient noise scale over all training samples, from the gradient of each, at the newest
             checkpoint or at the initial weights; threads as resources.threads_per_rank says
  --options  what `train:` may hold, with ranges and defaults; of one part with PREFIX:
             data, data.arrays, optimizer.adamw, batch.global
  --schema   what `train:` may hold, as JSON
  --layers   what a model `graph` is made of
  --manual   the same options as a manual page, thalweg-sweep-train(5)

Rank, size and peers come from PMIx: start several ranks with
  srun --mpi=pmix thalweg-train trial.yaml
  thalweg-launch -n 2 -- thalweg-train trial.yaml
Without PMIx it is a world of one rank.

Journal, checkpoints and failure files go into the folder of TRIAL.yaml. SIGTERM, SIGINT and SIGUSR1 stop all ranks
after a checkpoint; a later run in the same folder goes on from it.

exit codes: 0 finished, 2 bad input, 3 diverged (loss or gradient not finite), 75 stopped on request after a
checkpoint, anything else failed
)";

struct Arguments {
  enum class Action {
    train,
    check,
    noise,
    options,
    schema,
    layers,
    manual,
    help,
    version
  } action = Action::train;
  bool json = false;
  std::string trial;
};

Arguments parse(const std::vector<std::string>& words) {
  static const std::vector<std::pair<std::string, Arguments::Action>> kOptions{
      {"--check", Arguments::Action::check},     {"--noise", Arguments::Action::noise},
      {"--options", Arguments::Action::options}, {"--manual", Arguments::Action::manual},
      {"--schema", Arguments::Action::schema},   {"--layers", Arguments::Action::layers},
      {"--help", Arguments::Action::help},       {"-h", Arguments::Action::help},
      {"--version", Arguments::Action::version}};
  Arguments a;
  for (const std::string& word : words) {
    bool known = false;
    std::vector<std::string> names;
    for (const auto& [name, action] : kOptions) {
      names.push_back(name);
      if (word != name) continue;
      a.action = action;
      known = true;
    }
    names.emplace_back("--json");
    if (word == names.back()) a.json = known = true;
    if (known) continue;
    if (word.starts_with("-")) {
      const std::string near = jobspec::nearest(word, names);
      throw std::invalid_argument("unknown option " + word +
                                  (near.empty() ? "" : " (did you mean " + near + "?)"));
    }
    if (!a.trial.empty()) throw std::invalid_argument("one trial at a time: " + word);
    a.trial = word;
  }
  using enum Arguments::Action;
  if (a.json && a.action != noise) throw std::invalid_argument("--json goes with --noise");
  const bool needs_trial = a.action == train || a.action == check || a.action == noise;
  if (needs_trial && a.trial.empty())
    throw std::invalid_argument("which trial? Give the path of a trial.yaml, or --help");
  return a;
}

/// Says it on stderr; `who` is empty before the rank is known.
int complain(const std::string& who, const Failure& failure) {
  std::fprintf(stderr, "thalweg-train: %s%s\n", who.c_str(), failure.reason.c_str());
  return static_cast<int>(failure.code);
}

/// Peers may be gone and libraries in any state: no destructor may wait for them.
[[noreturn]] void leave(int code) {
  std::fflush(nullptr);
  _exit(code);
}

int train_rank(const std::string& file) {
  const StopFlag& stop = stop_on_signals();
  const std::filesystem::path path = std::filesystem::absolute(file);
  const jobspec::Trial trial = jobspec::read_trial(path);
  const jobspec::Value config = complete(trial.train, train_schema(), file);

  const comm::GroupOptions options = group_options(*config.find("sync"));
  const auto wireup = comm::Wireup::connect(
      std::max<std::chrono::milliseconds>(comm::Wireup::kPatience, options.stall_timeout));
  const comm::World world = wireup->world();
  const std::string who = "rank " + std::to_string(world.rank) + " on " + world.node + ": ";
  try {
    comm::Group group(wireup->transport(), options);
    const Outcome outcome = run_attempt({trial, config, path.parent_path(), group, stop});
    if (world.rank == 0 && outcome.code == ExitCode::diverged)
      complain(who, {outcome.code, outcome.reason, world.rank, world.node});
    wireup->finalize();
    return static_cast<int>(outcome.code);
  } catch (...) {
    const Failure failure = describe_failure(std::current_exception(), world.rank, world.node);
    complain(who, failure);
    if (failure.code == ExitCode::failed) write_failure(path.parent_path(), world.rank, failure);
    leave(static_cast<int>(failure.code));
  }
}

int act(const std::vector<std::string>& words) {
  const Arguments a = parse(words);
  switch (a.action) {
    case Arguments::Action::train:
      return train_rank(a.trial);
    case Arguments::Action::check:
      std::fputs(check_trial(a.trial).c_str(), stdout);
      return 0;
    case Arguments::Action::noise:
      std::fputs(noise_of_trial(a.trial, a.json).c_str(), stdout);
      return 0;
    case Arguments::Action::schema:
      std::printf("%s\n", train_schema().to_json().c_str());
      return 0;
    case Arguments::Action::options:
      std::fputs(describe_options(train_schema(), a.trial).c_str(), stdout);
      return 0;
    case Arguments::Action::manual:
      std::fputs(options_manual(train_schema()).c_str(), stdout);
      return 0;
    case Arguments::Action::layers:
      std::fputs(describe_layers().c_str(), stdout);
      return 0;
    case Arguments::Action::help:
      std::fputs(kHelp, stdout);
      return 0;
    case Arguments::Action::version:
      std::printf("thalweg-train %s\n", engine_version().c_str());
      return 0;
  }
  return 0;
}

}  // namespace

int run_program(const std::vector<std::string>& arguments) {
  try {
    return act(arguments);
  } catch (...) {
    return complain("", describe_failure(std::current_exception(), -1, ""));
  }
}

}  // namespace thalweg::engine
