// jobspec expands the file; of each shape of its trials one is checked as a run would be set up,
// the first ones with their memory, and all within a time that does not grow with the sweep.
#include "engine/train/check_sweep.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/file.h"
#include "base/machine.h"
#include "engine/device/layer.h"
#include "engine/train/metrics.h"
#include "engine/train/sweep_trials.h"

namespace thalweg::engine {
namespace {

using jobspec::ExpandedTrial;
using jobspec::Value;
using Clock = std::chrono::steady_clock;

/// A file that cannot be read is the user's mistake.
std::string read_input(const std::filesystem::path& file) {
  try {
    return read_file(file);
  } catch (const std::system_error& error) {
    throw std::invalid_argument(error.what());
  }
}

int max_ranks(const SweepTrials& trials) {
  int most = 0;
  for (const ExpandedTrial& trial : trials.trials)
    most = std::max(most, trial.resources.ranks());
  return most;
}

/// A trial file as a sweep of one.
SweepTrials one_trial(const SweepCheckOptions& options) {
  const jobspec::Trial trial = jobspec::read_trial(options.file);
  SweepTrials result;
  result.sweep.file = options.name.empty() ? options.file.string() : options.name;
  result.sweep.train = trial.train;
  result.sweep.metric = trial.metric;
  result.sweep.metric_given = result.sweep.goal_given = true;
  ExpandedTrial expanded;
  expanded.number = expanded.configuration = 1;
  expanded.train = trial.train;
  expanded.resources = trial.resources;
  result.trials.push_back(std::move(expanded));
  result.ranks = trial.sweep_ranks;
  return result;
}

std::size_t machine_bytes() {
  auto bytes = static_cast<std::size_t>(machine_memory());
  std::ifstream limit("/sys/fs/cgroup/memory.max");  // "max" is no number
  std::size_t allowed = 0;
  if (limit >> allowed) bytes = std::min(bytes, allowed);
  return bytes;
}

/// Against what the file asks for, and what there is.
void check_memory(const jobspec::Resources& resources, const CheckedShape& shape, bool elsewhere,
                  SweepMistakes& mistakes) {
  const std::size_t needed =
      shape.report.host_bytes() * static_cast<std::size_t>(resources.ranks_per_node);
  if (needed == 0) return;
  const std::string takes = "a node's " + std::to_string(resources.ranks_per_node) +
                            (resources.ranks_per_node == 1 ? " rank takes" : " ranks take") +
                            " at least " + in_mebibytes(needed);
  const std::size_t asked = static_cast<std::size_t>(resources.memory_mib) << 20;
  if (asked > 0 && needed > asked)
    mistakes.add({shape.trials, false}, "resources.memory",
                 "found " + in_mebibytes(asked) + ", but " + takes,
                 "ask for more, or make batch.global or the model smaller");
  if (!elsewhere && needed > machine_bytes())
    mistakes.add({shape.trials, false}, "resources",
                 takes + ", and this machine has " + in_mebibytes(machine_bytes()),
                 "use fewer ranks, or make batch.global or the model smaller");
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool reports(const CheckReport& report, const std::string& name) {
  return std::any_of(report.metrics.begin(), report.metrics.end(),
                     [&](const MetricInfo& m) { return m.name == name; });
}

std::vector<std::string> names_of(const std::vector<MetricInfo>& metrics) {
  std::vector<std::string> names;
  for (const MetricInfo& m : metrics)
    names.push_back(m.name);
  return names;
}

/// Of the shapes' own defaults the first that all report; each reports its loss.
MetricInfo common_default(const std::vector<const CheckedShape*>& known) {
  for (const CheckedShape* shape : known) {
    const MetricInfo& metric = *shape->report.default_metric;
    if (std::all_of(known.begin(), known.end(),
                    [&](const CheckedShape* other) { return reports(other->report, metric.name); }))
      return metric;
  }
  return validation_loss();
}

std::vector<std::int64_t> numbers_of(const SweepTrials& trials) {
  std::vector<std::int64_t> numbers;
  for (const ExpandedTrial& trial : trials.trials)
    numbers.push_back(trial.number);
  return numbers;
}

/// That the sweep's metric is one that its trials report.
void require_reported(const SweepTrials& trials, const std::vector<const CheckedShape*>& known,
                      SweepMistakes& mistakes) {
  const std::string& wanted = trials.sweep.metric.name;
  const auto refuse = [&](const std::vector<std::int64_t>& affected,
                          const std::vector<std::string>& names) {
    const std::string near = jobspec::nearest_metric(wanted, names);
    mistakes.add({affected, false}, "metric.name",
                 "found \"" + wanted + "\", which is not reported; expected " + listed(names),
                 near.empty() ? "" : "did you mean '" + near + "'?");
  };
  for (const CheckedShape* shape : known)
    if (!reports(shape->report, wanted)) refuse(shape->trials, names_of(shape->report.metrics));
  const std::vector<std::string> all = names_of(metric_table());
  if (known.empty() && std::find(all.begin(), all.end(), wanted) == all.end())
    refuse(numbers_of(trials), all);
}

/// Which metrics all trials report, and what they are ranked by.
void check_metric(const SweepTrials& trials, SweepCheck& check, SweepMistakes& mistakes) {
  std::vector<const CheckedShape*> known;
  for (const CheckedShape& shape : check.shapes)
    if (!shape.report.metrics.empty()) known.push_back(&shape);
  if (!known.empty())
    for (const std::string& name : names_of(known.front()->report.metrics))
      if (std::all_of(known.begin(), known.end(),
                      [&](const CheckedShape* shape) { return reports(shape->report, name); }))
        check.metrics.push_back(name);
  const jobspec::Sweep& sweep = trials.sweep;
  if (sweep.metric_given) {
    require_reported(trials, known, mistakes);
    check.metric = sweep.metric.name;
  } else if (!known.empty()) {
    check.metric = common_default(known).name;
  }
  for (const MetricInfo& metric : metric_table())
    if (metric.name == check.metric) check.maximize = metric.larger_is_better;
  if (!sweep.goal_given) return;
  const bool asked = sweep.metric.goal == jobspec::Goal::maximize;
  if (asked != check.maximize)
    check.notes.push_back(std::string("metric.goal: ") + (asked ? "maximize" : "minimize") +
                          ", although " + (asked ? "smaller" : "larger") + " values of " +
                          check.metric + " are better");
  check.maximize = asked;
}

/// Numbers below n so that any first few of them are spread evenly: 0, then middles.
std::vector<std::size_t> spread(std::size_t n) {
  std::size_t bits = 0;
  while ((std::size_t{1} << bits) < n)
    ++bits;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < (std::size_t{1} << bits); ++i) {
    std::size_t reversed = 0;
    for (std::size_t bit = 0; bit < bits; ++bit)
      if ((i >> bit) & 1) reversed |= std::size_t{1} << (bits - 1 - bit);
    if (reversed < n) order.push_back(reversed);
  }
  return order;
}

/// Goes through the shapes until time runs out.
class Walk {
 public:
  Walk(const SweepTrials& trials, const SweepCheckOptions& options, SweepMistakes& mistakes)
      : trials_(trials),
        options_(options),
        mistakes_(mistakes),
        checker_({options.elsewhere, options.contents,
                  static_cast<std::size_t>(options.gpu_memory_mib) << 20}),
        start_(Clock::now()) {}

  /// Every shape without memory, which may take seconds to plan, while most of what can be wrong is
  /// found without; but where data are loaded, both at once.
  void run(std::vector<ShapeGroup>& groups) {
    const std::vector<std::size_t> order = spread(groups.size());
    const bool at_once = options_.contents;
    for (const std::size_t g : order)
      if (g == order.front() || seconds() <= options_.seconds) visit(groups[g], at_once);
    if (at_once || !options_.plan_memory) return;
    const double end = seconds() + options_.seconds / 2;
    for (const std::size_t g : order)
      if (groups[g].shape.report.graph && seconds() <= end) plan_memory(groups[g]);
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  CheckReport check(const ExpandedTrial& trial, bool plan) {
    const jobspec::Sweep& sweep = trials_.sweep;
    return checker_.check({trial.train, trial.resources, sweep.file,
                           sweep.metric_given ? std::optional(sweep.metric) : std::nullopt,
                           trials_.ranks, plan});
  }

  void visit(ShapeGroup& group, bool at_once) {
    const bool plan =
        at_once && options_.plan_memory && (first_ || seconds() < options_.seconds / 2);
    first_ = false;
    for (const std::size_t sample : group.samples) {
      const ExpandedTrial& trial = trials_.trials[sample];
      const bool whole = sample == group.samples.front();
      CheckReport report = check(trial, plan && whole);
      for (const CheckError& error : report.errors)
        mistakes_.add(trial, affected(group, trial, whole), error);
      const bool broken = !report.errors.empty();
      if (whole) {
        group.shape.report = std::move(report);
        group.shape.checked = true;
        check_memory(trial.resources, group.shape, options_.elsewhere, mistakes_);
      }
      if (broken) return;
    }
  }

  void plan_memory(ShapeGroup& group) {
    const ExpandedTrial& trial = trials_.trials[group.samples.front()];
    group.shape.report = check(trial, true);
    for (const CheckError& error : group.shape.report.errors)
      mistakes_.add(trial, affected(group, trial, true), error);
    check_memory(trial.resources, group.shape, options_.elsewhere, mistakes_);
  }

  static Affected affected(const ShapeGroup& group, const ExpandedTrial& trial, bool whole) {
    if (whole) return {group.shape.trials, false};
    return {{trial.number}, true};
  }

  const SweepTrials& trials_;
  const SweepCheckOptions& options_;
  SweepMistakes& mistakes_;
  Checker checker_;
  Clock::time_point start_;
  bool first_ = true;
};

}  // namespace

SweepTrials expand_file(const SweepCheckOptions& options, const jobspec::Schema& schema) {
  if (!options.is_sweep && !is_sweep_file(options.file)) return one_trial(options);
  SweepTrials result;
  jobspec::SiteLimits site;
  site.max_nodes_per_job = options.max_nodes;
  result.sweep = jobspec::parse_sweep(read_input(options.file),
                                      options.name.empty() ? options.file.string() : options.name,
                                      schema, site);
  result.sweep.directory =
      options.directory.empty() ? jobspec::directory_of(options.file.string()) : options.directory;
  result.trials = jobspec::expand(result.sweep, schema).trials;
  result.ranks = max_ranks(result);
  if (options.trial == 0) return result;
  if (options.trial > static_cast<std::int64_t>(result.trials.size()))
    throw std::invalid_argument("--trial " + std::to_string(options.trial) + ": there are " +
                                std::to_string(result.trials.size()) + " trials");
  result.trials = {result.trials[static_cast<std::size_t>(options.trial) - 1]};
  return result;
}

bool is_sweep_file(const std::filesystem::path& file) {
  const Value tree = jobspec::read_yaml(read_input(file), file.string());
  if (!tree.is_map()) return false;
  const std::vector<std::string> of_trials{"format", "seed",        "train",  "resources",
                                           "metric", "sweep_ranks", "attempt"};
  const auto is_of_trials = [&](const auto& entry) {
    return std::find(of_trials.begin(), of_trials.end(), entry.first) != of_trials.end();
  };
  return !std::all_of(tree.as_map().begin(), tree.as_map().end(), is_of_trials);
}

SweepCheck check_sweep(const SweepCheckOptions& options) {
  const jobspec::Schema schema = train_schema();
  const SweepTrials trials = expand_file(options, schema);
  SweepCheck check;
  check.name = trials.sweep.file;
  check.trials = static_cast<std::int64_t>(trials.trials.size());
  std::vector<ShapeGroup> groups = group_shapes(trials, schema);
  SweepMistakes mistakes(trials);
  Walk walk(trials, options, mistakes);
  walk.run(groups);
  for (ShapeGroup& group : groups) {
    for (const std::string& note : group.shape.report.notes)
      if (std::find(check.notes.begin(), check.notes.end(), note) == check.notes.end())
        check.notes.push_back(note);
    check.shapes.push_back(std::move(group.shape));
  }
  check_metric(trials, check, mistakes);
  check.errors = mistakes.finish();
  return check;
}

}  // namespace thalweg::engine
