// Endpoints that show sweeps, trials and attempts.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "daemon/api/messages.h"
#include "daemon/controller/folder.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"
#include "daemon/server/views.h"
#include "db/analysis/compare.h"
#include "jobspec/metric_names.h"
#include "jobspec/metrics.h"

namespace thalweg::daemon {

using api::number_json;
using boost::asio::awaitable;
using jobspec::Id;
using nlohmann::json;

namespace {

constexpr std::int64_t log_part_bytes = 1 << 20;

const SweepState& known_sweep(const App& app, std::int64_t id) {
  const auto& sweeps = app.controller.state().sweeps;
  const auto it = sweeps.find(id);
  if (it == sweeps.end()) throw HttpError(404, "there is no sweep " + std::to_string(id));
  return it->second;
}

void check_trial(const App& app, const Id& id) {
  const SweepState& sweep = known_sweep(app, id.sweep);
  if (app.controller.state().trial(id) == nullptr)
    throw HttpError(404, "sweep " + std::to_string(id.sweep) + " has trials 1 to " +
                             std::to_string(sweep.trials.size()) + ", not " +
                             std::to_string(id.trial));
}

json estimate_json(const db::analysis::Estimate& e) {
  return {{"median", number_json(e.median)},
          {"low", number_json(e.low)},
          {"high", number_json(e.high)}};
}

json to_target_json(const db::analysis::ToTarget& t) {
  json result = estimate_json(t);
  result["reached"] = t.reached;
  return result;
}

json row_json(const db::analysis::ComparisonRow& row) {
  const auto values_json = [](const auto& values) {
    json result = json::object();
    for (const auto& [name, value] : values)
      result[name] = api::value_json(value);
    return result;
  };
  json trials = json::array();
  for (const Id& id : row.trials)
    trials.push_back(id.to_string());
  json result{{"rank", row.rank},
              {"group", values_json(row.group)},
              {"chosen", values_json(row.chosen)},
              {"choices", row.choices},
              {"n", row.n},
              {"configurations", row.configurations},
              {"trials_used", row.trials_used},
              {"finished", row.finished},
              {"failed", row.failed},
              {"best", estimate_json(row.best)},
              {"steps_to_target", to_target_json(row.steps_to_target)},
              {"seconds_to_target", to_target_json(row.seconds_to_target)},
              {"node_seconds_to_target", to_target_json(row.node_seconds_to_target)},
              {"cost_node_seconds", estimate_json(row.node_seconds)},
              {"samples_per_s", {{"median", number_json(row.samples_per_s)}}},
              {"trials", trials},
              {"verdict", row.verdict}};
  if (row.p) result["p"] = number_json(*row.p);
  return result;
}

json comparison_json(const db::analysis::Comparison& c) {
  json rows = json::array();
  for (const auto& row : c.rows)
    rows.push_back(row_json(row));
  json result{{"sweep", std::to_string(c.sweep)},
              {"metric", c.metric},
              {"goal", name_of(c.goal)},
              {"target", nullptr},
              {"by", c.by},
              {"best_over", c.best_over},
              {"unit", c.unit},
              {"choosing_seeds", c.choosing},
              {"judging_seeds", c.judging},
              {"rows_in_all", c.rows_in_all},
              {"rows", rows},
              {"notes", c.notes}};
  if (c.target) result["target"] = number_json(*c.target);
  return result;
}

/// Nothing where trials have reported the metric, or none has reported anything.
std::string without_data(const std::string& metric, const std::vector<std::string>& reported) {
  if (reported.empty() || std::find(reported.begin(), reported.end(), metric) != reported.end())
    return "";
  const std::string near = jobspec::nearest_metric(metric, reported);
  return fmt::format("no trial has reported {}{}; reported were {}", metric,
                     near.empty() ? "" : " (did you mean " + near + "?)",
                     fmt::join(reported, ", "));
}

db::analysis::RankBy rank_by(const std::string& name) {
  using db::analysis::RankBy;
  static const std::vector<std::pair<std::string, RankBy>> names = {
      {"", RankBy::automatic},  {"auto", RankBy::automatic},  {"best", RankBy::best},
      {"steps", RankBy::steps}, {"seconds", RankBy::seconds}, {"cost", RankBy::cost}};
  for (const auto& [known, value] : names)
    if (known == name) return value;
  throw HttpError(400, "rank_by=" + name + ": expected auto, best, steps, seconds or cost");
}

/// "a,b" as a list.
std::vector<std::string> query_names(const Request& request, const std::string& key) {
  std::vector<std::string> names;
  std::string text = query_text(request, key);
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (comma != 0) names.push_back(text.substr(0, comma));
    text = comma == std::string::npos ? "" : text.substr(comma + 1);
  }
  return names;
}

db::analysis::CompareOptions compare_options(const Request& request) {
  db::analysis::CompareOptions options;
  options.by = query_names(request, "by");
  options.best_over = query_names(request, "best_over");
  options.top = static_cast<std::size_t>(query_int(request, "top", 0, 0, 1'000'000'000));
  options.metric = query_text(request, "metric");
  options.rank_by = rank_by(query_text(request, "rank_by"));
  if (const std::string goal = query_text(request, "goal"); !goal.empty()) {
    options.goal = find_name<jobspec::Goal>(goal);
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

awaitable<Response> get_sweeps(App& app, const Request& request) {
  const auto limit = query_int(request, "limit", 50, 1, 100000);
  const auto work = [](db::ReadStore& store) { return store.sweeps(); };
  const auto rows = co_await app.reader.run(work);
  api::SweepList list;
  for (const auto& row : rows) {
    if (static_cast<std::int64_t>(list.sweeps.size()) == limit) break;
    const auto it = app.controller.state().sweeps.find(row.id);
    if (it != app.controller.state().sweeps.end())
      list.sweeps.push_back(sweep_message(row, counts_of(it->second)));
  }
  co_return json_response(api::to_json(list));
}

awaitable<Response> get_sweep(App& app, const Request& request) {
  const Id id = path_id(request, IdKind::sweep);
  const Counts counts = counts_of(known_sweep(app, id.sweep));
  const SweepView view = app.controller.view(id.sweep);
  const auto work = [id, counts, view](db::ReadStore& store) {
    return json_response(api::to_json(sweep_snapshot(store, id.sweep, counts, view)));
  };
  co_return co_await app.reader.run(work);
}

awaitable<Response> get_comparison(App& app, const Request& request) {
  const Id id = path_id(request, IdKind::sweep);
  known_sweep(app, id.sweep);
  const auto options = compare_options(request);
  const auto work = [id, options](db::ReadStore& store) {
    try {
      db::analysis::Comparison comparison = db::analysis::compare(store, id.sweep, options);
      std::string note = without_data(comparison.metric, store.metric_names(id.sweep));
      if (!note.empty()) comparison.notes.push_back(std::move(note));
      return json_response(comparison_json(comparison));
    } catch (const std::invalid_argument& error) {
      throw HttpError(400, error.what());
    }
  };
  co_return co_await app.reader.run(work);
}

awaitable<Response> get_trial(App& app, const Request& request) {
  const Id id = path_id(request, IdKind::trial);
  check_trial(app, id);
  const SweepView view = app.controller.view(id.sweep);
  const auto work = [id, view](db::ReadStore& store) {
    json result, attempts = json::array(), metrics = json::object();
    const auto sweep = store.sweep(id.sweep);
    const auto latest = store.latest(id.sweep);
    TrialMetrics own;
    for (const auto& point : latest) {
      if (point.trial.trial != id.trial) continue;
      own.push_back(&point);
      metrics[point.metric] = {{"last", number_json(point.value)},
                               {"step", point.step},
                               {"min", number_json(point.min)},
                               {"max", number_json(point.max)}};
    }
    for (const auto& row : store.trials(id.sweep)) {
      if (row.id.trial != id.trial) continue;
      api::TrialMessage trial = trial_message(row);
      trial.progress = progress_of(*sweep, row, own, view);
      result = api::to_json(trial);
      result["train"] = json::parse(row.train, nullptr, false);
    }
    for (const auto& row : store.attempts(id.sweep))
      if (row.id.trial == id.trial) attempts.push_back(attempt_json(row));
    // The count becomes the list, as daemon/api/README.md says.
    result["attempts"] = std::move(attempts);
    result["metrics"] = std::move(metrics);
    return json_response(result);
  };
  co_return co_await app.reader.run(work);
}

awaitable<Response> get_curve(App& app, const Request& request) {
  const Id id = path_id(request, IdKind::trial);
  check_trial(app, id);
  const std::string metric = query_text(request, "metric", jobspec::metric::train_loss);
  const auto points = query_int(request, "points", 0, 0, 10'000'000);
  const auto work = [id, metric, points](db::ReadStore& store) {
    json list = json::array();
    for (const auto& p : store.curve(id, metric, points))
      list.push_back({p.step, number_json(p.value), p.time, p.attempt});
    if (list.empty()) {
      const auto names = store.metric_names(id.sweep);
      const std::string near = jobspec::nearest(metric, names);
      if (!names.empty() && std::find(names.begin(), names.end(), metric) == names.end())
        throw HttpError(404, "no metric '" + metric + "' in sweep " + std::to_string(id.sweep) +
                                 (near.empty() ? "" : "; did you mean " + near + "?"));
    }
    return json_response({{"points", list}});
  };
  co_return co_await app.reader.run(work);
}

namespace {

/// Up to 1 MiB of a file; a missing one is empty.
std::string read_part(const std::filesystem::path& file, std::int64_t offset) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return {};
  std::string text(static_cast<std::size_t>(log_part_bytes), '\0');
  const ssize_t count = pread(fd, text.data(), text.size(), offset);
  close(fd);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return text;
}

/// The options that were asked of Slurm: the #SBATCH lines of the attempt's batch script.
json request_of(const std::filesystem::path& folder) {
  constexpr std::string_view mark = "#SBATCH ";
  json options = json::array();
  std::istringstream script(read_part(folder / batch_script_name, 0));
  for (std::string line; std::getline(script, line) && line.starts_with('#');)
    if (line.starts_with(mark)) options.push_back(line.substr(mark.size()));
  return options;
}

}  // namespace

awaitable<Response> get_attempt(App& app, const Request& request) {
  const Id id = path_id(request, IdKind::attempt);
  const auto work = [id](db::ReadStore& store) {
    const auto row = store.attempt(id);
    if (!row) throw HttpError(404, "there is no attempt " + id.to_string());
    json result = attempt_json(*row), events = json::array();
    for (const auto& event : store.events_of(id))
      events.push_back(event_json(event));
    result["events"] = std::move(events);
    if (json asked = request_of(row->folder); !asked.empty()) result["request"] = std::move(asked);
    return json_response(result);
  };
  co_return co_await app.reader.run(work);
}

awaitable<Response> get_log(App& app, const Request& request) {
  const Id id = path_id(request, IdKind::attempt);
  const std::string stream = query_text(request, "stream", "stdout");
  const auto offset = query_int(request, "offset", 0, 0, std::int64_t{1} << 60);
  static const std::map<std::string, std::string> files = {
      {"stdout", "stdout.log"}, {"stderr", "stderr.log"}, {"journal", "journal.jsonl"}};
  const auto file = files.find(stream);
  if (file == files.end())
    throw HttpError(400, "stream=" + stream + ": expected stdout, stderr or journal");
  const bool ended = app.controller.state().live(id) == nullptr;
  const auto find = [id](db::ReadStore& store) {
    const auto row = store.attempt(id);
    if (!row) throw HttpError(404, "there is no attempt " + id.to_string());
    return row->folder;
  };
  const std::filesystem::path folder = co_await app.reader.run(find);
  Response part;
  try {
    part.body = app.controller.disk().run(
        [path = folder / file->second, offset] { return read_part(path, offset); });
  } catch (const DiskHangs& error) {
    throw HttpError(503, error.what());
  }
  part.content_type = "text/plain; charset=utf-8";
  part.headers["X-Next-Offset"] =
      std::to_string(offset + static_cast<std::int64_t>(part.body.size()));
  part.headers["X-Ended"] = ended ? "1" : "0";
  co_return part;
}

}  // namespace thalweg::daemon
