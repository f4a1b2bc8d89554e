// GET /v1/sweeps/{id}/compare: which configuration got there first, in one sweep or in several.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "daemon/api/comparison_messages.h"
#include "daemon/api/messages.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"
#include "db/analysis/compare.h"
#include "db/analysis/warnings.h"
#include "jobspec/enum_names.h"
#include "jobspec/metrics.h"

namespace thalweg::daemon {

using boost::asio::awaitable;
using jobspec::Id;
using nlohmann::json;

namespace {

api::EstimateMessage message_of(const db::analysis::Estimate& e) {
  return {e.median, e.low, e.high};
}

api::ToTargetMessage message_of(const db::analysis::ToTarget& t) {
  return {{t.median, t.low, t.high}, t.reached};
}

api::ComparisonRowMessage message_of(const db::analysis::ComparisonRow& row) {
  api::ComparisonRowMessage message;
  message.rank = row.rank;
  const auto has = [&](const std::string& name) {
    return std::find(row.absent.begin(), row.absent.end(), name) == row.absent.end();
  };
  for (const auto& [name, value] : row.group)
    if (has(name)) message.group[name] = api::value_json(value);
  for (const auto& [name, value] : row.chosen)
    if (has(name)) message.chosen[name] = api::value_json(value);
  message.choices = row.choices;
  message.n = row.n;
  message.configurations = row.configurations;
  message.trials_used = row.trials_used;
  message.finished = row.finished;
  message.failed = row.failed;
  message.ended_early = row.ended_early;
  message.best = message_of(row.best);
  message.steps_to_target = message_of(row.steps_to_target);
  message.samples_to_target = message_of(row.samples_to_target);
  message.seconds_to_target = message_of(row.seconds_to_target);
  message.node_seconds_to_target = message_of(row.node_seconds_to_target);
  for (const db::analysis::OtherTarget& other : row.other_targets)
    message.other_targets.push_back({other.target, message_of(other.steps),
                                     message_of(other.samples), message_of(other.seconds),
                                     message_of(other.node_seconds), message_of(other.money)});
  message.money_to_target = message_of(row.money_to_target);
  message.cost_node_seconds = message_of(row.node_seconds);
  message.money = message_of(row.money);
  message.samples_per_s.median = row.samples_per_s;
  for (const Id& id : row.trials)
    message.trials.push_back(id.to_string());
  message.verdict = row.verdict;
  message.p = row.p;
  message.improvement = message_of(row.improvement);
  return message;
}

api::ComparisonMessage message_of(const db::analysis::Comparison& c) {
  api::ComparisonMessage message;
  message.sweep = std::to_string(c.sweeps.front());
  for (const std::int64_t sweep : c.sweeps)
    message.sweeps.push_back(std::to_string(sweep));
  message.metric = c.metric;
  message.goal = jobspec::name_of(c.goal);
  message.target = c.target;
  message.other_targets = c.other_targets;
  message.by = c.by;
  message.best_over = c.best_over;
  message.unit = c.unit;
  message.statistic = db::analysis::name_of(c.statistic);
  message.choosing_seeds = c.choosing;
  message.judging_seeds = c.judging;
  message.rows_in_all = c.rows_in_all;
  for (const auto& row : c.rows)
    message.rows.push_back(message_of(row));
  message.notes = c.notes;
  return message;
}

/// Of all its sweeps; which trials lack the metric is told where it is the sweep's own. Returns
/// whether any do.
bool add_warnings(db::ReadStore& store, db::analysis::Comparison& comparison) {
  bool any = false;
  for (const std::int64_t id : comparison.sweeps) {
    const auto sweep = store.sweep(id);
    const bool own = sweep && sweep->metric == comparison.metric;
    const auto warnings =
        db::analysis::warnings_of(store, id, own ? comparison.metric : std::string());
    any = any || warnings.without_metric > 0;
    for (const std::string& sentence : warnings.sentences)
      comparison.notes.push_back(
          comparison.sweeps.size() == 1 ? sentence : fmt::format("sweep {}: {}", id, sentence));
  }
  return any;
}

/// Nothing where trials have reported the metric, or none has reported anything.
std::string without_data(const std::string& metric, const std::vector<std::string>& reported) {
  if (reported.empty() || std::find(reported.begin(), reported.end(), metric) != reported.end())
    return "";
  const std::string near = jobspec::nearest_metric(metric, reported);
  return fmt::format("no trial has reported '{}'{}; reported were '{}'", metric,
                     near.empty() ? "" : " (did you mean '" + near + "'?)",
                     fmt::join(reported, "', '"));
}

/// Which metrics there are takes long to find out in a large sweep: only where it helps.
void add_note_without_data(db::ReadStore& store, db::analysis::Comparison& comparison) {
  std::vector<std::string> reported;
  for (const std::int64_t sweep : comparison.sweeps)
    for (std::string& name : store.metric_names(sweep))
      reported.push_back(std::move(name));
  std::string note = without_data(comparison.metric, reported);
  if (!note.empty()) comparison.notes.push_back(std::move(note));
}

db::analysis::RankBy rank_by(const std::string& name) {
  using db::analysis::RankBy;
  static const std::vector<std::pair<std::string, RankBy>> names = {
      {"", RankBy::automatic},      {"auto", RankBy::automatic}, {"best", RankBy::best},
      {"last", RankBy::last},       {"steps", RankBy::steps},    {"samples", RankBy::samples},
      {"seconds", RankBy::seconds}, {"cost", RankBy::cost},      {"money", RankBy::money}};
  for (const auto& [known, value] : names)
    if (known == name) return value;
  throw HttpError(400, "rank_by=" + name +
                           ": expected auto, best, last, steps, samples, seconds, cost or money");
}

db::analysis::CompareOptions compare_options(const Request& request) {
  db::analysis::CompareOptions options;
  options.by = query_names(request, "by");
  options.best_over = query_names(request, "best_over");
  options.without = query_names(request, "without");
  options.top = static_cast<std::size_t>(query_int(request, "top", 0, 0, 1'000'000'000));
  options.metric = query_text(request, "metric");
  options.rank_by = rank_by(query_text(request, "rank_by"));
  if (const std::string name = query_text(request, "stat"); !name.empty()) {
    const auto statistic = db::analysis::find_statistic(name);
    if (!statistic) throw HttpError(400, "stat=" + name + ": expected median, mean or best");
    options.statistic = *statistic;
  }
  if (const std::string goal = query_text(request, "goal"); !goal.empty()) {
    options.goal = jobspec::find_name<jobspec::Goal>(goal);
    if (!options.goal) throw HttpError(400, "goal=" + goal + ": expected minimize or maximize");
  }
  if (const std::string target = query_text(request, "target"); !target.empty()) {
    const json value = json::parse(target, nullptr, false);
    if (!value.is_number()) throw HttpError(400, "target=" + target + ": expected a number");
    options.target = value.get<double>();
  }
  return options;
}

}  // namespace

awaitable<Response> get_comparison(App& app, const Request& request) {
  const Id id = path_id(request, IdKind::sweep);
  known_sweep(app, request, id.sweep);
  std::vector<std::int64_t> sweeps{id.sweep};
  for (const std::int64_t sweep : query_sweeps(app, request, "also"))
    if (std::find(sweeps.begin(), sweeps.end(), sweep) == sweeps.end()) sweeps.push_back(sweep);
  auto options = compare_options(request);
  options.prices = prices_of(app, sweeps);
  const std::string currency = app.config.prices.currency;
  const auto work = [sweeps, options, currency](db::ReadStore& store) {
    try {
      db::analysis::Comparison comparison = db::analysis::compare(store, sweeps, options);
      const auto has_data = [](const auto& row) { return !std::isnan(row.best.median); };
      const bool told = add_warnings(store, comparison);
      if (!told && std::none_of(comparison.rows.begin(), comparison.rows.end(), has_data))
        add_note_without_data(store, comparison);
      api::ComparisonMessage message = message_of(comparison);
      message.priced = !options.prices.empty();
      message.currency = currency;
      return json_response(api::to_json(message));
    } catch (const std::invalid_argument& error) {
      throw HttpError(400, error.what());
    }
  };
  co_return co_await app.reader.run(request.user, work);
}

}  // namespace thalweg::daemon
