// POST /v1/sweeps: from a sweep file to trials, and the engine's schema that it is checked against.
#include <algorithm>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "daemon/api/engine_check.h"
#include "daemon/api/messages.h"
#include "daemon/api/program.h"
#include "daemon/backend/environment.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/forecast.h"
#include "daemon/server/params.h"
#include "daemon/state/resources.h"
#include "jobspec/cost.h"

namespace thalweg::daemon {

using boost::asio::awaitable;
using nlohmann::json;

namespace {

constexpr double schema_timeout_s = 20;

std::shared_ptr<const jobspec::Schema> ask_engine(const std::string& name) {
  const auto program = api::find_program(name);
  if (program.empty())
    throw HttpError(
        503, name + " is neither beside thalwegd nor in PATH; sweeps cannot be checked without it");
  api::ProgramOutput output;
  try {
    output = api::run_program({program.string(), "--schema"}, schema_timeout_s);
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
  const std::string near = jobspec::nearest(wanted, known);
  throw HttpError(
      400, fmt::format("there is no backend '{}', expected auto, {}{}", wanted,
                       fmt::join(known, ", "), near.empty() ? "" : "; did you mean " + near + "?"));
}

struct Parsed {
  jobspec::Sweep sweep;
  jobspec::Expansion expansion;
};

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
std::vector<std::string> environment_of(const Config& config, const json& body,
                                        const jobspec::Sweep& sweep) {
  std::vector<std::string> entries = job_environment(texts_of(body, "environment"));
  if (!sweep.environment.empty()) {
    if (!body.contains("environment")) entries = job_environment(own_environment());
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

/// What the engine itself says of the trials. Throws jobspec::InputError with what is wrong with
/// them. A check that fails holds no sweep back: it is noted.
awaitable<void> ask_engine(App& app, const std::string& text,
                           const std::vector<std::string>& environment, const std::string& backend,
                           jobspec::Sweep& sweep) {
  api::CheckRequest request;
  request.program = api::find_program(app.config.local.engine_program);
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
  const auto work = [request] { return api::check_sweep(request); };
  const api::EngineCheck check = co_await app.checks.run(work);
  api::apply_check(check, sweep);
}

json dry_run(const App& app, const Parsed& parsed, const std::string& backend) {
  json trials = json::array();
  int nodes = 0;
  for (const auto& trial : parsed.expansion.trials) {
    const jobspec::Resources& r = trial.resources;
    trials.push_back({{"id", "." + std::to_string(trial.number)},
                      {"seed", trial.seed},
                      {"parameters", api::value_json(trial.parameters)},
                      {"resources", resources_json(r)}});
    nodes = std::max(nodes, r.nodes);
  }
  json result{{"trials", std::move(trials)},
              {"nodes_per_job", nodes},
              {"most_node_hours", jobspec::most_node_hours(parsed.expansion)},
              {"cost", jobspec::describe_cost(parsed.sweep, parsed.expansion)}};
  const LaunchRequest first = example_request(app, parsed.sweep, parsed.expansion.trials.front());
  if (std::string script = app.controller.script(backend, first); !script.empty())
    result["script"] = std::move(script);
  return result;
}

}  // namespace

awaitable<std::shared_ptr<const jobspec::Schema>> engine_schema(App& app) {
  if (!app.schema) {
    const std::string program = app.config.local.engine_program;
    const auto work = [program] { return ask_engine(program); };
    app.schema = co_await app.parsing.run(work);
  }
  co_return app.schema;
}

awaitable<Response> get_schema(App& app, const Request&) {
  const auto schema = co_await engine_schema(app);
  co_return json_response(json::parse(schema->to_json()));
}

awaitable<Response> post_sweep(App& app, const Request& request) {
  const json body = body_object(request);
  const std::string text = text_of(body, "text"), file = text_of(body, "file_name", "sweep.yaml"),
                    directory = text_of(body, "directory", "");
  const std::string backend = co_await choose_backend(app, text_of(body, "backend", "auto"));
  const auto schema = co_await engine_schema(app);
  const jobspec::SiteLimits site = site_limits(app.config);
  const auto work = [=] {
    Parsed result;
    result.sweep = jobspec::parse_sweep(text, file, *schema, site);
    result.sweep.directory = directory;
    result.expansion = jobspec::expand(result.sweep, *schema);
    return result;
  };
  Parsed parsed = co_await app.parsing.run(work);
  if (parsed.expansion.trials.empty()) throw HttpError(400, file + ": the sweep has no trials");
  const auto environment = environment_of(app.config, body, parsed.sweep);
  if (const std::string misfit = environment_misfit(environment); !misfit.empty())
    throw HttpError(400, misfit);
  const bool only_look = body.value("dry_run", false);
  if (!only_look || !body.value("checked", false))
    co_await ask_engine(app, text, environment, backend, parsed.sweep);
  note_ignored(parsed.sweep, site, backend);
  json expected = co_await forecasts(app, parsed.sweep, parsed.expansion, backend);
  json result = only_look ? dry_run(app, parsed, backend) : json::object();
  if (only_look) result["forecasts"] = std::move(expected);
  Submitted submitted;
  if (only_look) {
    submitted.duplicates = parsed.expansion.duplicates;
    for (const auto& trial : parsed.expansion.trials)
      submitted.configurations = std::max(submitted.configurations, trial.configuration);
  } else {
    submitted = app.controller.submit(parsed.sweep, parsed.expansion, text, file, backend,
                                      user_name(request.user), environment);
    result["id"] = std::to_string(submitted.id);
    result["trials"] = submitted.trials;
  }
  result["name"] = parsed.sweep.name;
  result["configurations"] = submitted.configurations;
  result["duplicates"] = submitted.duplicates;
  result["backend"] = backend;
  result["notes"] = parsed.sweep.notes;
  result["metric"] = metric_json(parsed.sweep.metric);
  co_return json_response(result);
}

}  // namespace thalweg::daemon
