// thalweg validate: check sweep files without a controller, their trials by the engine.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/process.h"
#include "cli/commands/advice.h"
#include "cli/commands/submission.h"
#include "cli/commands/table.h"
#include "cli/output/text.h"
#include "cli/schema_source.h"
#include "daemon/api/client.h"
#include "daemon/api/engine_check.h"
#include "daemon/api/program_check.h"
#include "jobspec/axis.h"
#include "jobspec/cost.h"
#include "jobspec/paths.h"
#include "jobspec/schema.h"
#include "jobspec/sweep.h"

namespace thalweg::cli {
namespace {

namespace api = daemon::api;
using jobspec::advise::Advice;
using jobspec::advise::Verdict;

struct ValidateOptions {
  std::vector<std::string> files;
  std::string backend = "auto";
  Format format;
};

Json json_of(const jobspec::Diagnostic& diagnostic) {
  return {{"file", diagnostic.file},           {"line", diagnostic.place.line},
          {"column", diagnostic.place.column}, {"key", diagnostic.key},
          {"message", diagnostic.message},     {"hint", diagnostic.hint}};
}

/// What the engine says of trials that jobspec finds nothing wrong with. Throws
/// jobspec::InputError with what is wrong with them.
std::vector<api::PlannedShape> ask_engine(const ValidateOptions& options, const std::string& text,
                                          const jobspec::SiteLimits& limits, jobspec::Sweep& sweep,
                                          Json& result) {
  const auto program = find_program("thalweg-train");
  if (program.empty()) {
    sweep.notes.emplace_back(
        "only the keys were checked, not whether the trials can run: thalweg-train is not here");
    return {};
  }
  api::CheckRequest request;
  request.program = program;
  request.text = text;
  request.file_name = sweep.file;
  request.directory = sweep.directory;
  request.max_nodes = limits.max_nodes_per_job;
  request.gpu_memory_mib = limits.gpu_memory_mib;
  request.elsewhere = is_for_slurm(options.backend, sweep);
  api::EngineCheck check = api::check_sweep(request);
  result["check"] = api::check_json(check);
  api::apply_check(check, sweep);
  return std::move(check.planned);
}

/// What slurmctld says of them, or the local backend, through a controller that runs; none is
/// started for it.
void ask_backend(Context& context, const std::string& backend, const std::string& text,
                 jobspec::Sweep& sweep, Json& result) {
  const auto not_asked = [&](const std::string& why) {
    if (is_for_slurm(backend, sweep))
      sweep.notes.push_back("Slurm was not asked whether it could run the trials" + why);
  };
  try {
    const std::string asked = is_for_slurm(backend, sweep) ? "slurm" : backend;
    const Json answer = context.controller_if_any().post(
        "/v1/sweeps", sweep_request({sweep.file, asked}, text, Purpose::forecast));
    result["forecasts"] = list_at(answer, "forecasts");
  } catch (const api::Unreachable&) {
    not_asked(", since no controller runs; thalweg submit --dry-run starts one and asks");
  } catch (const api::ApiError& error) {
    if (error.status() == 400) throw jobspec::InputError({{sweep.file, {}, "", error.what(), ""}});
    not_asked(std::string(": ") + error.what());
  }
}

/// The controller alone knows how many GPUs and how much memory attempts may have here.
bool asks_for_gpus_or_memory(const jobspec::Expansion& expansion) {
  return std::any_of(expansion.trials.begin(), expansion.trials.end(), [](const auto& trial) {
    return trial.resources.gpus_per_node > 0 || trial.resources.memory_mib > 0;
  });
}

/// Warnings and advice; what fits and what is not known is for `advise`.
void put_advice(Context& context, const AdviceSubject& subject, Json& result) {
  std::vector<Advice> told = advise_on(context, subject).all;
  std::erase_if(told, [](const Advice& advice) {
    return advice.finding.verdict != Verdict::warning && advice.finding.verdict != Verdict::advice;
  });
  result["advice"] = cli::json_of(told);
}

/// {file, ok, name, trials, configurations, duplicates, notes, metric, most_node_hours, cost,
/// check, forecasts, advice, diagnostics}
Json check(Context& context, const std::string& file, SchemaSource& schemas,
           const jobspec::SiteLimits& limits, const ValidateOptions& options) {
  const std::string text = read_file(file);
  const jobspec::Schema& schema = schemas.of(text);
  Json result{{"file", file}, {"diagnostics", Json::array()}};
  try {
    jobspec::Sweep sweep = jobspec::parse_sweep(text, file, schema, limits);
    sweep.directory = jobspec::directory_of(file);
    const jobspec::Expansion expansion = jobspec::expand(sweep, schema);
    std::vector<api::PlannedShape> planned;
    if (sweep.program)
      api::check_program({{}, is_for_slurm(options.backend, sweep)}, expansion, sweep);
    else
      planned = ask_engine(options, text, limits, sweep, result);
    if (is_for_slurm(options.backend, sweep) || asks_for_gpus_or_memory(expansion))
      ask_backend(context, options.backend, text, sweep, result);
    const auto& trials = expansion.trials;
    if (expansion.seed_plan)
      sweep.notes.push_back("seeds: " + jobspec::describe(*expansion.seed_plan));
    result["ok"] = true;
    result["name"] = sweep.name;
    result["trials"] = trials.size();
    result["configurations"] = trials.empty() ? 0 : trials.back().configuration;
    result["duplicates"] = expansion.duplicates;
    result["notes"] = sweep.notes;
    result["metric"] = {
        {"name", sweep.metric.name},
        {"goal", sweep.metric.goal == jobspec::Goal::maximize ? "maximize" : "minimize"}};
    result["most_node_hours"] = jobspec::max_node_hours(expansion);
    result["cost"] = jobspec::describe_cost(sweep, expansion, limits.prices);
    put_advice(context,
               {sweep, expansion, schema, limits, planned, is_for_slurm(options.backend, sweep)},
               result);
  } catch (const jobspec::InputError& error) {
    result["ok"] = false;
    for (const auto& diagnostic : error.diagnostics()) {
      result["diagnostics"].push_back(json_of(diagnostic));
      if (!options.format.json) context.err << diagnostic.to_string() << '\n';
    }
  }
  return result;
}

void print_good(Context& context, const Json& result) {
  context.out << printable(text_at(result, "file")) << ": " << context.palette(Tint::green, "ok")
              << ": " << count_of(count_at(result, "trials"), "trial") << " ("
              << count_of(count_at(result, "configurations"), "configuration")
              << duplicates_text(count_at(result, "duplicates")) << ")\n  "
              << text_at(result, "cost") << "\n  ranked by "
              << metric_in_words(member(result, "metric")) << '\n';
  print_notes(context, texts_at(result, "notes"));
  print_forecasts(context, result);
  std::size_t quiet = 0;
  for (const Json& advice : list_at(result, "advice")) {
    if (text_at(advice, "verdict") == "warning")
      context.out << "  " << context.palette(Tint::yellow, "warning") << ": "
                  << text_at(advice, "rule") << ": " << printable(text_at(advice, "text")) << '\n';
    else
      ++quiet;
  }
  if (!list_at(result, "advice").empty())
    context.out << "  "
                << (quiet == 0 ? std::string("more")
                               : fmt::format("{} of advice",
                                             count_of(static_cast<long long>(quiet), "piece")))
                << ": thalweg advise " << printable(text_at(result, "file")) << '\n';
}

int validate(Context& context, const ValidateOptions& options) {
  SchemaSource schemas(context);
  const jobspec::SiteLimits limits = find_limits();
  Json results = Json::array();
  long long mistakes = 0;
  bool unanswered = false;
  for (const std::string& file : options.files) {
    results.push_back(check(context, file, schemas, limits, options));
    const Json& result = results.back();
    mistakes += static_cast<long long>(list_at(result, "diagnostics").size());
    unanswered = unanswered || !text_at(member(result, "check"), "failure").empty();
    if (!options.format.json && flag_at(result, "ok")) print_good(context, result);
  }
  if (options.format.json) print_json(context.out, {{"files", results}});
  if (mistakes == 0) return unanswered ? exit_failed : exit_ok;
  if (!options.format.json) {
    context.out.flush();
    context.err << count_of(mistakes, "mistake") << '\n';
  }
  return exit_bad_input;
}

}  // namespace

Action make_validate(Arguments& arguments) {
  auto options = std::make_shared<ValidateOptions>();
  arguments.positional("SWEEP.yaml", options->files, "one or several sweep files").completes =
      Completes::file;
  arguments
      .option("--backend", "NAME", options->backend,
              "what will run them; with slurm, files missing here produce only a note, as the "
              "nodes may have them (default: auto: slurm where the file has a block slurm)")
      .choices = {"auto", "local", "slurm"};
  arguments.flag("--json", options->format.json, "print {files:[{file, ok, diagnostics, …}]}");
  return [options](Context& context) { return validate(context, *options); };
}

}  // namespace thalweg::cli
