#include "cli/commands/submission.h"

#include <unistd.h>

#include <cerrno>
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
#include "daemon/api/sweep_messages.h"
#include "jobspec/paths.h"

namespace thalweg::cli {

namespace api = daemon::api;

void add_submit_options(Arguments& arguments, SubmitOptions& options) {
  arguments.positional("SWEEP.yaml", options.file, "the sweep file; - reads standard input")
      .completes = Completes::file;
  arguments.option("--backend", "NAME", options.backend, "what runs it (default: auto)").choices = {
      "auto", "local", "slurm"};
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
                            {}};
  if (purpose != Purpose::submit) request.dry_run = true;
  if (purpose == Purpose::forecast) request.checked = true;
  return api::to_json(request);
}

Json submit_sweep(Context& context, const SubmitOptions& options, Purpose purpose) {
  const Json request = sweep_request(options, read_file(options.file), purpose);
  return context.controller().post("/v1/sweeps", request);
}

void print_submitted(Context& context, const Json& answer) {
  const auto sweep = api::from_json<api::SubmissionAnswer>(answer, api::Reading::tolerant);
  const Json& planned = list_at(answer, "trials");
  const auto trials = planned.empty() ? static_cast<std::size_t>(sweep.trials) : planned.size();
  const std::string id = sweep.id.empty() ? "" : "sweep " + sweep.id + " ";
  context.out << context.palette(Tint::bold, id + printable(sweep.name)) << ": "
              << count_of(trials, "trial") << " ("
              << count_of(sweep.configurations, "configuration");
  if (sweep.duplicates > 0)
    context.out << ", " << count_of(sweep.duplicates, "duplicate") << " left out";
  context.out << ") on " << sweep.backend << '\n';
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

}  // namespace thalweg::cli
