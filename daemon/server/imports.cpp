// POST /v1/import: runs of other programs become a sweep that has finished. A request's size is
// limited, so an import may come in parts. They are collected in memory: the record sees nothing of
// an import before its last part, and then all of it at once.
#include "daemon/server/imports.h"

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/machine.h"
#include "daemon/api/messages.h"
#include "daemon/server/access.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"

namespace thalweg::daemon {

using nlohmann::json;

namespace {

constexpr std::size_t max_name = 200, max_source = 1000;

double steady_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of a metric or a parameter.
void check_word(const std::string& name, const char* what) {
  const bool one_line =
      std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20; });
  if (name.empty() || name.size() > max_name || !one_line)
    throw HttpError(400, fmt::format("{} '{}': expected a name in one line, of at most {} bytes",
                                     what, name.substr(0, max_name), max_name));
}

std::string cut(const std::string& text) {
  return text.substr(0, max_source);
}

ImportedRun run_of(const api::ImportTrial& trial) {
  if (!trial.parameters.is_object()) throw HttpError(400, "parameters: expected a JSON object");
  for (const auto& [name, value] : trial.parameters.items()) {
    check_word(name, "parameter");
    if (value.is_structured())
      throw HttpError(400, fmt::format("parameter '{}': expected a number, a text or a bool, "
                                       "not a list or an object",
                                       name));
  }
  return {cut(trial.source), api::json_text(trial.parameters), trial.seed, {}};
}

}  // namespace

void Upload::begin(const api::ImportRequest& part) {
  check_name(part.name);
  check_word(part.metric, "metric");
  const auto goal = jobspec::find_name<jobspec::Goal>(part.goal);
  if (!goal) throw HttpError(400, "goal: expected minimize or maximize");
  import.name = part.name;
  import.source = cut(part.source);
  import.metric.name = part.metric;
  import.metric.goal = *goal;
  if (part.target) import.metric.targets = {*part.target};
}

void Upload::add(const api::ImportRequest& part) {
  for (const api::ImportTrial& trial : part.trials)
    import.runs.push_back(run_of(trial));
  if (import.runs.size() > max_trials)
    throw HttpError(400, fmt::format("more than {} runs: import them as several sweeps; compare "
                                     "takes several",
                                     max_trials));
  for (const api::ImportCurve& curve : part.curves) {
    if (curve.trial < 1 || curve.trial > static_cast<std::int64_t>(import.runs.size()))
      throw HttpError(400, fmt::format("curves: there is no trial {} yet", curve.trial));
    check_word(curve.metric, "metric");
    auto& points_of = import.runs[static_cast<std::size_t>(curve.trial - 1)].curves[curve.metric];
    for (const api::ImportPoint& point : curve.points) {
      if (point.step < 0)
        throw HttpError(400, fmt::format("trial {}, {}: step {} is below 0", curve.trial,
                                         curve.metric, point.step));
      points_of.push_back({point.step, point.value, point.time});
    }
    points += static_cast<std::int64_t>(curve.points.size());
  }
  if (points > max_points)
    throw HttpError(413, fmt::format("more than {} points: import the runs as several sweeps "
                                     "(compare takes several), or leave metrics out",
                                     max_points));
}

void Upload::check() const {
  if (import.runs.empty()) throw HttpError(400, "there are no runs to import");
  const bool measured = std::any_of(import.runs.begin(), import.runs.end(), [&](const auto& run) {
    return run.curves.count(import.metric.name) != 0;
  });
  if (!measured) throw HttpError(400, "no run has points of the metric " + import.metric.name);
}

void Uploads::forget_idle(double now) {
  std::erase_if(uploads_, [now](const auto& entry) { return now - entry.second.touched > idle_s; });
}

std::string Uploads::keep(Upload upload, double now) {
  forget_idle(now);
  const auto own =
      static_cast<std::size_t>(std::count_if(uploads_.begin(), uploads_.end(), [&](const auto& e) {
        return e.second.user == upload.user;
      }));
  if (uploads_.size() >= max_at_once || own >= max_of_user)
    throw HttpError(503, fmt::format("other imports are under way: try again in a minute (one that "
                                     "was interrupted is forgotten after {:.0f} s)",
                                     idle_s));
  upload.touched = now;
  std::string name = new_token();
  uploads_.emplace(name, std::move(upload));
  return name;
}

Upload Uploads::take(const std::string& name, uid_t user, double now) {
  forget_idle(now);
  const auto found = uploads_.find(name);
  if (found == uploads_.end() || found->second.user != user)
    throw HttpError(404, fmt::format("there is no such upload: one that is not continued for "
                                     "{:.0f} s, or whose controller was started again, is "
                                     "forgotten; begin again",
                                     idle_s));
  Upload upload = std::move(found->second);
  uploads_.erase(found);
  return upload;
}

namespace {

std::optional<Owner> owner_of(const App& app, const Request& request) {
  if (!app.config.site.enabled) return {};
  const passwd* const entry = getpwuid(request.user);
  return Owner{request.user, entry == nullptr ? 0 : entry->pw_gid, user_name(request.user), ""};
}

}  // namespace

boost::asio::awaitable<Response> post_import(App& app, const Request& request) {
  // Megabytes of JSON: read where nobody waits for it.
  const auto read = [&request] {
    return std::make_shared<const api::ImportRequest>(body_of<api::ImportRequest>(request));
  };
  const auto part = co_await app.parsing.run(request.user, read);
  Upload upload;
  if (part->upload) {
    upload = app.uploads.take(*part->upload, request.user, steady_now());
  } else {
    upload.user = request.user;
    upload.begin(*part);
  }
  upload.add(*part);
  api::ImportAnswer answer;
  if (part->more.value_or(false)) {
    answer.upload = app.uploads.keep(std::move(upload), steady_now());
    co_return json_response(api::to_json(answer));
  }
  upload.check();
  upload.import.owner = user_name(request.user);
  upload.import.runs_as = owner_of(app, request);
  answer.name = upload.import.name;
  answer.points = upload.points;
  const Submitted done = app.controller.import_runs(std::move(upload.import));
  answer.id = std::to_string(done.id);
  answer.trials = done.trials;
  answer.configurations = done.configurations;
  co_return json_response(api::to_json(answer));
}

}  // namespace thalweg::daemon
