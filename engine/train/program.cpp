#include "engine/train/program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>

#include "engine/comm/wireup/wireup.h"
#include "engine/nn/graph.h"
#include "engine/sync/mode.h"
#include "engine/train/check_sweep.h"
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

constexpr const char* kHelp =
    R"(thalweg-train: trains one trial; one process is one rank

usage: thalweg-train TRIAL.yaml
       thalweg-train --check [--json] [--trial N] TRIAL.yaml | SWEEP.yaml
       thalweg-train --noise [--json] TRIAL.yaml
       thalweg-train --evaluate [--json] [--checkpoint FILE] TRIAL.yaml
       thalweg-train --export FILE [--checkpoint FILE] TRIAL.yaml
       thalweg-train --flood-fill [--json] TRIAL.yaml --volume FILE [--truth FILE] [--out FILE]
       thalweg-train --metrics [TRIAL.yaml | SWEEP.yaml]
       thalweg-train --options [PREFIX]
       thalweg-train --schema | --layers | --manual | --version | --help

  --check    build everything, train nothing: parameters, steps, memory; of a sweep file once for each distinct shape
             of its trials. What is wrong is told with line and key; exit code 2
  --noise    the gradient noise scale over all training samples, from the gradient of each, at the newest
             checkpoint or at the initial weights; threads as resources.threads_per_rank says
  --flood-fill  segment a volume of any size (NPY, NPZ:NAME, H5:NAME; d x h x w, or c x d x h x w) by the newest
             checkpoint of a trial that learns the object at the centre, a part of which is its last channel
             (data cells, predict: object): object numbers into --out (segmentation.npy beside the trial), and
             against the true ones of --truth adapted Rand error, its precision and recall, and IoU
  --evaluate validation's metrics, and the test's, of the newest checkpoint
  --export   its weights as FILE, which ends with .npz or .safetensors; names as PyTorch's
  --options  what `train:` may hold, with ranges and defaults; of one part with PREFIX:
             data, data.arrays, optimizer.adamw, batch.global
  --metrics  the metrics that there are, or those that all trials of a file report
  --schema   what `train:` may hold, and the metrics, as JSON
  --layers   what a model `graph` is made of
  --manual   the same options as a manual page, thalweg-sweep-train(5)

with --evaluate and --export:
  --checkpoint FILE  this one instead of the newest

with --check:
  --trial N      only trial N of the sweep file
  --elsewhere    the trials will run on other machines: files, GPUs and arithmetic that this one lacks are noted only
  --seconds S    check no other shape after S seconds (default 10)
  --as NAME      the file is a sweep file, and NAME stands for it in messages
  --directory D  the folder that relative paths count from (default: the sweep file's)
  --max-nodes N  the site's limit of nodes a job (default 64), for sweeps that are clamped

Rank, size and peers come from PMIx: start several ranks with
  srun --mpi=pmix thalweg-train trial.yaml
  thalweg-launch -n 2 -- thalweg-train trial.yaml
Without PMIx it is a world of one rank.

Journal, checkpoints and failure files go into the folder of TRIAL.yaml. SIGTERM, SIGINT and SIGUSR1 stop all ranks
after a checkpoint; a later run in the same folder goes on from it.

exit codes: 0 finished, 2 bad input, 3 diverged (loss or gradient not finite), 75 stopped on request after a
checkpoint, 76 another start holds the attempt, or the controller has given it up; anything else failed
)";

struct Arguments {
  enum class Action {
    train,
    check,
    noise,
    evaluate,
    export_weights,
    flood_fill,
    metrics,
    options,
    schema,
    layers,
    manual,
    help,
    version
  } action = Action::train;
  bool json = false;
  std::string file, exported, checkpoint;
  SweepCheckOptions check;
  FloodFiles flood;
};

double number_of(const std::string& option, const std::string& word) {
  std::size_t used = 0;
  double number = -1;
  try {
    number = std::stod(word, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != word.size() || !(number >= 0 && number <= 1e9))
    throw std::invalid_argument(option + ": expected a number, found " + word);
  return number;
}

/// Options of --check that have a value; false where `word` is none of them.
bool take_value(const std::string& word, const std::string& value, SweepCheckOptions& check) {
  if (word == "--trial") {
    check.trial = static_cast<std::int64_t>(number_of(word, value));
  } else if (word == "--seconds") {
    check.seconds = number_of(word, value);
  } else if (word == "--max-nodes") {
    check.max_nodes = static_cast<int>(number_of(word, value));
  } else if (word == "--directory") {
    check.directory = value;
  } else if (word == "--as") {
    check.name = value;
    check.is_sweep = true;
  } else {
    return false;
  }
  return true;
}

/// Options of --flood-fill.
std::string* flood_file(const std::string& word, FloodFiles& files) {
  if (word == "--volume") return &files.volume;
  if (word == "--truth") return &files.truth;
  return word == "--out" ? &files.out : nullptr;
}

Arguments parse(const std::vector<std::string>& words) {
  static const std::vector<std::pair<std::string, Arguments::Action>> kActions{
      {"--check", Arguments::Action::check},
      {"--noise", Arguments::Action::noise},
      {"--evaluate", Arguments::Action::evaluate},
      {"--flood-fill", Arguments::Action::flood_fill},
      {"--options", Arguments::Action::options},
      {"--manual", Arguments::Action::manual},
      {"--metrics", Arguments::Action::metrics},
      {"--schema", Arguments::Action::schema},
      {"--layers", Arguments::Action::layers},
      {"--help", Arguments::Action::help},
      {"-h", Arguments::Action::help},
      {"--version", Arguments::Action::version}};
  std::vector<std::string> names{"--json",      "--trial",  "--seconds",    "--max-nodes",
                                 "--as",        "--export", "--checkpoint", "--elsewhere",
                                 "--directory", "--volume", "--truth",      "--out"};
  Arguments a;
  bool of_check = false, of_flood = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto action = std::find_if(kActions.begin(), kActions.end(),
                                     [&](const auto& row) { return row.first == word; });
    if (action != kActions.end()) {
      a.action = action->second;
    } else if (word == "--json") {
      a.json = true;
    } else if (word == "--export" && i + 1 < words.size()) {
      a.action = Arguments::Action::export_weights;
      a.exported = words[++i];
    } else if (word == "--checkpoint" && i + 1 < words.size()) {
      a.checkpoint = words[++i];
    } else if (word == "--elsewhere") {
      a.check.elsewhere = of_check = true;
    } else if (i + 1 < words.size() && take_value(word, words[i + 1], a.check)) {
      of_check = true;
      ++i;
    } else if (std::string* file = flood_file(word, a.flood); file && i + 1 < words.size()) {
      *file = words[++i];
      of_flood = true;
    } else if (word.starts_with("-")) {
      for (const auto& [name, unused] : kActions)
        names.push_back(name);
      if (std::find(names.begin(), names.end(), word) != names.end())
        throw std::invalid_argument(word + ": a value is missing");
      const std::string near = jobspec::nearest(word, names);
      throw std::invalid_argument("unknown option " + word +
                                  (near.empty() ? "" : " (did you mean " + near + "?)"));
    } else if (!a.file.empty()) {
      throw std::invalid_argument("one file at a time: " + word);
    } else {
      a.file = word;
    }
  }
  using enum Arguments::Action;
  const bool of_weights = a.action == evaluate || a.action == export_weights;
  if (a.json && a.action != noise && a.action != check && a.action != flood_fill &&
      a.action != evaluate)
    throw std::invalid_argument("--json goes with --check, --evaluate, --noise and --flood-fill");
  if (!a.checkpoint.empty() && !of_weights)
    throw std::invalid_argument("--checkpoint goes with --evaluate and --export");
  if (of_flood && a.action != flood_fill)
    throw std::invalid_argument("--volume, --truth and --out go with --flood-fill");
  if (of_check && a.action != check)
    throw std::invalid_argument(
        "--trial, --elsewhere, --seconds, --as, --directory and --max-nodes go with "
        "--check");
  const bool needs_file = a.action == train || a.action == check || a.action == noise ||
                          a.action == flood_fill || of_weights;
  if (needs_file && a.file.empty())
    throw std::invalid_argument("which trial? Give the path of a trial.yaml, or --help");
  if (!a.file.empty()) a.check.file = std::filesystem::absolute(a.file);
  if (a.check.name.empty()) a.check.name = a.file;
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
  const jobspec::Value written = jobspec::complete_train(trial.train, train_schema(), file);
  const comm::GroupOptions options = group_options(*written.find("sync"));
  const auto wireup = comm::Wireup::connect(
      std::max<std::chrono::milliseconds>(comm::Wireup::kTimeout, options.stall_timeout));
  const comm::World world = wireup->world();
  const std::string who = "rank " + std::to_string(world.rank) + " on " + world.node + ": ";
  try {
    const jobspec::Value config = complete_for(trial.train, world.size, train_schema(), file);
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

/// Wrong keys as part of the answer.
SweepCheck check_or_mistakes(const SweepCheckOptions& options) {
  try {
    return check_sweep(options);
  } catch (const jobspec::InputError& error) {
    SweepCheck check;
    check.name = options.name.empty() ? options.file.string() : options.name;
    for (const jobspec::Diagnostic& mistake : error.diagnostics())
      check.errors.push_back({mistake});
    return check;
  }
}

int check_file(const Arguments& a) {
  const bool sweep = a.check.is_sweep || is_sweep_file(a.check.file);
  if (!sweep && !a.json) {
    std::fputs(check_trial(a.check.file).c_str(), stdout);
    return 0;
  }
  const SweepCheck check = a.json ? check_or_mistakes(a.check) : check_sweep(a.check);
  std::fputs((a.json ? check.to_json() : check.text()).c_str(), stdout);
  std::fflush(stdout);
  if (!a.json)
    for (const PlacedError& error : check.errors)
      std::fprintf(stderr, "%s\n", error.diagnostic.to_string().c_str());
  return static_cast<int>(check.ok() ? ExitCode::finished : ExitCode::bad_input);
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

int act(const std::vector<std::string>& words) {
  const Arguments a = parse(words);
  switch (a.action) {
    case Arguments::Action::train:
      return train_rank(a.file);
    case Arguments::Action::check:
      return check_file(a);
    case Arguments::Action::noise:
      std::fputs(noise_of_trial(a.file, a.json).c_str(), stdout);
      return 0;
    case Arguments::Action::flood_fill:
      std::fputs(flood_fill_of_trial(a.file, a.flood, a.json).c_str(), stdout);
      return 0;
    case Arguments::Action::evaluate:
      std::fputs(evaluate_trial(a.file, a.checkpoint, a.json).c_str(), stdout);
      return 0;
    case Arguments::Action::export_weights:
      std::fputs(export_trial(a.file, a.checkpoint, a.exported).c_str(), stdout);
      return 0;
    case Arguments::Action::metrics:
      return tell_metrics(a);
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
