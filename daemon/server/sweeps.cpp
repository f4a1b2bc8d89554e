// POST /v1/sweeps: from a sweep file to trials, and the engine's schema that it is checked against.
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "base/machine.h"
#include "base/process.h"
#include "base/text.h"
#include "daemon/api/engine_check.h"
#include "daemon/api/messages.h"
#include "daemon/api/program_check.h"
#include "daemon/auth/sha256.h"
#include "daemon/backend/environment.h"
#include "daemon/controller/init_from.h"
#include "daemon/controller/log.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/forecast.h"
#include "daemon/server/names.h"
#include "daemon/server/params.h"
#include "daemon/server/submission.h"
#include "daemon/state/resources.h"
#include "jobspec/cancellation.h"
#include "jobspec/cost.h"
#include "jobspec/schema.h"
#include "jobspec/table.h"

namespace thalweg::daemon {

using boost::asio::awaitable;
using nlohmann::json;

namespace {

constexpr double schema_timeout_s = 20;

std::shared_ptr<const jobspec::Schema> ask_engine(const std::string& name) {
  const auto program = find_program(name);
  if (program.empty())
    throw HttpError(
        503, name + " is neither beside thalwegd nor in PATH; sweeps cannot be checked without it");
  ProgramOutput output;
  try {
    output = run_program({program.string(), "--schema"}, schema_timeout_s);
  } catch (const std::system_error& error) {
    throw HttpError(503, error.what());
  }
  if (output.code != 0)
    throw HttpError(
        503, fmt::format("{} --schema {}: {}", program.string(),
                         output.timed_out ? "does not end" : "failed", output.err.substr(0, 1000)));
  try {
    return std::make_shared<const jobspec::Schema>(jobspec::Schema::from_json(output.out));
  } catch (const std::exception& error) {
    throw HttpError(503, program.string() + " --schema: " + error.what());
  }
}

/// The backend asked for; `auto` is the configured one, or the first that is there.
awaitable<std::string> choose_backend(App& app, std::string wanted) {
  const auto known = app.controller.backends();
  if (wanted == "auto") wanted = app.config.backend;
  if (wanted == "auto") {
    for (const auto& name : known) {
      std::optional<std::string> description = app.controller.description(name);
      if (!description) description = co_await app.controller.describe(name);
      if (!description->empty()) co_return name;
    }
    throw HttpError(503, "no backend is there");
  }
  for (const auto& name : known)
    if (name == wanted) co_return name;
  throw HttpError(400, fmt::format("there is no backend '{}' among auto, {}{}", wanted,
                                   fmt::join(known, ", "), jobspec::suggestion(wanted, known)));
}

/// What the file says about Slurm means nothing elsewhere; that may be meant (a trial run at home),
/// but not unknown.
void note_ignored(jobspec::Sweep& sweep, const jobspec::SiteLimits& site,
                  const std::string& backend) {
  if (backend == "slurm") return;
  const auto own = [](jobspec::SlurmOptions options) {
    options.signal_before_end_s = 0;  // holds everywhere
    return jobspec::write_slurm(options);
  };
  const jobspec::Value given = own(sweep.slurm), defaults = own(site.slurm);
  std::string keys;
  for (const auto& [key, value] : given.as_map()) {
    const jobspec::Value* usual = defaults.find(key);
    if (usual == nullptr || !(*usual == value)) keys += (keys.empty() ? "" : ", ") + key;
  }
  if (!keys.empty())
    sweep.notes.push_back(
        fmt::format("slurm ({}): ignored, the backend {} is not Slurm", keys, backend));
}

/// What the sweep's attempts start with: what the submitter sent, changed by the file's `env`.
/// Empty = the controller's own at that time, where nobody says anything.
std::vector<std::string> environment_of(const Config& config, const api::SweepRequest& asked,
                                        const jobspec::Sweep& sweep) {
  std::vector<std::string> entries =
      job_environment(asked.environment.value_or(std::vector<std::string>()));
  if (config.site.enabled) entries = chosen_entries(std::move(entries), config.site.environment);
  if (!sweep.environment.empty()) {
    if (!asked.environment && !config.site.enabled) entries = job_environment(own_environment());
    entries = with_changes(std::move(entries), sweep.environment);
  }
  if (entries.empty() || config.data.empty()) return entries;
  const std::string name = "THALWEG_DATA";
  const bool given = std::any_of(entries.begin(), entries.end(), [&](const std::string& entry) {
    return entry.starts_with(name + "=");
  });
  if (given && config.enforced.count("data") == 0) return entries;
  return with_changes(std::move(entries), {{name, config.data}});
}

}  // namespace

awaitable<void> ask_engine(App& app, const std::string& text,
                           const std::vector<std::string>& environment, const std::string& backend,
                           ParsedSweep& parsed) {
  jobspec::Sweep& sweep = parsed.sweep;
  if (app.config.site.enabled) {
    // It opens what the file names, which is to be done with the user's rights, not with ours.
    sweep.notes.push_back(
        "only the keys were checked, not whether the trials can run: `thalweg validate` does that");
    co_return;
  }
  if (sweep.program) {
    const api::ProgramCheckRequest wanted{environment, backend != "local"};
    const auto look = [&] {
      api::check_program(wanted, parsed.expansion, sweep);
      return true;
    };
    co_await app.checks.run(look);
    co_return;
  }
  api::CheckRequest request;
  request.program = find_program(app.config.local.engine_program);
  if (request.program.empty()) {
    sweep.notes.push_back("only the keys were checked, not whether the trials can run: " +
                          app.config.local.engine_program + " is not here");
    co_return;
  }
  request.text = text;
  request.directory = sweep.directory;
  request.environment = environment;
  request.file_name = sweep.file;
  request.elsewhere = backend != "local";
  request.max_nodes = app.config.max_nodes_per_job;
  request.gpu_memory_mib = app.config.gpu_memory_mib;
  const auto work = [request] { return api::check_sweep(request); };
  const api::EngineCheck check = co_await app.checks.run(work);
  api::apply_check(check, sweep);
}

namespace {

struct TrialsLeft {
  std::int64_t count = 0;
  std::string why;  ///< "site.quotas.user.trials = 100, of which bob has 60 open; ..."
};

/// That this user may have open besides; nothing = no limit.
std::optional<TrialsLeft> trials_left(const App& app, const std::string& user) {
  if (!app.config.site.enabled) return {};
  const Quotas& quotas = app.config.policy.quotas;
  const QuotaOf of = quota_of_user(quotas, user);
  if (of.quota.trials == 0) return {};
  const std::int64_t open = Ledger(app.controller.state(), quotas, 0).trials_of_user(user);
  return TrialsLeft{std::max<std::int64_t>(of.quota.trials - open, 0),
                    fmt::format("{}.trials = {}, of which {} has {} open; wait for some to end or "
                                "`thalweg cancel` them, or ask the site's operators for more",
                                of.setting, of.quota.trials, user, open)};
}

}  // namespace

jobspec::SiteLimits limits_of(const App& app, const Request& request, std::int64_t there) {
  jobspec::SiteLimits limits = site_limits(app.config);
  const auto left = trials_left(app, user_name(request.user));
  if (!left || there + left->count >= limits.max_trials) return limits;
  limits.max_trials = there + left->count;
  limits.max_trials_from = " (" + left->why + ")";
  return limits;
}

void require_fits_trials(const App& app, const std::string& user, std::size_t more) {
  const auto left = trials_left(app, user);
  if (left && static_cast<std::int64_t>(more) > left->count)
    throw HttpError(400, fmt::format("{} more would be more than the {} that are left ({})",
                                     count_of(static_cast<std::int64_t>(more), "trial"),
                                     left->count, left->why));
}

void require_time_left(const jobspec::Limits& limits, const std::string& sweep) {
  if (limits.deadline > 0 && limits.deadline <= unix_now())
    throw HttpError(400, sweep + ": limits.deadline has passed, nothing would run");
}

/// What would wait for ever.
void require_fits_quotas(const App& app, const Request& request, const ParsedSweep& parsed) {
  if (!app.config.site.enabled) return;
  const Quotas& quotas = app.config.policy.quotas;
  std::vector<QuotaOf> all{quota_of_user(quotas, user_name(request.user))};
  if (const std::string account = parsed.sweep.slurm.option("account"); !account.empty())
    all.push_back(quota_of_account(quotas, account));
  for (const QuotaOf& of : all)
    for (const auto& trial : parsed.expansion.trials)
      if (of.quota.max_nodes > 0 && trial.resources.required_nodes() > of.quota.max_nodes)
        throw HttpError(
            400, fmt::format("trial {} needs {}, and {} has {} on this site "
                             "({}.max_nodes)",
                             trial.number, count_of(trial.resources.required_nodes(), "node"),
                             of.name, of.quota.max_nodes, of.setting));
}

api::AboutSubmission about_submission(const ParsedSweep& parsed, const std::string& backend) {
  api::AboutSubmission about;
  about.name = parsed.sweep.name;
  about.backend = backend;
  for (const auto& trial : parsed.expansion.trials)
    about.configurations = std::max(about.configurations, trial.configuration);
  about.duplicates = parsed.expansion.duplicates;
  about.notes = parsed.sweep.notes;
  if (const auto& plan = parsed.expansion.seed_plan)
    about.notes.push_back("seeds: " + jobspec::describe(*plan));
  about.metric = metric_json(parsed.sweep.metric);
  return about;
}

ParsedSweep parse_in_time(const Turns::Time& time, const std::function<ParsedSweep()>& work) {
  try {
    const jobspec::Cancellation cancellation([&time] { return time.over(); });
    return work();
  } catch (const jobspec::GivenUp&) {
    throw HttpError(503,
                    "checking the sweep file was abandoned, since it has very many combinations "
                    "and other users are waiting: try again later, or with fewer; `thalweg "
                    "validate` takes as long as it needs");
  }
}

/// Of many trials it takes long: put together where nobody waits for it.
awaitable<Response> dry_run(App& app, const Request& request, ParsedSweep parsed,
                            const std::string& backend,
                            std::vector<api::ForecastMessage> forecasts) {
  const LaunchRequest first = example_request(app, parsed.sweep, parsed.expansion.trials.front());
  const auto work = [all = std::make_shared<const ParsedSweep>(std::move(parsed)), backend,
                     script = app.controller.script(backend, first), prices = app.config.prices,
                     forecasts = std::move(forecasts)] {
    api::DryRunAnswer answer;
    static_cast<api::AboutSubmission&>(answer) = about_submission(*all, backend);
    for (const auto& trial : all->expansion.trials) {
      const jobspec::Resources& r = trial.resources;
      answer.trials.push_back({"." + std::to_string(trial.number), trial.seed,
                               api::value_json(trial.parameters), resources_json(r)});
      answer.nodes_per_job = std::max(answer.nodes_per_job, r.nodes);
    }
    answer.max_node_hours = jobspec::max_node_hours(all->expansion);
    answer.cost = jobspec::describe_cost(all->sweep, all->expansion, prices);
    if (!script.empty()) answer.script = script;
    answer.forecasts = forecasts;
    return json_response(api::to_json(answer));
  };
  co_return co_await app.parsing.run(request.user, work);
}

awaitable<std::shared_ptr<const jobspec::Schema>> engine_schema(App& app) {
  if (!app.schema) {
    const std::string program = app.config.local.engine_program;
    const auto work = [program] { return ask_engine(program); };
    app.schema = co_await app.parsing.run(geteuid(), work);
  }
  co_return app.schema;
}

awaitable<std::shared_ptr<const jobspec::Schema>> schema_for(App& app, const std::string& text,
                                                             uid_t user) {
  std::exception_ptr missing;
  try {
    co_return co_await engine_schema(app);
  } catch (const HttpError&) {
    missing = std::current_exception();
  }
  const auto look = [&text] { return jobspec::runs_program(text); };
  if (co_await app.parsing.run(user, look))
    co_return std::shared_ptr<const jobspec::Schema>(std::shared_ptr<void>(),
                                                     &jobspec::open_schema());
  std::rethrow_exception(missing);
}

awaitable<void> require_sources(App& app, const Request& request, const ParsedSweep& parsed) {
  const auto look = [&parsed, visible = own_sweeps(app, request)](db::ReadStore& store) {
    require_sources(store, parsed.sweep, parsed.expansion, visible);
    return true;
  };
  co_await app.reader.run(request.user, look);
}

awaitable<Response> get_schema(App& app, const Request&) {
  const auto schema = co_await engine_schema(app);
  co_return json_response(json::parse(schema->to_json()));
}

namespace {

/// Names become numbers.
awaitable<void> resolve_after(App& app, const Request& request, jobspec::Sweep& sweep) {
  for (std::string& text : sweep.after) {
    const ResolvedName found = co_await resolve_name(app, request, text, NameUse::act);
    const std::string hint = found.hint.empty() ? "" : " (" + found.hint + ")";
    if (!found.id) throw HttpError(400, sweep.file + ": after: " + found.problem + hint);
    const auto& sweeps = app.controller.state().sweeps;
    const auto other = sweeps.find(found.id->sweep);
    if (other == sweeps.end() || !Sight(app, request).of(other->second) || found.id->trial != 0)
      throw HttpError(400, fmt::format("{}: after: there is no sweep {}", sweep.file, text));
    text = std::to_string(found.id->sweep);
  }
}

/// The user's own word for his sweep, as the agent takes it. Throws HttpError.
awaitable<std::optional<Owner>> owner_of(App& app, const Request& request,
                                         const api::SweepRequest& asked,
                                         const std::string& backend) {
  if (!app.config.site.enabled) co_return std::nullopt;
  if (!asked.credential)
    throw HttpError(400,
                    "this controller runs jobs under their users' names and needs a MUNGE "
                    "credential with a sweep; `thalweg submit` sends one");
  const std::string digest = auth::sha256(asked.text);
  const Authorization word = co_await app.controller.authorize(backend, *asked.credential, digest);
  if (!word.identity) {
    log::refused(fmt::format("sweep of uid {}", request.user),
                 fmt::format("a sweep of {} (uid {}): {}", user_name(request.user), request.user,
                             word.message));
    throw HttpError(word.retry ? 503 : 403, word.message);
  }
  const Owner owner{word.identity->uid, word.gid, word.user, word.identity->grant};
  if (owner.uid == request.user) co_return owner;
  co_await app.controller.revoke(backend, owner.grant);
  log::refused(fmt::format("credential of uid {}", request.user),
               fmt::format("{} (uid {}) handed in a credential of uid {}", user_name(request.user),
                           request.user, owner.uid));
  throw HttpError(403, "the credential is another user's");
}

}  // namespace

awaitable<Response> post_sweep(App& app, const Request& request) {
  const auto asked = body_of<api::SweepRequest>(request);
  const std::string backend = co_await choose_backend(app, asked.backend);
  const auto schema = co_await schema_for(app, asked.text, request.user);
  const jobspec::SiteLimits site = limits_of(app, request);
  const auto parse = [=] {
    ParsedSweep result;
    result.sweep = jobspec::parse_sweep(asked.text, asked.file_name, *schema, site);
    result.sweep.directory = asked.directory;
    result.expansion = jobspec::expand(result.sweep, *schema);
    return result;
  };
  const auto work = [parse](const Turns::Time& time) { return parse_in_time(time, parse); };
  ParsedSweep parsed = co_await app.parsing.run(request.user, work);
  if (parsed.expansion.trials.empty())
    throw HttpError(400, asked.file_name + ": the sweep has no trials");
  require_time_left(parsed.sweep.limits, asked.file_name);
  co_await resolve_after(app, request, parsed.sweep);
  require_fits_quotas(app, request, parsed);
  require_fits_trials(app, user_name(request.user), parsed.expansion.trials.size());
  co_await require_sources(app, request, parsed);
  const auto environment = environment_of(app.config, asked, parsed.sweep);
  if (const std::string mismatch = environment_misfit(environment); !mismatch.empty())
    throw HttpError(400, mismatch);
  const bool only_look = asked.dry_run.value_or(false);
  if (!only_look || !asked.checked.value_or(false))
    co_await ask_engine(app, asked.text, environment, backend, parsed);
  note_ignored(parsed.sweep, site, backend);
  if (only_look) {
    auto expected = co_await forecasts(app, parsed.sweep, parsed.expansion, backend, {});
    co_return co_await dry_run(app, request, std::move(parsed), backend, std::move(expected));
  }
  const auto owner = co_await owner_of(app, request, asked, backend);
  std::exception_ptr failed;
  Response response;
  try {
    co_await forecasts(app, parsed.sweep, parsed.expansion, backend, owner);  // could it ever run?
    require_fits_trials(app, user_name(request.user), parsed.expansion.trials.size());  // still
    const Submitted submitted =
        app.controller.submit(parsed.sweep, parsed.expansion, asked.text, asked.file_name, backend,
                              user_name(request.user), environment, owner);
    const api::SubmissionAnswer answer{about_submission(parsed, backend),
                                       std::to_string(submitted.id), submitted.trials};
    response = json_response(api::to_json(answer));
  } catch (...) {
    failed = std::current_exception();
  }
  if (failed && owner) co_await app.controller.revoke(backend, owner->grant);
  if (failed) std::rethrow_exception(failed);
  co_return response;
}

}  // namespace thalweg::daemon
