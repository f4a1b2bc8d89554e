#include "cli/commands/trial_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>

#include "cli/output/csv.h"
#include "cli/output/text.h"

namespace thalweg::cli {

using namespace daemon::api;

namespace {

/// What is not known is an empty text.
template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "";
}

/// Every parameter that any trial has.
std::set<std::string> parameter_names(const std::vector<TrialMessage>& trials) {
  std::set<std::string> names;
  for (const TrialMessage& trial : trials)
    if (trial.parameters.is_object())
      for (const auto& [name, value] : trial.parameters.items())
        names.insert(name);
  return names;
}

}  // namespace

std::string reason_of(const AboutTrial& trial) {
  std::vector<std::string> parts;
  if (!trial.warning.empty()) parts.push_back(trial.warning);
  if (!trial.reason.empty()) {
    parts.insert(parts.begin(), trial.reason);
    return join(parts, "; ");
  }
  if (trial.progress.diverged.value_or(false)) parts.emplace_back("diverged");
  if (const auto& waiting = trial.progress.waiting_for) parts.push_back(*waiting);
  if (const auto& before = trial.progress.last_end) parts.push_back("before: " + *before);
  return join(parts, "; ");
}

Table trial_table(const SweepSnapshot& sweep, const TrialLabels& labels, std::size_t limit) {
  // Of a narrow window the numbers of the side leave before what tells trials apart is cut.
  constexpr int min_label = 8, max_label = 46;
  int longest = min_label;
  const std::size_t count = std::min(limit, sweep.trials.size());
  for (std::size_t i = 0; i < count && longest < max_label; ++i)
    longest = std::max(longest, display_width(labels.of(sweep.trials[i])));
  Column parameters{"parameters", "parameters", Align::left, true};
  parameters.least = std::min(longest, max_label);
  const bool one_seed = std::all_of(
      sweep.trials.begin(), sweep.trials.end(),
      [&](const TrialMessage& trial) { return trial.seed == sweep.trials.front().seed; });
  Table table({{"id", "trial", Align::right},
               {"state", "state"},
               parameters,
               {"seed", "seed", Align::right, false, one_seed ? 4 : 0},
               {"attempts", "attempts", Align::right, false, 3},
               {"step", "step", Align::right, false, 2},
               {"loss", "loss", Align::right, false, 1},
               {"metric", sweep.metric, Align::right},
               {"best", "best", Align::right},
               {"reason", "why", Align::left, true}});
  std::size_t listed = 0;
  for (const TrialMessage& trial : sweep.trials) {
    if (listed++ == limit) break;
    const Progress& progress = trial.progress;
    const auto step =
        progress.step ? std::optional(static_cast<double>(*progress.step)) : std::nullopt;
    table.add({trial.id, state_cell(trial.state),
               Cell(labels.of(trial), plain_text(trial.parameters)), std::to_string(trial.seed),
               std::to_string(trial.attempts), number_cell(step), number_cell(progress.loss),
               number_cell(progress.metric), number_cell(progress.best), reason_of(trial)});
  }
  return table;
}

void print_trials_csv(Context& context, const SweepSnapshot& sweep) {
  const auto parameters = parameter_names(sweep.trials);
  std::vector<std::string> heading{"sweep", "trial", "configuration", "seed", "state", "attempts"};
  heading.insert(heading.end(), parameters.begin(), parameters.end());
  for (const char* name : {"step", "loss", "metric", "best", "reason"})
    heading.emplace_back(name);
  write_csv_line(context.out, heading);
  for (const TrialMessage& trial : sweep.trials) {
    const jobspec::Id id = parse_id(trial.id);
    const Progress& progress = trial.progress;
    std::vector<std::string> row{std::to_string(id.sweep),
                                 std::to_string(id.trial),
                                 std::to_string(trial.configuration),
                                 std::to_string(trial.seed),
                                 trial.state,
                                 std::to_string(trial.attempts)};
    for (const std::string& name : parameters)
      row.push_back(trial.parameters.is_object() && trial.parameters.contains(name)
                        ? parameter_text(trial.parameters.at(name))
                        : "");
    row.push_back(text_of(progress.step));
    for (const auto& value : {progress.loss, progress.metric, progress.best})
      row.push_back(text_of(value));
    row.push_back(trial.reason);
    write_csv_line(context.out, row);
  }
}

}  // namespace thalweg::cli
