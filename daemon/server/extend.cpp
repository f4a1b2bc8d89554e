// POST /v1/extend: trials added to a sweep that is there. The client sends the sweep file as it is
// now wanted; what it gives beyond the trials that are there runs. So a sweep that was extended is
// the same as one whose file said so from the start.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/machine.h"
#include "daemon/controller/extension.h"
#include "daemon/server/access.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/forecast.h"
#include "daemon/server/params.h"
#include "daemon/server/submission.h"
#include "daemon/state/events.h"
#include "jobspec/schema.h"
#include "jobspec/search/search.h"
#include "jobspec/value.h"

namespace thalweg::daemon {

using boost::asio::awaitable;
using nlohmann::json;

namespace {

/// What the record has of the sweep.
struct RecordedSweep {
  db::SweepRow row;
  std::vector<db::TrialRow> trials;
  std::vector<std::string> environment;
};

std::shared_ptr<const RecordedSweep> read_recorded(db::ReadStore& store, std::int64_t id) {
  const auto row = store.sweep(id);
  if (!row) throw HttpError(404, "there is no sweep " + std::to_string(id));
  RecordedSweep known{*row, store.trials(id), {}};
  if (const auto entries = store.environment(id))
    known.environment = json::parse(*entries).get<std::vector<std::string>>();
  return std::make_shared<const RecordedSweep>(std::move(known));
}

/// Winners were chosen among the draws that there were: only more fresh seeds of them can be
/// wanted.
void check_study(const jobspec::Value& old, const jobspec::Value& now) {
  const auto without_seeds = [](const jobspec::Value& file) {
    const jobspec::Value* const study = file.find("study");
    jobspec::Map kept = study && study->is_map() ? study->as_map() : jobspec::Map();
    std::erase_if(kept, [](const auto& entry) { return entry.first == "final_seeds"; });
    return jobspec::Value(kept);
  };
  if (without_seeds(old) != without_seeds(now))
    throw HttpError(400,
                    "of study only final_seeds can be raised: the best draws were chosen among the "
                    "existing ones; submit a new study instead");
}

/// All trials of a sweep are judged and run alike.
void check_kept(const std::string& before, const std::string& after, const std::string& name) {
  const jobspec::Value old = jobspec::read_yaml(before, name);
  const jobspec::Value now = jobspec::read_yaml(after, name);
  std::vector<std::string_view> keys{"name", "after", "metric", "slurm", "env", "method"};
  check_study(old, now);
  if (jobspec::has_seed_looks(old) || jobspec::has_seed_looks(now))
    throw HttpError(400,
                    "looks at seeds are fixed before a sweep starts, since later ones would claim "
                    "too much: neither trials nor looks can be added; submit a new sweep instead");
  if (old.find("study"))
    keys.insert(keys.end(),
                {"parameters", "train", "config", "seeds", "seed", "zip", "when", "constraint"});
  // What was chosen by results is not what the file gives: only more of it can be wanted.
  if (const jobspec::SearchMethod* method = jobspec::learning_method(old))
    keys.insert(keys.end(), {"parameters", "train", "config", "seeds", "seed", "zip", "when",
                             "constraint", method->name});
  const jobspec::Value* const name_of_method = old.find("method");
  if (name_of_method && name_of_method->is_string())
    if (const auto* method = jobspec::search_methods().find(name_of_method->as_string());
        method && method->promotes != jobspec::Promotes::no)
      keys.insert(keys.end(), {"train", "seeds", method->name});
  for (const std::string_view key : keys) {
    const jobspec::Value *was = old.find(key), *is = now.find(key);
    const bool same = (was == nullptr) == (is == nullptr) && (was == nullptr || *was == *is);
    if (!same)
      throw HttpError(400, fmt::format("{} is one for all trials of a sweep and cannot be changed "
                                       "for those that are added; submit another sweep instead",
                                       key));
  }
}

void check_open(const SweepState& sweep, bool longer) {
  const bool active = sweep.phase == SweepPhase::active;
  const bool ending = sweep.cancel || !sweep.stopped.empty();
  if (active && ending)
    throw HttpError(409, fmt::format("sweep {} is being ended ({}): extend it when it has ended",
                                     sweep.id, sweep.cancel ? "cancelled" : sweep.stopped));
  if (active && longer)
    throw HttpError(409,
                    fmt::format("sweep {} has not ended: its trials can be trained longer when "
                                "all of them have",
                                sweep.id));
}

/// The sweep as it would be.
struct Extended {
  ParsedSweep parsed;  ///< with the missing trials only
  std::vector<db::TrialRow> lengthened;
};

struct ExtendWork {
  std::shared_ptr<const RecordedSweep> known;
  std::shared_ptr<const jobspec::Schema> schema;
  jobspec::SiteLimits site;
  api::ExtendRequest asked;
  std::string directory, name;

  ParsedSweep parse() const {
    ParsedSweep parsed;
    parsed.sweep = jobspec::parse_sweep(asked.text, name, *schema, site);
    parsed.sweep.directory = directory;
    parsed.sweep.name = known->row.name;
    parsed.expansion = jobspec::expand(parsed.sweep, *schema);
    return parsed;
  }
  Extended operator()(const Turns::Time& time) const {
    Extended result;
    result.parsed = parse_in_time(time, [this] { return parse(); });
    const jobspec::Sweep& sweep = result.parsed.sweep;
    const jobspec::Expansion all = std::move(result.parsed.expansion);
    result.parsed.expansion = {};
    result.parsed.expansion.duplicates = all.duplicates;
    if (sweep.promotion && (asked.epochs || asked.steps))
      throw HttpError(400, fmt::format("the rungs of {} are parts of a trial's length: submit a "
                                       "sweep with the other length instead",
                                       jobspec::in_words(*sweep.method)));
    try {
      std::vector<db::TrialRow> there = known->trials;
      if (asked.epochs) there = lengthened(std::move(there), "epochs", *asked.epochs, *schema);
      if (asked.steps) there = lengthened(std::move(there), "steps", *asked.steps, *schema);
      result.parsed.expansion.trials = missing_trials(all, there, sweep.learning.has_value());
      if (asked.epochs || asked.steps) result.lengthened = std::move(there);
    } catch (const std::invalid_argument& error) {
      throw HttpError(400, fmt::format("sweep {}: {}", known->row.id, error.what()));
    }
    return result;
  }
};

/// Trials that have finished and are open again.
std::size_t going_on(const Extended& extended) {
  const auto& rows = extended.lengthened;
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [](const auto& row) { return row.state == TrialPhase::finished; }));
}

api::ExtensionAnswer answer_of(const Extended& extended, const RecordedSweep& known) {
  api::ExtensionAnswer answer;
  static_cast<api::AboutSubmission&>(answer) = about_submission(extended.parsed, known.row.backend);
  const auto& missing = extended.parsed.expansion.trials;
  std::set<std::int64_t> configurations;
  for (const auto& trial : missing) {
    answer.new_trials.push_back(fmt::format("{}.{}", known.row.id, trial.number));
    configurations.insert(trial.configuration);
  }
  answer.going_on = static_cast<std::int64_t>(going_on(extended));
  answer.configurations = static_cast<std::int64_t>(configurations.size());
  answer.id = std::to_string(known.row.id);
  answer.trials = static_cast<std::int64_t>(known.trials.size() + missing.size());
  return answer;
}

}  // namespace

awaitable<Response> post_extend(App& app, const Request& request) {
  const auto asked = body_of<api::ExtendRequest>(request);
  const jobspec::Id id = parse_id(asked.id);
  if (id.trial != 0) throw HttpError(400, asked.id + " is not the id of a sweep");
  const bool longer = asked.epochs || asked.steps, only_look = asked.dry_run.value_or(false);
  require_runnable(known_sweep(app, request, id.sweep), "extended");
  check_open(known_sweep(app, request, id.sweep), longer);
  // Not even an operator says what runs under another's name.
  if (app.config.site.enabled && !Sight(app, request).owns(known_sweep(app, request, id.sweep)))
    throw HttpError(403, fmt::format("sweep {} can be extended by its owner alone", id.sweep));
  const auto find = [id](db::ReadStore& store) { return read_recorded(store, id.sweep); };
  const auto known = co_await app.reader.run(request.user, find);
  const auto schema = co_await schema_for(app, known->row.text, request.user);
  const std::string name = fmt::format("sweep {}, extended", id.sweep);
  check_kept(known->row.text, asked.text, name);
  const ExtendWork work{known,
                        schema,
                        limits_of(app, request, static_cast<std::int64_t>(known->trials.size())),
                        asked,
                        known_sweep(app, request, id.sweep).directory,
                        name};
  Extended extended = co_await app.parsing.run(request.user, work);
  const auto& missing = extended.parsed.expansion.trials;
  const std::size_t opened = missing.size() + going_on(extended);
  require_fits_trials(app, user_name(request.user), opened);
  const bool runs = !missing.empty() || !extended.lengthened.empty();
  using LimitsJson = api::JsonOf<jobspec::Limits>;
  const bool limits = LimitsJson::write(extended.parsed.sweep.limits) !=
                      LimitsJson::write(known_sweep(app, request, id.sweep).limits);
  if (runs || limits) require_time_left(extended.parsed.sweep.limits, name);
  if (runs)
    co_await ask_engine(app, asked.text, known->environment, known->row.backend, extended.parsed);
  if (!missing.empty()) {
    require_fits_quotas(app, request, extended.parsed);
    co_await require_sources(app, request, extended.parsed);
    auto expected =
        co_await forecasts(app, extended.parsed.sweep, extended.parsed.expansion,
                           known->row.backend, known_sweep(app, request, id.sweep).owner);
    if (only_look) {
      co_return co_await dry_run(app, request, std::move(extended.parsed), known->row.backend,
                                 std::move(expected));
    }
  }
  const SweepState& sweep = known_sweep(app, request, id.sweep);
  check_open(sweep, longer);
  if (sweep.trials.size() != known->trials.size())
    throw HttpError(
        409,
        fmt::format("sweep {} was just extended by another command: look at it, then try again",
                    id.sweep));
  require_fits_trials(app, user_name(request.user), opened);  // still
  if ((runs || limits) && !only_look)
    app.controller.extend({id.sweep, missing, extended.lengthened, extended.parsed.sweep.limits,
                           extended.parsed.sweep.keep, asked.text, asked.changes,
                           user_name(request.user)});
  api::ExtensionAnswer answer = answer_of(extended, *known);
  answer.limits_changed = limits;
  co_return json_response(api::to_json(answer));
}

}  // namespace thalweg::daemon
