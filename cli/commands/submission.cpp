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
#include "jobspec/paths.h"

namespace thalweg::cli {

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
Json own_environment() {
  constexpr std::string_view data_folder = "THALWEG_DATA=";
  Json entries = Json::array();
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
  Json request{{"text", text},
               {"file_name", options.file == "-" ? "standard input" : options.file},
               {"backend", options.backend},
               {"directory", jobspec::directory_of(options.file)},
               {"environment", own_environment()}};
  if (purpose != Purpose::submit) request["dry_run"] = true;
  if (purpose == Purpose::forecast) request["checked"] = true;
  return request;
}

Json submit_sweep(Context& context, const SubmitOptions& options, Purpose purpose) {
  const Json request = sweep_request(options, read_file(options.file), purpose);
  return context.controller().post("/v1/sweeps", request);
}

void print_submitted(Context& context, const Json& answer) {
  const Json& trials = member(answer, "trials");
  const auto count =
      trials.is_array() ? static_cast<long long>(trials.size()) : count_at(answer, "trials");
  const std::string id = text_at(answer, "id");
  context.out << context.palette(Tint::bold, (id.empty() ? "" : "sweep " + id + " ") +
                                                 printable(text_at(answer, "name")))
              << ": " << count_of(count, "trial") << " ("
              << count_of(count_at(answer, "configurations"), "configuration");
  if (const auto n = count_at(answer, "duplicates"); n > 0)
    context.out << ", " << count_of(n, "duplicate") << " left out";
  context.out << ") on " << text_at(answer, "backend") << '\n';
  print_notes(context, answer);
}

/// When Slurm would start trials, as far as it says.
void print_forecasts(Context& context, const Json& answer) {
  for (const Json& forecast : list_at(answer, "forecasts")) {
    const auto more = count_at(forecast, "trials") - 1;
    context.out << "trial " << text_at(forecast, "trial")
                << (more > 0 ? " (and " + std::to_string(more) + " more like it)" : "") << ": ";
    const double start = number_at(forecast, "start").value_or(0);
    if (start > 0)
      context.out << "would start " << format_time(start) << " on "
                  << printable(text_at(forecast, "node_list")) << " of partition "
                  << printable(text_at(forecast, "partition")) << '\n';
    else
      context.out << "when it would start is not known: " << printable(text_at(forecast, "message"))
                  << '\n';
  }
}

}  // namespace thalweg::cli
