#include "engine/simulate/program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/command_line.h"
#include "base/temporary_folder.h"
#include "engine/simulate/options.h"
#include "engine/simulate/report.h"
#include "engine/train/describe_failure.h"
#include "engine/train/metrics.h"
#include "engine/train/options.h"
#include "engine/train/sweep_trials.h"
#include "jobspec/diagnostic.h"

namespace thalweg::engine::simulate {
namespace {

namespace fs = std::filesystem;

/// A folder that goes with this, unless it is the user's.
class Folder {
 public:
  explicit Folder(fs::path kept) : path_(std::move(kept)) {
    if (path_.empty()) path_ = own_.emplace("thalweg-simulate").path();
  }
  /// A new one within.
  fs::path of(std::int64_t trial) const {
    const fs::path folder = path_ / ("trial-" + std::to_string(trial));
    if (fs::exists(folder / "journal.jsonl"))
      throw std::invalid_argument("--out: " + (folder / "journal.jsonl").string() +
                                  " exists already; name another folder, or remove it");
    fs::create_directories(folder);
    return folder;
  }

 private:
  fs::path path_;
  std::optional<TemporaryFolder> own_;
};

/// What goes to the user besides standard output. A file of an earlier run stays until there is a
/// trial to write.
class PointsFile {
 public:
  explicit PointsFile(fs::path file) : file_(std::move(file)) {
    if (file_.empty()) return;
    is_new_ = !fs::exists(file_);
    out_.open(file_, std::ios::app);
    check();
  }
  ~PointsFile() {
    std::error_code ignored;
    if (is_new_ && !begun_) fs::remove(file_, ignored);
  }
  void add(const Row& row) {
    if (file_.empty()) return;
    if (!std::exchange(begun_, true) && fs::is_regular_file(file_)) fs::resize_file(file_, 0);
    out_ << points(row) << std::flush;
    check();
  }

 private:
  void check() const {
    if (!out_) throw std::runtime_error("cannot write " + file_.string());
  }
  fs::path file_;
  std::ofstream out_;
  bool is_new_ = false, begun_ = false;
};

bool more_is_better(const std::string& name) {
  const std::vector<MetricInfo> all = metric_table();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const MetricInfo& m) { return m.name == name; });
  if (found == all.end())
    throw std::invalid_argument("--target: there is no metric " + name +
                                "; thalweg-train --metrics names them");
  return found->larger_is_better;
}

jobspec::Metric metric_of(const Options& options, const jobspec::Metric& of_file) {
  if (!options.target) return of_file;
  jobspec::Metric metric;
  metric.name = options.target->metric;
  metric.goal = more_is_better(metric.name) ? jobspec::Goal::maximize : jobspec::Goal::minimize;
  metric.targets = {options.target->value};
  return metric;
}

jobspec::Trial trial_of(const Options& options, const SweepTrials& trials,
                        const jobspec::ExpandedTrial& expanded) {
  jobspec::Trial trial;
  trial.seed = expanded.seed;
  trial.train = expanded.train;
  trial.resources = expanded.resources;
  trial.id.trial = expanded.number;
  trial.metric = metric_of(options, trials.sweep.metric);
  if (trial.metric.target()) trial.train.set("stop.at", "target");
  if (!options.preset.empty()) trial.train.set("emulate.preset", options.preset);
  if (!options.slowdown.empty())
    trial.train.set("emulate.slowdown",
                    jobspec::List(options.slowdown.begin(), options.slowdown.end()));
  if (options.jitter) trial.train.set("emulate.jitter", *options.jitter);
  return trial;
}

/// The whole of a run of this program.
class Run {
 public:
  explicit Run(const Options& options)
      : o_(options), stop_(stop_on_signals()), folder_(o_.out), points_(o_.points) {}

  int all() {
    SweepCheckOptions file;
    file.file = o_.file;
    file.trial = o_.trial;
    const SweepTrials trials = expand_file(file, train_schema());
    if (trials.sweep.program)
      throw std::invalid_argument(o_.file + ": programs of your own cannot be simulated");
    for (const jobspec::ExpandedTrial& trial : trials.trials) {
      if (one(trials, trial)) continue;
      print();
      std::fprintf(stderr, "thalweg-simulate: stopped on request in trial %lld\n",
                   static_cast<long long>(trial.number));
      return static_cast<int>(ExitCode::stopped);
    }
    print();
    for (const Row& row : rows_)
      if (row.simulated.outcome.code != ExitCode::finished)
        return static_cast<int>(row.simulated.outcome.code);
    return 0;
  }

 private:
  /// False where it was stopped.
  bool one(const SweepTrials& trials, const jobspec::ExpandedTrial& expanded) {
    Row row;
    row.number = expanded.number;
    row.seed = expanded.seed;
    row.parameters = expanded.parameters;
    const jobspec::Trial trial = trial_of(o_, trials, expanded);
    Machine machine = o_.machine;
    if (machine.ranks == 0) machine.ranks = trial.resources.ranks();
    row.ranks = machine.ranks;
    row.metric = trial.metric;
    const fs::path folder = folder_.of(expanded.number);
    row.simulated = simulate(trial, machine, folder, o_.file, stop_);
    if (row.simulated.interrupted) return false;
    row.journal = folder / "journal.jsonl";
    row.reading = read_journal(row.journal, row.metric);
    points_.add(row);
    rows_.push_back(std::move(row));
    return true;
  }

  void print() const {
    if (o_.json)
      std::fputs(to_json(rows_).c_str(), stdout);
    else if (!rows_.empty())
      std::printf("simulated: %s\n%s", rows_.front().simulated.label.c_str(), table(rows_).c_str());
    std::fflush(stdout);
  }

  const Options& o_;
  const StopFlag& stop_;
  Folder folder_;
  PointsFile points_;
  std::vector<Row> rows_;
};

}  // namespace

int run_program(const std::vector<std::string>& arguments) {
  try {
    const Options options = parse(arguments);
    if (!options.print.empty()) {
      std::fputs(options.print.c_str(), stdout);
      return 0;
    }
    return Run(options).all();
  } catch (const UsageError& error) {
    std::fprintf(stderr, "thalweg-simulate: %s\nTry 'thalweg-simulate --help'.\n", error.what());
    return static_cast<int>(ExitCode::bad_input);
  } catch (...) {
    const Failure failure = describe_failure(std::current_exception(), -1, "");
    std::fprintf(stderr, "thalweg-simulate: %s\n", failure.reason.c_str());
    return static_cast<int>(failure.code);
  }
}

}  // namespace thalweg::engine::simulate
