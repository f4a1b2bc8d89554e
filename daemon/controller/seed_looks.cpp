// The controller asks db/analysis, so that what closes a configuration is what `compare` says of it
// afterwards.
#include "daemon/controller/seed_looks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/controller/extension.h"
#include "daemon/state/resources.h"
#include "db/analysis/seed_looks.h"
#include "jobspec/value.h"

namespace thalweg::daemon {

namespace {

/// "configuration 3 (optimizer.name=adamw)"
std::string name_of_row(const std::vector<db::TrialRow>& trials, std::int64_t configuration) {
  std::string name = fmt::format("configuration {}", configuration), values;
  const auto row = std::find_if(trials.begin(), trials.end(), [&](const db::TrialRow& trial) {
    return trial.configuration == configuration;
  });
  if (row == trials.end()) return name;
  const jobspec::Value parameters = jobspec::read_yaml(row->parameters, row->id.to_string());
  for (const auto& [key, value] : parameters.as_map())
    values += (values.empty() ? "" : ", ") + key + "=" + value.to_text();
  return values.empty() ? name : name + " (" + values + ")";
}

std::string why_closed(const db::analysis::ClosedRow& row, const std::vector<db::TrialRow>& trials,
                       const SweepState& sweep, std::int64_t look) {
  const jobspec::SeedPlan& plan = *sweep.seed_plan;
  const std::string where =
      fmt::format("{} got no more seeds after look {} of {} ({} seeds): ",
                  name_of_row(trials, row.configuration), look, plan.looks.size(),
                  plan.looks[static_cast<std::size_t>(look - 1)]);
  if (row.best == 0) return where + "none of them has a value of " + sweep.metric.name;
  return where + fmt::format("worse than {} in {}, p={:.2g} (at most {:.2g})",
                             name_of_row(trials, row.best), sweep.metric.name, row.p, plan.level());
}

std::vector<event::Submitted::Shape> shapes_of_rows(const std::vector<db::TrialRow>& rows) {
  std::vector<event::Submitted::Shape> shapes;
  const std::string* before = nullptr;
  for (const db::TrialRow& row : rows) {
    if (before == nullptr || *before != row.resources)
      shapes.push_back({resources_from(nlohmann::json::parse(row.resources)), 0});
    shapes.back().count += 1;
    before = &row.resources;
  }
  return shapes;
}

}  // namespace

event::SeedLook look_at_seeds(db::Store& store, const SweepState& sweep) {
  const jobspec::SeedPlan& plan = *sweep.seed_plan;
  const std::vector<db::TrialRow> trials = store.trials(sweep.id);
  std::set<std::int64_t> closed;
  for (const auto& [configuration, reason] : sweep.closed_rows)
    closed.insert(configuration);
  const db::analysis::SeedLook found =
      db::analysis::take_look(store, store.sweep(sweep.id).value(), plan, closed);
  event::SeedLook event;
  event.look = sweep.looks_taken + 1;
  for (const db::analysis::ClosedRow& row : found.closed) {
    closed.insert(row.configuration);
    event.closed.push_back(
        {row.configuration, row.best, row.p, why_closed(row, trials, sweep, event.look)});
  }
  const auto taken = static_cast<std::size_t>(event.look);
  event.over = found.over;
  if (event.over.empty() && static_cast<std::int64_t>(closed.size()) + 1 >= plan.rows)
    event.over = "at most one configuration is left";
  else if (event.over.empty() && taken == plan.looks.size())
    event.over = "that was the last";
  if (!event.over.empty()) return event;
  event.first_seed = plan.looks[taken - 1] + 1;
  event.last_seed = plan.looks[taken];
  event.shapes = shapes_of_rows(next_seeds(trials, closed, event.first_seed, event.last_seed));
  return event;
}

}  // namespace thalweg::daemon
