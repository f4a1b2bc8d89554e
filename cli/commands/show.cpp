// thalweg show: everything about one sweep, trial or attempt.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/output/csv.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "jobspec/metric_names.h"

namespace thalweg::cli {
namespace {

/// More trials than this are only counted on the screen.
constexpr std::size_t trials_listed = 60;

struct Options {
  std::string id;
  Format format;
  bool all = false;
};

using Pairs = std::vector<std::pair<std::string, Cell>>;
using Next = std::vector<std::pair<std::string, std::string>>;

Cell time_cell(const Json& object, const char* key) {
  const double time = number_at(object, key).value_or(0);
  return time > 0 ? Cell(format_time(time)) : Cell();
}

/// "rank 1 on n2", or nothing.
std::string culprit(const Json& attempt) {
  const Json& rank = member(attempt, "failed_rank");
  const std::string node = text_at(attempt, "failed_node");
  if (!rank.is_number() || rank.get<long long>() < 0) return node.empty() ? "" : "on " + node;
  return "rank " + plain_text(rank) + (node.empty() ? "" : " on " + node);
}

/// Why it ended, in one line.
std::string ending(const Json& attempt) {
  std::vector<std::string> parts;
  if (const std::string reason = text_at(attempt, "reason"); !reason.empty())
    parts.push_back(reason);
  const std::string who = culprit(attempt), rank = who.substr(0, who.find(" on "));
  const bool named = !parts.empty() && !rank.empty() && parts[0].find(rank) != std::string::npos;
  if (!who.empty() && !named) parts.push_back(who);
  const bool told = !parts.empty() && parts[0].find("exit code") != std::string::npos;
  if (const Json& code = member(attempt, "exit_code"); !told && code.is_number() && code != 0)
    parts.push_back("exit code " + plain_text(code));
  return join(parts, "; ");
}

Table trial_table(const Json& sweep, std::size_t limit) {
  const std::string metric = text_at(sweep, "metric");
  Table table({{"id", "trial", Align::right},
               {"state", "state"},
               {"parameters", "parameters", Align::left, true},
               {"seed", "seed", Align::right},
               {"attempts", "attempts", Align::right, false, 3},
               {"step", "step", Align::right, false, 2},
               {"loss", "loss", Align::right, false, 1},
               {"metric", metric, Align::right},
               {"best", "best", Align::right},
               {"reason", "why", Align::left, true}});
  std::size_t listed = 0;
  for (const Json& trial : list_at(sweep, "trials")) {
    if (listed++ == limit) break;
    const Json& progress = member(trial, "progress");
    const Json& parameters = member(trial, "parameters");
    std::string why = text_at(trial, "reason");
    if (why.empty()) why = text_at(progress, "waiting_for");
    table.add({text_at(trial, "id"), state_cell(text_at(trial, "state")),
               Cell(parameter_label(parameters), plain_text(parameters)), text_at(trial, "seed"),
               text_at(trial, "attempts"), number_cell(member(progress, "step")),
               number_cell(member(progress, "loss")), number_cell(member(progress, "metric")),
               number_cell(member(progress, "best")), why});
  }
  return table;
}

/// Every parameter that any trial has.
std::set<std::string> parameter_names(const Json& trials) {
  std::set<std::string> names;
  for (const Json& trial : trials)
    if (const Json& parameters = member(trial, "parameters"); parameters.is_object())
      for (const auto& [name, value] : parameters.items())
        names.insert(name);
  return names;
}

/// For programs: whole numbers in place of "12.10" (which reads as 12.1), one column for each
/// parameter.
void print_trials_csv(Context& context, const Json& sweep) {
  const Json& trials = list_at(sweep, "trials");
  const auto parameters = parameter_names(trials);
  std::vector<std::string> heading{"sweep", "trial", "configuration", "seed", "state", "attempts"};
  heading.insert(heading.end(), parameters.begin(), parameters.end());
  for (const char* name : {"step", "loss", "metric", "best", "reason"})
    heading.emplace_back(name);
  write_csv_line(context.out, heading);
  for (const Json& trial : trials) {
    const jobspec::Id id = parse_id(text_at(trial, "id"));
    const Json& progress = member(trial, "progress");
    std::vector<std::string> row{std::to_string(id.sweep),        std::to_string(id.trial),
                                 text_at(trial, "configuration"), text_at(trial, "seed"),
                                 text_at(trial, "state"),         text_at(trial, "attempts")};
    for (const std::string& name : parameters)
      row.push_back(text_at(member(trial, "parameters"), name.c_str()));
    for (const char* name : {"step", "loss", "metric", "best"})
      row.push_back(text_at(progress, name));
    row.push_back(text_at(trial, "reason"));
    write_csv_line(context.out, row);
  }
}

void show_sweep(Context& context, const Json& sweep, const Options& options) {
  const Json& trials = list_at(sweep, "trials");
  if (options.format.csv) return print_trials_csv(context, sweep);
  const std::string id = text_at(sweep, "id");
  std::string metric = text_at(sweep, "metric") + ", " + text_at(sweep, "goal");
  if (const auto target = number_at(sweep, "target")) metric += ", target " + format_number(target);
  print_pairs(context, {{"sweep", Cell(id + " " + text_at(sweep, "name"), "", Tint::bold)},
                        {"state", state_cell(text_at(sweep, "state"))},
                        {"backend", text_at(sweep, "backend")},
                        {"metric", metric},
                        {"file", text_at(sweep, "file_name")},
                        {"submitted", time_cell(sweep, "submitted")},
                        {"ended", time_cell(sweep, "ended")}});
  print_notes(context, sweep);
  context.out << '\n';
  const std::size_t limit =
      options.all || !context.terminal.is_terminal ? trials.size() : trials_listed;
  trial_table(sweep, limit).print(context.out, context.palette, context.width());
  if (trials.size() > limit)
    context.out << "… " << count_of(trials.size() - limit, "more trial") << " (--all lists them)\n";

  Next next;
  if (text_at(sweep, "state") == "active") next.emplace_back("thalweg watch " + id, "follow it");
  const Json& counts = member(sweep, "counts");
  if (count_at(counts, "failed") > 0) {
    for (const Json& trial : trials)
      if (text_at(trial, "state") == "failed") {
        next.emplace_back("thalweg show " + text_at(trial, "id"), "why that trial failed");
        break;
      }
    next.emplace_back("thalweg retry " + id, "run the failed trials again");
  }
  if (count_at(counts, "finished") > 0)
    next.emplace_back("thalweg compare " + id, "which configuration is best");
  if (!next.empty()) print_next(context, next);
}

std::string resources_text(const Json& resources) {
  if (!resources.is_object()) return {};
  std::string text = fmt::format("{} × {}", count_of(count_at(resources, "nodes"), "node"),
                                 count_of(count_at(resources, "ranks_per_node"), "rank"));
  if (const auto threads = count_at(resources, "threads_per_rank"); threads > 0)
    text += " × " + count_of(threads, "thread");
  if (const auto limit = number_at(resources, "time_limit_s"))
    text += ", at most " + format_duration(limit);
  return text;
}

Table metric_table(const Json& metrics) {
  Table table({{"metric", "metric", Align::left, true},
               {"last", "last", Align::right},
               {"step", "at step", Align::right},
               {"min", "min", Align::right},
               {"max", "max", Align::right}});
  if (metrics.is_object())
    for (const auto& [name, value] : metrics.items())
      table.add({name, number_cell(member(value, "last")), number_cell(member(value, "step")),
                 number_cell(member(value, "min")), number_cell(member(value, "max"))});
  return table;
}

Table attempt_table(const Json& attempts) {
  Table table({{"id", "attempt"},
               {"state", "state"},
               {"backend", "backend", Align::left, false, 3},
               {"handle", "job", Align::left, true, 2},
               {"node_list", "nodes", Align::left, true},
               {"started", "started", Align::left, false, 1},
               {"taken", "took", Align::right},
               {"why", "why it ended", Align::left, true, 0, false, 40},
               {"folder", "", Align::left, false, 0, true}});
  for (const Json& attempt : attempts)
    table.add({text_at(attempt, "id"), state_cell(text_at(attempt, "state")),
               text_at(attempt, "backend"), text_at(attempt, "handle"),
               text_at(attempt, "node_list"),
               Cell(time_cell(attempt, "started").text, text_at(attempt, "started")),
               Cell(time_taken(attempt)), ending(attempt), text_at(attempt, "folder")});
  return table;
}

void show_trial(Context& context, const Json& trial, const Options& options) {
  const Json& attempts = list_at(trial, "attempts");
  if (options.format.csv) return metric_table(member(trial, "metrics")).print_csv(context.out);
  const std::string id = text_at(trial, "id"), state = text_at(trial, "state");
  Pairs pairs{{"trial", Cell(id, id, Tint::bold)},
              {"state", state_cell(state)},
              {"why", Cell(text_at(trial, "reason"), "", tint_of_state(state))},
              {"waits for", text_at(member(trial, "progress"), "waiting_for")},
              {"seed", text_at(trial, "seed")},
              {"configuration", text_at(trial, "configuration")},
              {"resources", resources_text(member(trial, "resources"))}};
  if (const Json& parameters = member(trial, "parameters"); parameters.is_object())
    for (const auto& [name, value] : parameters.items())
      pairs.emplace_back(name, plain_text(value));
  print_pairs(context, pairs);
  if (const Table metrics = metric_table(member(trial, "metrics")); !metrics.empty()) {
    context.out << '\n';
    metrics.print(context.out, context.palette, context.width());
  }
  Next next;
  if (attempts.empty()) {
    context.out << "\nno attempt yet\n";
    next.emplace_back("thalweg watch " + id, "wait for it");
  } else {
    context.out << '\n';
    attempt_table(attempts).print(context.out, context.palette, context.width());
    const Json& last = attempts.back();
    if (const std::string folder = text_at(last, "folder"); !folder.empty())
      context.out << "\nlogs, journal and checkpoints: " << printable(folder) << '\n';
    if (state == "failed") {
      next.emplace_back("thalweg logs " + id + " --stderr", "what it said");
      next.emplace_back("thalweg retry " + id, "run it again from its last checkpoint");
    } else if (state == "running") {
      next.emplace_back("thalweg watch " + id, "follow it");
    }
    next.emplace_back("thalweg curve " + id + " " + jobspec::metric::train_loss, "plot a metric");
    next.emplace_back("thalweg show " + text_at(last, "id"), "events of the last attempt");
  }
  print_next(context, next);
}

std::string event_text(const Json& event) {
  const Json& data = member(event, "data");
  if (!data.is_object()) return plain_text(data);
  std::vector<std::string> parts;
  for (const auto& [key, value] : data.items())
    if (!value.is_null() && value != "") parts.push_back(key + "=" + plain_text(value));
  return join(parts, " ");
}

Table event_table(const Json& events) {
  Table table({{"time", "time"}, {"kind", "event"}, {"data", "", Align::left, true}});
  for (const Json& event : events)
    table.add({Cell(time_cell(event, "time").text, text_at(event, "time")), text_at(event, "kind"),
               Cell(event_text(event), plain_text(member(event, "data")))});
  return table;
}

void show_attempt(Context& context, const Json& attempt, const Options& options) {
  const Json& events = list_at(attempt, "events");
  if (options.format.csv) return event_table(events).print_csv(context.out);
  const std::string id = text_at(attempt, "id"), state = text_at(attempt, "state");
  print_pairs(context,
              {{"attempt", Cell(id, id, Tint::bold)},
               {"state", state_cell(state)},
               {"why it ended", Cell(text_at(attempt, "reason"), "", tint_of_state(state))},
               {"failed", Cell(culprit(attempt), "", Tint::red)},
               {"exit code", text_at(attempt, "exit_code")},
               {"backend", text_at(attempt, "backend")},
               {"job", text_at(attempt, "handle")},
               {"nodes", text_at(attempt, "node_list")},
               {"ranks", text_at(attempt, "ranks")},
               {"launched", time_cell(attempt, "launched")},
               {"started", time_cell(attempt, "started")},
               {"ended", time_cell(attempt, "ended")},
               {"took", time_taken(attempt)},
               {"folder", text_at(attempt, "folder")}});
  if (const Json& request = list_at(attempt, "request"); !request.empty()) {
    context.out << "\nasked of Slurm (batch.sh in the folder has it, too):\n";
    for (const Json& option : request)
      context.out << "  " << printable(plain_text(option)) << '\n';
  }
  if (!events.empty()) {
    context.out << '\n';
    event_table(events).print(context.out, context.palette, context.width());
  }
  print_next(context, {{"thalweg logs " + id, "what it printed"},
                       {"thalweg logs " + id + " --stderr", "what it complained about"}});
}

int show(Context& context, const Options& options) {
  const jobspec::Id id = id_or_newest(context, options.id);
  const Json answer = context.controller().get(path_of(id));
  if (options.format.json)
    print_json(context.out, answer);
  else if (is_sweep(id))
    show_sweep(context, answer, options);
  else if (is_trial(id))
    show_trial(context, answer, options);
  else
    show_attempt(context, answer, options);
  return exit_ok;
}

}  // namespace

Action make_show(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  Argument& id = arguments.positional("ID", options->id,
                                      "a sweep, trial or attempt (default: the newest sweep)");
  id.required = false;
  id.completes = Completes::id;
  arguments.flag("--all", options->all, "list every trial of a large sweep");
  arguments.flag("--json", options->format.json, "print the controller's answer as JSON");
  arguments.flag("--csv", options->format.csv,
                 "print as CSV: a sweep's trials, a trial's metrics, an attempt's events");
  return [options](Context& context) { return show(context, *options); };
}

}  // namespace thalweg::cli
