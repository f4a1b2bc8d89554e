// Endpoints about the controller itself, and those that tell it to do something.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/machine.h"
#include "base/text.h"
#include "daemon/api/messages.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"
#include "daemon/server/submission.h"

namespace thalweg::daemon {

using boost::asio::awaitable;
using nlohmann::json;

namespace {

constexpr std::int64_t default_rows = 10'000, max_rows = 1'000'000;

jobspec::Id sweep_or_trial(const json& body) {
  const jobspec::Id id = parse_id(text_of(body, "id"));
  if (id.attempt != 0) throw HttpError(400, "give the id of a sweep (12) or a trial (12.3)");
  return id;
}

std::int64_t found(std::optional<std::int64_t> count, const jobspec::Id& id) {
  if (!count) throw HttpError(404, "there is no " + id.to_string());
  return *count;
}

/// What the asker has in flight and has used; limits of 0 are none.
json quota_message(const App& app, const std::string& user) {
  const Quotas& quotas = app.config.policy.quotas;
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const Ledger ledger(app.controller.state(), quotas, now);
  const Quota quota = quota_of_user(quotas, user).quota;
  return {{"nodes", ledger.nodes_of_user(user)},
          {"max_nodes", quota.max_nodes},
          {"open_trials", ledger.trials_of_user(user)},
          {"trials", quota.trials},
          {"node_hours_used", ledger.node_hours_of_user(user)},
          {"node_hours", quota.node_hours},
          {"days", quotas.days}};
}

/// Paths within somebody's folders are not for everybody.
std::vector<std::string> troubles(const App& app, const Sight& sight) {
  std::vector<std::string> result = app.controller.troubles();
  std::int64_t others = 0;
  for (const auto& [id, text] : app.controller.troubles_of_sweeps()) {
    const auto it = app.controller.state().sweeps.find(id);
    if (sight.all() || (it != app.controller.state().sweeps.end() && sight.of(it->second)))
      result.push_back(text);
    else
      ++others;
  }
  if (others > 0)
    result.push_back(count_of(others, "sweep") + " of other users cannot be removed or pruned yet");
  return result;
}

}  // namespace

awaitable<Response> get_ping(App& app, const Request& request) {
  const Sight sight(app, request);
  std::int64_t sweeps = 0, attempts = 0;
  for (const auto& [id, sweep] : app.controller.state().sweeps) {
    if (!sight.of(sweep)) continue;
    if (sweep.phase == SweepPhase::active) ++sweeps;
    for (const auto& [number, attempt] : sweep.live)
      if (attempt.phase == AttemptPhase::running) ++attempts;
  }
  json backends = json::object();
  for (const auto& name : app.controller.backends())
    backends[name] = app.controller.description(name).value_or("not known yet");
  json site;  // null: one user's
  if (app.config.site.enabled) {
    site["operator"] = sight.all();
    if (const auto reader = app.controller.credential_reader("slurm")) {
      site["credential_reader"] = reader->user;
      site["tokens"] = reader->tokens;
    }
    site["quota"] = quota_message(app, user_name(request.user));
  }
  co_return json_response({{"version", THALWEG_VERSION},
                           {"pid", getpid()},
                           {"host", host_name()},
                           {"user", user_name(geteuid())},
                           {"home", app.home.directory.string()},
                           {"database", app.home.database().string()},
                           {"started", app.started},
                           {"backends", backends},
                           {"troubles", troubles(app, sight)},
                           {"site", site},
                           {"active_sweeps", sweeps},
                           {"running_attempts", attempts}});
}

awaitable<Response> post_cancel(App& app, const Request& request) {
  const jobspec::Id id = sweep_or_trial(body_object(request));
  known_sweep(app, request, id.sweep);
  co_return json_response(
      {{"cancelled", found(app.controller.cancel(id, user_name(request.user)), id)}});
}

namespace {

/// They are open trials of the sweep's user again, whoever asks for it.
void require_room_to_retry(const App& app, const jobspec::Id& id,
                           const std::set<TrialPhase>& phases) {
  const auto& sweeps = app.controller.state().sweeps;
  const auto it = sweeps.find(id.sweep);
  if (it == sweeps.end() || !it->second.owner) return;
  require_fits_trials(app, it->second.owner->user, to_retry(it->second, id.trial, phases).size());
}

}  // namespace

awaitable<Response> post_retry(App& app, const Request& request) {
  const json body = body_object(request);
  const jobspec::Id id = sweep_or_trial(body);
  require_runnable(known_sweep(app, request, id.sweep), "run again");
  require_time_left(
      known_sweep(app, request, id.sweep).limits,
      fmt::format("sweep {} (thalweg extend {} --set limits.deadline=TIME)", id.sweep, id.sweep));
  std::set<TrialPhase> phases;
  for (const json& state : body.value("states", json::array({"failed"}))) {
    const auto phase =
        state.is_string() ? find_name<TrialPhase>(state.get<std::string>()) : std::nullopt;
    if (!phase || !is_over(*phase))
      throw HttpError(400,
                      "states may be failed, cancelled and finished, not " + api::json_text(state));
    phases.insert(*phase);
  }
  require_room_to_retry(app, id, phases);
  const auto retried = found(app.controller.retry(id, phases, user_name(request.user)), id);
  const std::int64_t cancelled =
      id.trial == 0 ? app.controller.state().sweeps.at(id.sweep).cancelled : 0;
  co_return json_response({{"retried", retried}, {"left_cancelled", cancelled}});
}

namespace {

/// What is bound to the `?` of a query.
std::vector<jobspec::Value> parameters_of(const json& body) {
  const json given = body.value("parameters", json::array());
  if (!given.is_array()) throw HttpError(400, "parameters: expected a list");
  std::vector<jobspec::Value> parameters;
  for (const json& value : given) {
    if (value.is_number_integer()) {
      parameters.emplace_back(value.get<std::int64_t>());
    } else if (value.is_number()) {
      parameters.emplace_back(value.get<double>());
    } else if (value.is_string()) {
      parameters.emplace_back(value.get<std::string>());
    } else {
      throw HttpError(400, "parameters: expected numbers and texts, found " + value.dump());
    }
  }
  return parameters;
}

}  // namespace

awaitable<Response> post_query(App& app, const Request& request) {
  const json body = body_object(request);
  const std::string sql = text_of(body, "sql");
  const json wanted = body.value("max_rows", json(default_rows));
  if (!wanted.is_number_integer() || wanted < 1)
    throw HttpError(400, "max_rows: expected a positive integer");
  const auto rows = std::min(wanted.get<std::int64_t>(), max_rows);
  const double limit = app.config.query_s;
  const auto parameters = parameters_of(body);
  const auto work = [sql, rows, limit, parameters](db::ReadStore& store, const Turns::Time& time) {
    db::QueryResult found_rows;
    bool stopped = false;
    try {
      found_rows = store.query(sql, rows, limit, parameters, [&] { return stopped = time.over(); });
    } catch (const db::Error& error) {
      throw HttpError(stopped ? 503 : 400, error.what());
    }
    json list = json::array();
    for (const auto& row : found_rows.rows) {
      json cells = json::array();
      for (const auto& cell : row)
        cells.push_back(api::value_json(cell));
      list.push_back(std::move(cells));
    }
    return json_response({{"columns", found_rows.columns},
                          {"rows", std::move(list)},
                          {"truncated", found_rows.truncated}});
  };
  const bool alone = is_operator(app.config, request.user);
  if (!alone && !app.querying.insert(request.user).second)
    throw HttpError(429, "your query before has not ended: one at a time");
  const struct Done {
    std::set<uid_t>& users;
    const uid_t* user;
    ~Done() {
      if (user != nullptr) users.erase(*user);
    }
  } done{app.querying, alone ? nullptr : &request.user};
  co_return co_await run_confined(app, request, app.queries, work);
}

awaitable<Response> post_push(App& app, const Request& request) {
  const auto next = app.controller.push(request.bearer, request.body);
  if (app.controller.is_given_up(request.bearer)) co_return given_up_response();
  if (!next) throw HttpError(403, "the secret is of no running attempt");
  co_return json_response({{"next", *next}});
}

awaitable<Response> post_shutdown(App& app, const Request&) {
  app.stop();
  co_return json_response(json::object());
}

}  // namespace thalweg::daemon
