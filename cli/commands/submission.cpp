#include "cli/commands/submission.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/credentials.h"
#include "daemon/api/sweep_messages.h"
#include "daemon/auth/munge.h"
#include "daemon/auth/sha256.h"
#include "jobspec/paths.h"
#include "jobspec/sweep.h"

namespace thalweg::cli {

namespace api = daemon::api;
namespace auth = thalweg::auth;

Argument& add_submit_options(Arguments& arguments, SubmitOptions& options) {
  arguments.option("--backend", "NAME", options.backend, "what runs it (default: auto)").choices = {
      "auto", "local", "slurm"};
  Argument& file =
      arguments.positional("SWEEP.yaml", options.file, "the sweep file; - reads standard input");
  file.completes = Completes::file;
  return file;
}

bool is_for_slurm(const std::string& backend, const jobspec::Sweep& sweep) {
  return backend == "slurm" || (backend == "auto" && sweep.slurm_given);
}

std::string read_file(const std::string& file) {
  const auto all_of = [](std::istream& in) {
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  if (file == "-") return all_of(std::cin);
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    throw CommandError(exit_bad_input, file + " is a folder; expected a sweep file");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw CommandError(exit_bad_input, "cannot read " + file + ": " + std::strerror(errno));
  return all_of(in);
}

namespace {

bool fits_json(const std::string& text) {
  const auto ignore = Json::error_handler_t::ignore;
  return Json::parse(Json(text).dump(-1, ' ', false, ignore)) == text;
}

/// What attempts shall start with, NAME=value. What is not UTF-8 is left out: JSON cannot hold it.
std::vector<std::string> own_environment() {
  constexpr std::string_view data_folder = "THALWEG_DATA=";
  std::vector<std::string> entries;
  for (char** each = environ; *each != nullptr; ++each) {
    std::string entry = *each;
    // Attempts work elsewhere; what is relative here must not become relative there.
    if (entry.starts_with(data_folder) && entry.size() > data_folder.size())
      entry = std::string(data_folder) +
              std::filesystem::absolute(entry.substr(data_folder.size())).string();
    if (fits_json(entry)) entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

Json sweep_request(const SubmitOptions& options, const std::string& text, Purpose purpose) {
  api::SweepRequest request{text,
                            options.file == "-" ? "standard input" : options.file,
                            options.backend,
                            jobspec::directory_of(options.file),
                            own_environment(),
                            {},
                            {},
                            {}};
  if (purpose != Purpose::submit) request.dry_run = true;
  if (purpose == Purpose::forecast) request.checked = true;
  return api::to_json(request);
}

namespace {

/// That this user wants this sweep; decodable by the site's Slurm agent alone.
std::string credential_over(const std::string& text, const Json& site) {
  const Json& reader = member(site, "credential_reader");
  if (!reader.is_number_unsigned())
    throw CommandError(exit_failed, "the site's Slurm agent does not answer",
                       "try again later, or ask the administrator");
  const std::string payload = auth::sweep_payload(auth::sha256(text));
  const char* const token = std::getenv("SLURM_JWT");
  try {
    if (token != nullptr && *token != '\0' && member(site, "tokens") == true)
      return api::token_credential(token, payload, reader.get<uid_t>());
    return api::munge_credential(payload, reader.get<uid_t>());
  } catch (const api::NoCredential& error) {
    throw CommandError(
        exit_failed, error.what(),
        "a site's controller needs munge on the machine where a sweep is submitted, or, where it "
        "takes tokens, SLURM_JWT of `scontrol token`");
  }
}

}  // namespace

Json post_sweep(Context& context, const SubmitOptions& options, const std::string& text,
                Purpose purpose) {
  Json request = sweep_request(options, text, purpose);
  auto& controller = context.controller();
  if (const Json site = member(controller.about(), "site");
      purpose == Purpose::submit && site.is_object())
    request["credential"] = credential_over(text, site);
  return controller.post("/v1/sweeps", request);
}

Json submit_sweep(Context& context, const SubmitOptions& options, Purpose purpose) {
  return post_sweep(context, options, read_file(options.file), purpose);
}

std::string duplicates_text(long long duplicates) {
  return duplicates > 0 ? fmt::format(", {} left out", count_of(duplicates, "duplicate")) : "";
}

void print_submitted(Context& context, const Json& answer) {
  const auto sweep = api::from_json<api::SubmissionAnswer>(answer, api::Reading::tolerant);
  const Json& planned = list_at(answer, "trials");
  const auto trials = planned.empty() ? static_cast<std::size_t>(sweep.trials) : planned.size();
  const std::string id = sweep.id.empty() ? "" : "sweep " + sweep.id + " ";
  context.out << context.palette(Tint::bold, id + printable(sweep.name)) << ": "
              << count_of(trials, "trial") << " ("
              << count_of(sweep.configurations, "configuration");
  context.out << duplicates_text(sweep.duplicates) << ") on " << sweep.backend << '\n';
  print_notes(context, texts_at(answer, "notes"));
}

/// When Slurm would start trials, as far as it says.
void print_forecasts(Context& context, const Json& answer) {
  for (const Json& each : list_at(answer, "forecasts")) {
    const auto forecast = api::from_json<api::ForecastMessage>(each, api::Reading::tolerant);
    const auto more = forecast.trials - 1;
    context.out << "trial " << forecast.trial
                << (more > 0 ? " (and " + std::to_string(more) + " more like it)" : "") << ": ";
    if (forecast.start > 0)
      context.out << "would start " << format_time(forecast.start) << " on "
                  << printable(forecast.node_list) << " of partition "
                  << printable(forecast.partition) << '\n';
    else
      context.out << "when it would start is not known: " << printable(forecast.message) << '\n';
  }
}

namespace {

/// More trials than this are only counted on the screen.
constexpr std::size_t trials_listed = 40;

Table plan_table(const Json& trials, std::size_t limit) {
  Table table({{"id", "trial", Align::right},
               {"seed", "seed", Align::right},
               {"parameters", "parameters", Align::left, true},
               {"nodes", "nodes", Align::right},
               {"ranks_per_node", "ranks/node", Align::right, false, 1}});
  for (std::size_t i = 0; i < std::min(limit, trials.size()); ++i) {
    const Json& trial = trials[i];
    const Json& resources = member(trial, "resources");
    const Json& parameters = member(trial, "parameters");
    const std::string fewest = text_at(resources, "min_nodes"), most = text_at(resources, "nodes");
    table.add({text_at(trial, "id"), text_at(trial, "seed"),
               Cell(parameter_label(parameters), plain_text(parameters)),
               fewest.empty() ? most : fewest + "-" + most, text_at(resources, "ranks_per_node")});
  }
  return table;
}

void print_plan(Context& context, const Json& answer, const Format& format) {
  const Json& trials = list_at(answer, "trials");
  if (format.csv) return plan_table(trials, trials.size()).print_csv(context.out);
  print_submitted(context, answer);
  context.out << '\n';
  plan_table(trials, trials_listed).print(context.out, context.palette, context.width());
  if (trials.size() > trials_listed)
    context.out << "… " << count_of(trials.size() - trials_listed, "more trial")
                << " (--csv and --json list all)\n";
  if (const std::string script = text_at(answer, "script"); !script.empty())
    context.out << '\n'
                << context.palette(Tint::bold, "Batch script of the first trial:") << '\n'
                << script << (script.ends_with('\n') ? "" : "\n");
  context.out << '\n';
  print_forecasts(context, answer);
  if (const std::string cost = text_at(answer, "cost"); !cost.empty())
    context.out << "The sweep takes " << cost << ".\n";
  context.out << "Nothing was submitted (--dry-run).\n";
}

}  // namespace

void print_submission(Context& context, const Json& answer, bool dry_run, const Format& format) {
  if (format.json) return print_json(context.out, answer);
  if (dry_run) return print_plan(context, answer, format);
  print_submitted(context, answer);
  const std::string id = text_at(answer, "id");
  print_next(context, {{"thalweg watch " + id, "follow it"},
                       {"thalweg compare " + id, "compare what is there"},
                       {"thalweg cancel " + id, "stop it"}});
}

}  // namespace thalweg::cli
