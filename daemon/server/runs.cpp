// Endpoints that show sweeps, trials and attempts.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "daemon/api/file.h"
#include "daemon/api/trial_messages.h"
#include "daemon/controller/folder.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"
#include "daemon/server/views.h"
#include "daemon/state/events.h"
#include "db/analysis/warnings.h"
#include "jobspec/metric_names.h"
#include "jobspec/table.h"

namespace thalweg::daemon {

using boost::asio::awaitable;
using jobspec::Id;
using nlohmann::json;

namespace {

constexpr std::int64_t log_part_bytes = 1 << 20;

std::optional<json> start_of(db::ReadStore& store, const Id& attempt) {
  const auto record = store.start(attempt);
  if (!record) return {};
  return json::parse(*record, nullptr, false);
}

/// What the sweep file says of itself.
std::optional<std::string> description_of(db::ReadStore& store, std::int64_t sweep) {
  const auto row = store.sweep(sweep);
  if (!row) return {};
  try {
    const jobspec::Value file = jobspec::read_yaml(row->text, row->file_name);
    const jobspec::Value* const text = file.is_map() ? file.find("description") : nullptr;
    if (text != nullptr && text->is_string()) return text->as_string();
  } catch (const std::exception&) {
    // Of another version, perhaps: it is shown without.
  }
  return {};
}

}  // namespace

awaitable<Response> get_sweeps(App& app, const Request& request) {
  const auto limit = query_int(request, "limit", 50, 1, 100000);
  const auto work = [](db::ReadStore& store) { return store.sweeps(); };
  const auto rows = co_await app.reader.run(request.user, work);
  const Sight sight(app, request);
  api::SweepList list;
  for (const auto& row : rows) {
    if (static_cast<std::int64_t>(list.sweeps.size()) == limit) break;
    const auto it = app.controller.state().sweeps.find(row.id);
    if (it != app.controller.state().sweeps.end() && !it->second.removing && sight.of(it->second))
      list.sweeps.push_back(sweep_message(row, counts_of(it->second)));
  }
  co_return json_response(api::to_json(list));
}

/// A list of sweeps waits no longer for what it says below itself.
constexpr std::chrono::milliseconds max_warning_time{100};

awaitable<Response> get_warnings(App& app, const Request& request) {
  const auto sweeps = query_sweeps(app, request, "sweeps");
  const auto work = [sweeps](db::ReadStore& store) {
    const auto end = std::chrono::steady_clock::now() + max_warning_time;
    api::WarningsAnswer answer;
    for (const std::int64_t id : sweeps) {
      if (std::chrono::steady_clock::now() >= end) break;
      const auto sweep = store.sweep(id);
      if (!sweep) continue;
      auto warnings = db::analysis::warnings_of(store, id, sweep->metric);
      if (!warnings.sentences.empty())
        answer.sweeps.push_back({std::to_string(id), std::move(warnings.sentences)});
    }
    return json_response(api::to_json(answer));
  };
  co_return co_await app.reader.run(request.user, work);
}

constexpr std::int64_t max_best = 10000;

awaitable<Response> get_sweep(App& app, const Request& request) {
  const Id id = path_id(request, IdKind::sweep);
  const Counts counts = counts_of(known_sweep(app, request, id.sweep));
  const SweepView view = app.controller.view(id.sweep);
  TrialChoice trials;
  trials.any = query_int(request, "trials", 1, 0, 1) == 1;
  trials.best = static_cast<std::size_t>(query_int(request, "best", 0, 0, max_best));
  const auto work = [id, counts, view, trials](db::ReadStore& store) {
    auto snapshot = sweep_snapshot(store, id.sweep, counts, view, trials);
    if (snapshot) snapshot->description = description_of(store, id.sweep);
    return json_response(api::to_json(snapshot));
  };
  co_return co_await app.reader.run(request.user, work);
}

awaitable<Response> get_trial(App& app, const Request& request) {
  const Id id = path_id(request, IdKind::trial);
  check_trial(app, request, id);
  const SweepView view = app.controller.view(id.sweep);
  const auto work = [id, view](db::ReadStore& store) {
    api::TrialAnswer answer;
    const auto sweep = store.sweep(id.sweep);
    const auto latest = store.latest(id);
    TrialMetrics own;
    std::optional<std::int64_t> step;
    for (const auto& point : latest) {
      own.push_back(&point);
      step = std::max(step.value_or(0), point.step);
      answer.metrics[point.metric] = {point.value, point.min, point.max, point.step};
    }
    if (const auto row = store.trial(id)) {
      static_cast<api::AboutTrial&>(answer) = about_trial(*row);
      answer.progress = progress_of(*sweep, *row, own, step, view);
      answer.train = json::parse(row->train, nullptr, false);
      answer.warning =
          db::analysis::warnings_of(store, id.sweep, sweep->metric).of_trials[id.trial];
    }
    for (const auto& row : store.attempts(id.sweep))
      if (row.id.trial == id.trial) {
        answer.attempts.push_back(attempt_message(row));
        if (auto start = start_of(store, row.id); start && start->contains("config"))
          answer.config = std::move((*start)["config"]);
      }
    for (const db::Event& event : store.events_of(id))
      if (is<event::Chosen>(event))
        answer.chosen = from_json<event::Chosen>(json::parse(event.data)).reason;
    return json_response(api::to_json(answer));
  };
  co_return co_await app.reader.run(request.user, work);
}

namespace {

std::vector<api::CurvePoint> points_of(db::ReadStore& store, const Id& trial,
                                       const std::string& metric, std::int64_t max_points) {
  std::vector<api::CurvePoint> points;
  for (const auto& p : store.curve(trial, metric, max_points))
    points.push_back({p.step, p.value, p.time, p.attempt});
  return points;
}

/// Throws HttpError 404 where trials of the sweep have reported metrics, and this is none of them.
void check_metric(db::ReadStore& store, std::int64_t sweep, const std::string& metric) {
  const auto names = store.metric_names(sweep);
  if (names.empty() || std::find(names.begin(), names.end(), metric) != names.end()) return;
  throw HttpError(404, fmt::format("no metric '{}' in sweep {}{}", metric, sweep,
                                   jobspec::suggestion(metric, names)));
}

/// What a question for curves may say beside its id.
struct CurveQuery {
  std::string metric;
  std::int64_t max_points = 0;  ///< of a trial; 0 = all

  explicit CurveQuery(const Request& request)
      : metric(query_text(request, "metric", jobspec::metric::train_loss)),
        max_points(query_int(request, "points", 0, 0, 10'000'000)) {}
};

}  // namespace

awaitable<Response> get_curve(App& app, const Request& request) {
  const Id id = path_id(request, IdKind::trial);
  check_trial(app, request, id);
  const auto work = [id, query = CurveQuery(request)](db::ReadStore& store) {
    const api::CurveAnswer answer{points_of(store, id, query.metric, query.max_points)};
    if (answer.points.empty()) check_metric(store, id.sweep, query.metric);
    return json_response(api::to_json(answer));
  };
  co_return co_await app.reader.run(request.user, work);
}

awaitable<Response> get_curves(App& app, const Request& request) {
  const Id id = path_id(request, IdKind::sweep);
  known_sweep(app, request, id.sweep);
  std::set<std::int64_t> wanted;  // empty: all
  for (const std::string& number : query_names(request, "trials")) {
    const Id trial = parse_id(std::to_string(id.sweep) + "." + number);
    check_trial(app, request, trial);
    wanted.insert(trial.trial);
  }
  const auto work = [id, wanted, query = CurveQuery(request)](db::ReadStore& store) {
    api::CurvesAnswer answer{query.metric, {}};
    const auto add = [&](const Id& trial) {
      auto points = points_of(store, trial, query.metric, query.max_points);
      if (!points.empty()) answer.curves.push_back({{std::move(points)}, trial.to_string()});
    };
    // Of some trials without a look at all others of a large sweep.
    for (const std::int64_t trial : wanted)
      add({id.sweep, trial, 0});
    if (wanted.empty())
      for (const auto& last : store.latest(id.sweep))
        if (last.metric == query.metric) add(last.trial);
    if (answer.curves.empty()) check_metric(store, id.sweep, query.metric);
    return json_response(api::to_json(answer));
  };
  co_return co_await app.reader.run(request.user, work);
}

namespace {

/// Up to 1 MiB of a file; a missing one is empty.
struct LogPart {
  std::string text;
  std::int64_t offset = 0;
};

/// From `offset` on, or the last `tail` bytes where that is above 0.
LogPart read_part(const std::filesystem::path& file, std::int64_t offset, std::int64_t tail = 0) {
  const Descriptor opened = api::open_regular(file);
  if (!opened) return {{}, offset};
  if (struct stat facts{}; tail > 0 && fstat(opened.get(), &facts) == 0)
    offset = std::max<std::int64_t>(0, facts.st_size - tail);
  std::string text(static_cast<std::size_t>(log_part_bytes), '\0');
  const ssize_t count = pread(opened.get(), text.data(), text.size(), offset);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return {std::move(text), offset};
}

/// The options that were asked of Slurm: the #SBATCH lines of the attempt's batch script.
std::vector<std::string> request_of(const std::filesystem::path& folder) {
  if (folder.empty()) return {};
  constexpr std::string_view mark = "#SBATCH ";
  std::vector<std::string> options;
  std::istringstream script(read_part(folder / batch_script_name, 0).text);
  for (std::string line; std::getline(script, line) && line.starts_with('#');)
    if (line.starts_with(mark)) options.push_back(line.substr(mark.size()));
  return options;
}

}  // namespace

awaitable<Response> get_attempt(App& app, const Request& request) {
  const Id id = path_id(request, IdKind::attempt);
  check_trial(app, request, id);
  const auto work = [id](db::ReadStore& store) {
    const auto row = store.attempt(id);
    if (!row) throw HttpError(404, "there is no attempt " + id.to_string());
    api::AttemptAnswer answer{attempt_message(*row), start_of(store, id), {}, {}};
    for (const auto& event : store.events_of(id))
      answer.events.push_back(event_message(event));
    if (auto asked = request_of(row->folder); !asked.empty()) answer.request = std::move(asked);
    return json_response(api::to_json(answer));
  };
  co_return co_await app.reader.run(request.user, work);
}

awaitable<Response> get_log(App& app, const Request& request) {
  const Id id = path_id(request, IdKind::attempt);
  check_trial(app, request, id);
  const std::string stream = query_text(request, "stream", "stdout");
  const auto offset = query_int(request, "offset", 0, 0, std::int64_t{1} << 60);
  const auto tail = query_int(request, "tail", 0, 0, log_part_bytes);
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
  const std::filesystem::path folder = co_await app.reader.run(request.user, find);
  if (folder.empty())
    throw HttpError(
        404, fmt::format("{} is a run of another program: it has no logs here", id.to_string()));
  LogPart read;
  try {
    read = app.controller.disk().run(
        [path = folder / file->second, offset, tail] { return read_part(path, offset, tail); });
  } catch (const DiskHangs& error) {
    throw HttpError(503, error.what());
  }
  Response part;
  part.body = std::move(read.text);
  part.content_type = "text/plain; charset=utf-8";
  part.headers["X-Next-Offset"] =
      std::to_string(read.offset + static_cast<std::int64_t>(part.body.size()));
  part.headers["X-Ended"] = ended ? "1" : "0";
  co_return part;
}

}  // namespace thalweg::daemon
