// thalweg import: runs of other programs as a sweep that has finished, to be compared with others.
// They are sent in parts of some megabytes, since the controller limits a request's size; it keeps
// nothing of an import whose last part has not come.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "cli/commands/common.h"
#include "cli/commands/imports.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/import_messages.h"
#include "jobspec/enum_names.h"
#include "jobspec/metrics.h"

namespace thalweg::cli {
namespace {

namespace api = daemon::api;

struct ImportOptions {
  std::vector<std::string> paths;
  std::string name, metric, goal;
  std::optional<double> target;
  ReadOptions read;
  Format format;
  bool dry_run = false;
};

std::set<std::string> metrics_of(const ReadRuns& runs) {
  std::set<std::string> metrics;
  for (const ReadRun& run : runs.runs)
    for (const auto& [metric, points] : run.curves)
      metrics.insert(metric);
  return metrics;
}

std::size_t points_of(const ReadRun& run) {
  std::size_t points = 0;
  for (const auto& [metric, curve] : run.curves)
    points += curve.size();
  return points;
}

/// What the command line says, then what the files say, then what is usual.
void choose_metric(const ImportOptions& options, ReadRuns& runs) {
  const auto known = metrics_of(runs);
  const std::vector<std::string> names(known.begin(), known.end());
  const bool as_said = options.metric.empty() || options.metric == runs.metric;
  if (!options.metric.empty()) runs.metric = options.metric;
  if (!as_said) runs.goal.clear();
  if (known.count(runs.metric) == 0) {
    if (!options.metric.empty())
      throw CommandError(exit_bad_input, "no run has points of '" + printable(options.metric) + "'",
                         "they have " + printable(join(names, ", ")));
    runs.goal.clear();
    runs.metric = usual_metric(runs);
  }
  if (runs.metric.empty())
    throw CommandError(exit_bad_input, "which metric are the runs compared by?",
                       "name it with --metric; they have " + printable(join(names, ", ")));
  if (!options.goal.empty()) runs.goal = options.goal;
  if (!runs.goal.empty()) return;
  const auto by_name = jobspec::goal_by_name(runs.metric);
  runs.goal = jobspec::name_of(by_name.value_or(jobspec::Goal::minimize));
  if (!by_name)
    runs.understood.push_back("the name " + runs.metric + " does not say which values are better");
}

std::string name_of(const ImportOptions& options) {
  if (!options.name.empty()) return options.name;
  const auto path = std::filesystem::absolute(options.paths.front()).lexically_normal();
  const auto last = path.has_filename() ? path : path.parent_path();
  const std::string name =
      (std::filesystem::is_directory(last) ? last.filename() : last.stem()).string();
  // A name of digits would be taken for an id.
  return jobspec::Id::parse(name) ? "imported-" + name : name;
}

/// Collects trials and points, and posts them whenever there is enough for a request.
class Sender {
 public:
  Sender(Context& context, api::ImportRequest first) : context_(context), part_(std::move(first)) {}

  void add(const ReadRun& run) {
    room_for(run.parameters.dump(-1, ' ', false, Json::error_handler_t::replace).size() +
             run.source.size());
    part_.trials.push_back({run.source, run.parameters, run.seed});
    ++trials_;
    for (const auto& [metric, points] : run.curves)
      for (std::size_t at = 0; at < points.size(); at += kMaxSlice) {
        const std::size_t end = std::min(at + kMaxSlice, points.size());
        room_for((end - at) * kPointBytes + metric.size());
        part_.curves.push_back({trials_,
                                metric,
                                {points.begin() + static_cast<std::ptrdiff_t>(at),
                                 points.begin() + static_cast<std::ptrdiff_t>(end)}});
      }
  }

  Json finish() {
    part_.more.reset();
    return context_.controller().post("/v1/import", api::to_json(part_));
  }

 private:
  static constexpr std::size_t kMaxSlice = 10'000;
  static constexpr std::size_t kPointBytes = 80;      ///< at most, of [step,value,time],
  static constexpr std::size_t kPartBytes = 8 << 20;  ///< half of what the controller takes

  void room_for(std::size_t bytes) {
    constexpr std::size_t keys = 60;
    if (bytes_ > 0 && bytes_ + bytes + keys > kPartBytes) {
      part_.more = true;
      const Json answer = context_.controller().post("/v1/import", api::to_json(part_));
      part_ = {};
      part_.upload = read_answer<api::ImportAnswer>(answer).upload;
      bytes_ = 0;
    }
    bytes_ += bytes + keys;
  }

  Context& context_;
  api::ImportRequest part_;
  std::int64_t trials_ = 0;
  std::size_t bytes_ = 0;
};

Json dry_answer(const ReadRuns& runs, const ImportOptions& options) {
  Json list = Json::array();
  for (const ReadRun& run : runs.runs) {
    Json metrics = Json::object();
    for (const auto& [metric, points] : run.curves)
      metrics[metric] = points.size();
    Json each{{"source", run.source}, {"parameters", run.parameters}, {"metrics", metrics}};
    if (run.seed) each["seed"] = *run.seed;
    list.push_back(std::move(each));
  }
  return {{"name", name_of(options)},
          {"metric", runs.metric},
          {"goal", runs.goal},
          {"runs", std::move(list)},
          {"understood", runs.understood}};
}

void say_understood(Context& context, const ReadRuns& runs) {
  for (const std::string& line : runs.understood)
    context.out << printable(line) << '\n';
  context.out << "compared by " << printable(runs.metric) << ", " << runs.goal
              << "d (--metric and --goal say otherwise)\n";
  const auto has = [](const ReadRun& run, auto fits) {
    return std::any_of(run.curves.begin(), run.curves.end(), [&](const auto& curve) {
      return std::any_of(curve.second.begin(), curve.second.end(), fits);
    });
  };
  long long untimed = 0;
  for (const ReadRun& run : runs.runs)
    untimed += has(run, [](const auto& point) { return !(point.time > 0); });
  if (untimed > 0)
    context.out << count_of(untimed, "run") << " of " << runs.runs.size()
                << " with points without times: their seconds and costs are not known\n";
}

void print_runs(Context& context, const ReadRuns& runs) {
  Table table({{"run", "run", Align::left, true},
               {"parameters", "parameters", Align::left, true},
               {"seed", "seed", Align::right},
               {"metrics", "metrics", Align::right},
               {"points", "points", Align::right}});
  for (const ReadRun& run : runs.runs)
    table.add({run.source, parameter_label(run.parameters),
               run.seed ? std::to_string(*run.seed) : "", std::to_string(run.curves.size()),
               format_count(static_cast<long long>(points_of(run)))});
  print_table(context, table, {});
  context.out << "nothing was imported (--dry-run)\n";
}

void print_imported(Context& context, const api::ImportAnswer& answer, const ReadRuns& runs) {
  const std::string id = answer.id.value_or("");
  context.out << "sweep " << id << ' ' << printable(answer.name.value_or(""))
              << " imported: " << count_of(answer.trials.value_or(0), "trial") << ", "
              << count_of(answer.configurations.value_or(0), "configuration") << ", "
              << format_count(answer.points.value_or(0)) << " points of "
              << count_of(static_cast<long long>(metrics_of(runs).size()), "metric") << '\n';
  print_next(context, {{"thalweg compare " + id, "which configuration is best"},
                       {"thalweg rm " + id, "takes it out again"}});
}

int import_all(Context& context, const ImportOptions& options) {
  ReadRuns runs = read_runs(options.paths, options.read);
  choose_metric(options, runs);
  if (options.dry_run && options.format.json) {
    print_json(context.out, dry_answer(runs, options));
    return exit_ok;
  }
  if (!options.format.json) say_understood(context, runs);
  if (options.dry_run) {
    print_runs(context, runs);
    return exit_ok;
  }
  api::ImportRequest first;
  first.name = name_of(options);
  first.source = join(options.paths, ", ");
  first.metric = runs.metric;
  first.goal = runs.goal;
  first.target = options.target;
  Sender sender(context, std::move(first));
  for (const ReadRun& run : runs.runs)
    sender.add(run);
  const Json answer = sender.finish();
  if (options.format.json)
    print_json(context.out, answer);
  else
    print_imported(context, read_answer<api::ImportAnswer>(answer), runs);
  return exit_ok;
}

}  // namespace

Action make_import(Arguments& arguments) {
  auto options = std::make_shared<ImportOptions>();
  arguments
      .positional("PATH", options->paths,
                  "folders with TensorBoard's event files, CSV files, or files of export --format "
                  "jsonl; together they become one sweep")
      .completes = Completes::file;
  arguments.option("--name", "NAME", options->name, "of the sweep (default: the first path's)");
  arguments.option("--metric", "NAME", options->metric,
                   "what the runs are compared by (default: a usual name among theirs)");
  arguments.option("--goal", "GOAL", options->goal, "of the metric (default: by its name)")
      .choices = {"minimize", "maximize"};
  arguments.option("--target", "X", options->target,
                   "the metric's value that counts as the target");
  arguments.option("--parameters", "NAMES", options->read.parameters,
                   "columns of CSV files that are parameters, though they hold numbers");
  arguments.flag("--dry-run", options->dry_run, "show what was understood; import nothing");
  add_json(arguments, options->format);
  return [options](Context& context) { return import_all(context, *options); };
}

}  // namespace thalweg::cli
