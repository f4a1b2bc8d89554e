// thalweg show: everything about one sweep, trial or attempt.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/shell.h"
#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/commands/trial_table.h"
#include "cli/output/format.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/trial_messages.h"
#include "jobspec/metric_names.h"

namespace thalweg::cli {

using namespace daemon::api;

namespace {

/// More trials than this are only counted on the screen.
constexpr std::size_t trials_listed = 60;

struct ShowOptions {
  std::string id;
  Format format;
  bool all = false, size = false;
};

using Pairs = std::vector<std::pair<std::string, Cell>>;
using Next = std::vector<std::pair<std::string, std::string>>;

Cell time_cell(double time) {
  return time > 0 ? Cell(format_time(time), fmt::format("{}", time)) : Cell();
}

std::optional<double> real(std::optional<std::int64_t> value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

/// "rank 1 on n2", or nothing.
std::string failed_rank(const AttemptMessage& attempt) {
  const std::string& node = attempt.failed_node;
  if (attempt.failed_rank.value_or(-1) < 0) return node.empty() ? "" : "on " + node;
  return fmt::format("rank {}{}", *attempt.failed_rank, node.empty() ? "" : " on " + node);
}

/// Why it ended, in one line.
std::string ending(const AttemptMessage& attempt) {
  std::vector<std::string> parts;
  if (!attempt.reason.empty()) parts.push_back(attempt.reason);
  const std::string who = failed_rank(attempt), rank = who.substr(0, who.find(" on "));
  const bool named = !parts.empty() && !rank.empty() && parts[0].find(rank) != std::string::npos;
  if (!who.empty() && !named) parts.push_back(who);
  const std::string code = fmt::format("with code {}", attempt.exit_code.value_or(0));
  const bool told = !parts.empty() && (parts[0].find("exit code") != std::string::npos ||
                                       parts[0].find(code) != std::string::npos);
  if (!told && attempt.exit_code.value_or(0) != 0)
    parts.push_back(fmt::format("exit code {}", *attempt.exit_code));
  return join(parts, "; ");
}

void print_sweep_next(Context& context, const SweepSnapshot& sweep) {
  Next next;
  if (sweep.state == "active") next.emplace_back("thalweg watch " + sweep.id, "follow it");
  if (sweep.counts.failed > 0) {
    const auto failed = std::find_if(sweep.trials.begin(), sweep.trials.end(),
                                     [](const auto& trial) { return trial.state == "failed"; });
    if (failed != sweep.trials.end())
      next.emplace_back("thalweg show " + failed->id, "why that trial failed");
    next.emplace_back("thalweg retry " + sweep.id, "run the failed trials again");
  }
  if (sweep.counts.finished > 0)
    next.emplace_back("thalweg compare " + sweep.id, "which configuration is best");
  if (!next.empty()) print_next(context, next);
}

/// "187 MB, of them checkpoints 180 MB".
std::string size_text(Context& context, const std::string& id) {
  const Json size = context.controller().get("/v1/sweeps/" + id + "/size");
  return format_bytes(number_at(size, "bytes")) + ", of them checkpoints " +
         format_bytes(number_at(size, "checkpoint_bytes"));
}

/// What stays of them, and what was freed.
std::string checkpoints_text(const SweepSnapshot& sweep) {
  std::vector<std::string> parts;
  if (!sweep.keep.empty()) parts.push_back("at its end there stay " + sweep.keep);
  if (sweep.pruned > 0)
    parts.push_back(fmt::format("pruned {}, {} freed", format_time(sweep.pruned),
                                format_bytes(static_cast<double>(sweep.freed_bytes))));
  return join(parts, "; ");
}

void show_sweep(Context& context, const Json& answer, const ShowOptions& options) {
  const auto sweep = read_answer<SweepSnapshot>(answer);
  if (options.format.csv) return print_trials_csv(context, sweep);
  const std::string size = options.size ? size_text(context, sweep.id) : "";
  const std::string left = time_left_text(SweepView::states_of(sweep), "");
  const TrialLabels labels(sweep.trials);
  const std::vector<std::string> looks = sweep.looks.value_or(std::vector<std::string>());
  std::string metric = sweep.metric + ", " + sweep.goal;
  if (sweep.targets.size() > 1) {
    std::vector<std::string> targets;
    for (const double target : sweep.targets)
      targets.push_back(format_number(target));
    metric += ", targets " + join(targets, ", ");
  } else if (sweep.target) {
    metric += ", target " + format_number(sweep.target);
  }
  print_pairs(context, {{"sweep", Cell(sweep.id + " " + sweep.name, "", Tint::bold)},
                        {"state", state_cell(sweep.state)},
                        {"description", sweep.description.value_or("")},
                        {"backend", sweep.backend},
                        {"metric", metric},
                        {"file", sweep.file_name},
                        {"all trials", labels.common()},
                        {"run folders", size},
                        {"tags", join(sweep.tags, ", ")},
                        {"note", sweep.comment},
                        {"shared with", join(sweep.groups, ", ")},
                        {"archived", time_cell(sweep.archived)},
                        {"submitted", time_cell(sweep.submitted)},
                        {"ended", time_cell(sweep.ended)},
                        {"left", left},
                        {"seeds", looks.empty() ? "" : looks.front()},
                        {"checkpoints", checkpoints_text(sweep)}});
  std::vector<std::string> notes;
  for (const Json& note : sweep.notes)
    notes.push_back(plain_text(note));
  if (looks.size() > 1) notes.insert(notes.end(), looks.begin() + 1, looks.end());
  notes.insert(notes.end(), sweep.warnings.begin(), sweep.warnings.end());
  print_notes(context, notes);
  context.out << '\n';
  const std::size_t count = sweep.trials.size();
  const std::size_t limit = options.all || !context.terminal.is_terminal ? count : trials_listed;
  trial_table(sweep, labels, limit).print(context.out, context.palette, context.width());
  if (count > limit)
    context.out << "… " << count_of(static_cast<long long>(count - limit), "more trial")
                << " (--all lists them)\n";
  print_sweep_next(context, sweep);
}

std::string resources_text(const Json& resources) {
  if (!resources.is_object()) return {};
  const auto fewest = count_at(resources, "min_nodes");
  std::string text = fmt::format("{}{} × {}", fewest > 0 ? fmt::format("{} to ", fewest) : "",
                                 count_of(count_at(resources, "nodes"), "node"),
                                 count_of(count_at(resources, "ranks_per_node"), "rank"));
  if (const auto threads = count_at(resources, "threads_per_rank"); threads > 0)
    text += " × " + count_of(threads, "thread");
  if (const auto limit = number_at(resources, "time_limit_s"))
    text += ", at most " + format_duration(limit);
  return text;
}

Table metric_table(const std::map<std::string, MetricSummary>& metrics) {
  Table table({{"metric", "metric", Align::left, true},
               {"last", "last", Align::right},
               {"step", "at step", Align::right},
               {"min", "min", Align::right},
               {"max", "max", Align::right}});
  for (const auto& [name, value] : metrics)
    table.add({name, number_cell(value.last), number_cell(real(value.step)), number_cell(value.min),
               number_cell(value.max)});
  return table;
}

/// The job, or the step of one that trials share; before that step runs it has none to be found by.
std::string job_text(const std::string& handle) {
  return handle.starts_with("pack:") ? "" : handle;
}

Table attempt_table(const std::vector<AttemptMessage>& attempts) {
  Table table({{"id", "attempt"},
               {"state", "state"},
               {"backend", "backend", Align::left, false, 3},
               {"handle", "job", Align::left, true, 2},
               {"node_list", "nodes", Align::left, true},
               {"ranks", "ranks", Align::right, false, 2},
               {"started", "started", Align::left, false, 1},
               {"taken", "took", Align::right},
               {"why", "why it ended", Align::left, true, 0, false, 40},
               {"folder", "", Align::left, false, 0, true}});
  for (const AttemptMessage& attempt : attempts)
    table.add({attempt.id, state_cell(attempt.state), attempt.backend, job_text(attempt.handle),
               attempt.node_list, std::to_string(attempt.ranks), time_cell(attempt.started),
               Cell(time_taken(attempt.started, attempt.ended)), ending(attempt), attempt.folder});
  return table;
}

/// Returns what to look at next.
Next print_attempts(Context& context, const TrialAnswer& trial) {
  if (trial.attempts.empty()) {
    context.out << "\nno attempt yet\n";
    return {{"thalweg watch " + trial.id, "wait for it"}};
  }
  context.out << '\n';
  attempt_table(trial.attempts).print(context.out, context.palette, context.width());
  for (const AttemptMessage& attempt : trial.attempts)
    if (!attempt.size_reason.empty())
      context.out << attempt.id << ": " << printable(attempt.size_reason) << '\n';
  const AttemptMessage& last = trial.attempts.back();
  if (!last.folder.empty())
    context.out << "\nlogs, journal and checkpoints: " << printable(last.folder) << '\n';
  Next next;
  if (trial.state == "failed") {
    next.emplace_back("thalweg logs " + trial.id + " --stderr", "what it said");
    next.emplace_back("thalweg retry " + trial.id, "run it again from its last checkpoint");
  } else if (trial.state == "running") {
    next.emplace_back("thalweg watch " + trial.id, "follow it");
  }
  const auto& metrics = trial.metrics;
  if (const auto loss = metrics.find(jobspec::metric::train_loss); loss != metrics.end())
    next.emplace_back("thalweg curve " + trial.id + " " + loss->first, "plot a metric");
  else if (!metrics.empty())  // programs of users have their own
    next.emplace_back("thalweg curve " + trial.id + " " + shell_word(metrics.begin()->first),
                      "plot a metric");
  next.emplace_back("thalweg show " + last.id, "events of the last attempt");
  return next;
}

/// " (0.001)" where the engine took something else for the value than what was written.
std::string resolved_text(const Json& config, const std::string& name, const Json& written) {
  const Json* at = &config;
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t dot = std::min(name.find('.', from), name.size());
    const auto key = name.substr(from, dot - from);
    if (!at->is_object() || !at->contains(key)) return "";
    at = &(*at)[key];
    from = dot + 1;
  }
  return *at == written || at->is_object() ? "" : " (" + plain_text(*at) + ")";
}

/// The start record as lines of `show`.
void add_start(Pairs& pairs, const Json& start) {
  if (!start.is_object()) return;
  const auto add = [&](const std::string& title, const char* key) {
    if (start.contains(key)) pairs.emplace_back(title, plain_text(start[key]));
  };
  add("device", "device");
  add("", "device_name");
  add("threads per rank", "threads");
  add("shards", "shards");
  add("parameters", "parameters");
  add("steps", "steps");
  add("resumed from step", "resumed_step");
  add("Thalweg", "version");
  if (const Json program = member(start, "program"); program.is_object()) {
    const std::string commit = text_at(program, "commit");
    pairs.emplace_back(
        "program",
        fmt::format("{} (hash {}{}{})", text_at(program, "file"), text_at(program, "hash"),
                    commit.empty() ? "" : ", git commit ", commit.substr(0, 12)));
  }
  if (!start.contains("libraries") || !start["libraries"].is_object()) return;
  std::vector<std::string> libraries;
  for (const auto& [name, version] : start["libraries"].items())
    libraries.push_back(name + " " + plain_text(version));
  pairs.emplace_back("libraries", join(libraries, ", "));
}

/// Of train.init_from: "the weights of trial 12.3 (best checkpoint)".
std::string beginning_text(const Json& train) {
  const Json from = member(train, "init_from");
  if (!from.is_object()) return "";
  const std::string trial = text_at(from, "trial"), file = text_at(from, "file");
  if (trial.empty() && file.empty()) return "";
  const bool all = text_at(from, "state") == "all", best = text_at(from, "checkpoint") == "best";
  return fmt::format("{} of {}{}", all ? "weights, step and optimizer's state" : "the weights",
                     trial.empty() ? file : "trial " + trial, best ? " (best checkpoint)" : "");
}

void show_trial(Context& context, const TrialAnswer& trial, const ShowOptions& options) {
  if (options.format.csv) return metric_table(trial.metrics).print_csv(context.out);
  Pairs pairs{{"trial", Cell(trial.id, trial.id, Tint::bold)},
              {"state", state_cell(trial.state)},
              {"why", Cell(trial.reason, "", tint_of_state(trial.state))},
              {"diverged", trial.progress.diverged.value_or(false)
                               ? "the newest value of the sweep's metric is not a finite number"
                               : ""},
              {"note", Cell(trial.warning, "", Tint::yellow)},
              {"waits for", trial.progress.waiting_for.value_or("")},
              {"seed", std::to_string(trial.seed)},
              {"configuration", std::to_string(trial.configuration)},
              {"resources", resources_text(trial.resources)},
              {"parameters", trial.chosen.value_or("")},
              {"attempt before", trial.progress.last_end.value_or("")},
              {"begins with", beginning_text(trial.train)}};
  if (trial.parameters.is_object())
    for (const auto& [name, value] : trial.parameters.items())
      pairs.emplace_back(
          name, shown_parameter(value) + resolved_text(trial.config.value_or(Json()), name, value));
  print_pairs(context, pairs);
  if (const Table metrics = metric_table(trial.metrics); !metrics.empty()) {
    context.out << '\n';
    metrics.print(context.out, context.palette, context.width());
  }
  print_next(context, print_attempts(context, trial));
}

std::string event_text(const Json& data) {
  if (!data.is_object()) return plain_text(data);
  std::vector<std::string> parts;
  for (const auto& [key, value] : data.items())
    if (!value.is_null() && value != "") parts.push_back(key + "=" + plain_text(value));
  return join(parts, " ");
}

Table event_table(const std::vector<EventMessage>& events) {
  Table table({{"time", "time"}, {"kind", "event"}, {"data", "", Align::left, true}});
  for (const EventMessage& event : events)
    table.add(
        {time_cell(event.time), event.kind, Cell(event_text(event.data), plain_text(event.data))});
  return table;
}

void show_attempt(Context& context, const AttemptAnswer& attempt, const ShowOptions& options) {
  if (options.format.csv) return event_table(attempt.events).print_csv(context.out);
  const std::string &id = attempt.id, &state = attempt.state;
  Pairs pairs{{"attempt", Cell(id, id, Tint::bold)},
              {"state", state_cell(state)},
              {"why it ended", Cell(attempt.reason, "", tint_of_state(state))},
              {"failed", Cell(failed_rank(attempt), "", Tint::red)},
              {"exit code", attempt.exit_code ? std::to_string(*attempt.exit_code) : ""},
              {"backend", attempt.backend},
              {"job", job_text(attempt.handle)},
              {"nodes", attempt.node_list},
              {"ranks", std::to_string(attempt.ranks)},
              {"size", attempt.size_reason},
              {"launched", time_cell(attempt.launched)},
              {"eligible", time_cell(attempt.eligible)},
              {"started", time_cell(attempt.started)},
              {"ended", time_cell(attempt.ended)},
              {"took", time_taken(attempt.started, attempt.ended)},
              {"folder", attempt.folder}};
  add_start(pairs, attempt.start.value_or(Json()));
  print_pairs(context, pairs);
  if (attempt.request) {
    context.out << "\nrequested from Slurm (also in batch.sh in the folder):\n";
    for (const std::string& option : *attempt.request)
      context.out << "  " << printable(option) << '\n';
  }
  if (!attempt.events.empty()) {
    context.out << '\n';
    event_table(attempt.events).print(context.out, context.palette, context.width());
  }
  if (attempt.folder.empty()) return;  // imported: there are no logs
  print_next(context, {{"thalweg logs " + id, "what it printed"},
                       {"thalweg logs " + id + " --stderr", "what it wrote to stderr"}});
}

int show(Context& context, const ShowOptions& options) {
  const jobspec::Id id = id_or_newest(context, options.id);
  const Json answer = context.controller().get(path_of(id));
  if (options.format.json)
    print_json(context.out, answer);
  else if (is_sweep(id))
    show_sweep(context, answer, options);
  else if (is_trial(id))
    show_trial(context, read_answer<TrialAnswer>(answer), options);
  else
    show_attempt(context, read_answer<AttemptAnswer>(answer), options);
  return exit_ok;
}

}  // namespace

Action make_show(Arguments& arguments) {
  auto options = std::make_shared<ShowOptions>();
  Argument& id = arguments.positional("ID", options->id,
                                      "a sweep, trial or attempt (default: the newest sweep)");
  id.required = false;
  id.completes = Completes::id;
  arguments.flag("--all", options->all, "list every trial of a large sweep");
  arguments.flag("--size", options->size, "of a sweep: what its run folders take on disk");
  arguments.flag("--json", options->format.json, "print the controller's answer as JSON");
  arguments.flag("--csv", options->format.csv,
                 "print as CSV: a sweep's trials, a trial's metrics, an attempt's events");
  return [options](Context& context) { return show(context, *options); };
}

}  // namespace thalweg::cli
