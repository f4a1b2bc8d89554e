// POST /v1/extend: trials added to a sweep that is there. The client sends the sweep file as it is
// now wanted; what it gives beyond the trials that are there runs. So a sweep that was extended is
// the same as one whose file said so from the start.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/controller/extension.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/forecast.h"
#include "daemon/server/params.h"
#include "daemon/server/submission.h"
#include "jobspec/schema.h"
#include "jobspec/value.h"

namespace thalweg::daemon {

using boost::asio::awaitable;
using nlohmann::json;

namespace {

/// What the record has of the sweep.
struct Known {
  db::SweepRow row;
  std::vector<db::TrialRow> trials;
  std::vector<std::string> environment;
};

std::shared_ptr<const Known> read_known(db::ReadStore& store, std::int64_t id) {
  const auto row = store.sweep(id);
  if (!row) throw HttpError(404, "there is no sweep " + std::to_string(id));
  Known known{*row, store.trials(id), {}};
  if (const auto entries = store.environment(id))
    known.environment = json::parse(*entries).get<std::vector<std::string>>();
  return std::make_shared<const Known>(std::move(known));
}

/// All trials of a sweep are judged and run alike.
void check_kept(const std::string& before, const std::string& after, const std::string& name) {
  const jobspec::Value old = jobspec::read_yaml(before, name);
  const jobspec::Value now = jobspec::read_yaml(after, name);
  for (const char* key : {"name", "metric", "slurm", "env", "method"}) {
    const jobspec::Value *was = old.find(key), *is = now.find(key);
    const bool same = (was == nullptr) == (is == nullptr) && (was == nullptr || *was == *is);
    if (!same)
      throw HttpError(400, fmt::format("{} is one for all trials of a sweep and cannot be changed "
                                       "for those that are added; submit another sweep instead",
                                       key));
  }
}

void check_open(const SweepState& sweep) {
  const bool ending = sweep.cancel || !sweep.stopped.empty();
  if (sweep.phase == SweepPhase::active && ending)
    throw HttpError(409, fmt::format("sweep {} is being ended ({}): extend it when it has ended",
                                     sweep.id, sweep.cancel ? "cancelled" : sweep.stopped));
}

}  // namespace

awaitable<Response> post_extend(App& app, const Request& request) {
  const auto asked = body_of<api::ExtendRequest>(request);
  const jobspec::Id id = parse_id(asked.id);
  if (id.trial != 0) throw HttpError(400, asked.id + " is not the id of a sweep");
  check_open(known_sweep(app, id.sweep));
  const auto schema = co_await engine_schema(app);
  const auto find = [id](db::ReadStore& store) { return read_known(store, id.sweep); };
  const auto known = co_await app.reader.run(find);
  const std::string name = fmt::format("sweep {}, extended", id.sweep);
  check_kept(known->row.text, asked.text, name);
  const auto work = [known, name, schema, id, text = asked.text, site = site_limits(app.config),
                     directory = known_sweep(app, id.sweep).directory] {
    ParsedSweep result;
    result.sweep = jobspec::parse_sweep(text, name, *schema, site);
    result.sweep.directory = directory;
    result.sweep.name = known->row.name;
    const jobspec::Expansion all = jobspec::expand(result.sweep, *schema);
    try {
      result.expansion.trials = missing_trials(all, known->trials);
    } catch (const std::invalid_argument& error) {
      throw HttpError(400, fmt::format("sweep {}: {}; `thalweg submit` and `rerun` make a sweep of "
                                       "its own",
                                       id.sweep, error.what()));
    }
    result.expansion.duplicates = all.duplicates;
    return result;
  };
  ParsedSweep parsed = co_await app.parsing.run(work);
  const auto& missing = parsed.expansion.trials;
  const std::string backend = known->row.backend;
  std::vector<api::ForecastMessage> expected;
  if (!missing.empty()) {
    co_await ask_engine(app, asked.text, known->environment, backend, parsed.sweep);
    expected = co_await forecasts(app, parsed.sweep, parsed.expansion, backend);
  }
  if (asked.dry_run.value_or(false) && !missing.empty()) {
    api::DryRunAnswer answer = dry_run(app, parsed, backend);
    answer.forecasts = std::move(expected);
    co_return json_response(api::to_json(answer));
  }
  const SweepState& sweep = known_sweep(app, id.sweep);
  check_open(sweep);
  if (sweep.trials.size() != known->trials.size())
    throw HttpError(409, fmt::format("sweep {} was extended by somebody else just now: look at it, "
                                     "then try again",
                                     id.sweep));
  if (!missing.empty())
    app.controller.extend(id.sweep, missing, parsed.sweep.limits, asked.text, asked.changes,
                          user_name(request.user));
  api::ExtensionAnswer answer;
  static_cast<api::AboutSubmission&>(answer) = about_submission(parsed, backend);
  std::set<std::int64_t> configurations;
  for (const auto& trial : missing) {
    answer.new_trials.push_back(fmt::format("{}.{}", id.sweep, trial.number));
    configurations.insert(trial.configuration);
  }
  answer.configurations = static_cast<std::int64_t>(configurations.size());
  answer.id = std::to_string(id.sweep);
  answer.trials = static_cast<std::int64_t>(sweep.trials.size());
  co_return json_response(api::to_json(answer));
}

}  // namespace thalweg::daemon
