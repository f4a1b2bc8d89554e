// Which format each file has, and what all formats share: numbers, parameters, and which metric a
// sweep of the runs is ranked by.
#include "cli/commands/imports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <system_error>

#include "base/file.h"
#include "cli/exit_code.h"
#include "cli/output/text.h"
#include "jobspec/metric_names.h"

namespace thalweg::cli {

namespace fs = std::filesystem;

namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

void read_path(const fs::path& path, const ReadOptions& options, ReadRuns& runs) {
  std::error_code error;
  if (!fs::exists(path, error))
    throw CommandError(exit_bad_input, path.string() + " is not there",
                       "name a folder with TensorBoard's event files, a CSV file or a file of "
                       "JSON lines");
  if (fs::is_directory(path, error) || is_event_file(path)) return read_event_files(path, runs);
  std::string text;
  try {
    text = read_file(path);
  } catch (const std::system_error& failed) {
    throw CommandError(exit_bad_input, failed.what());
  }
  std::string_view rest = text;
  constexpr std::string_view mark = "\xef\xbb\xbf";  // of UTF-8, as Excel writes it
  if (rest.starts_with(mark)) rest.remove_prefix(mark.size());
  if (rest.find('\0') != std::string_view::npos)
    throw CommandError(exit_bad_input, path.string() + ": neither CSV nor JSON lines",
                       "event files have \"tfevents\" in their names");
  if (rest.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw CommandError(exit_bad_input, path.string() + " is empty",
                       "it needs rows in CSV, or lines of thalweg export --format jsonl");
  if (trimmed(rest).starts_with('{')) return read_json_lines(path, rest, runs);
  read_table(path, rest, options, runs);
}

/// A parameter `seed` is the seed, as everywhere here.
void take_seed(ReadRun& run) {
  const auto found = run.parameters.find("seed");
  if (found == run.parameters.end() || !found->is_number_integer() || *found < 0) return;
  if (!run.seed) run.seed = found->get<std::uint64_t>();
  run.parameters.erase(found);
}

/// Without anything that tells runs apart they would count as repetitions of one experiment.
void name_unnamed(std::vector<ReadRun>& runs) {
  const bool told_apart = std::any_of(runs.begin(), runs.end(), [](const ReadRun& run) {
    return !run.parameters.empty() || run.seed;
  });
  if (told_apart) return;
  for (ReadRun& run : runs)
    run.parameters["run"] = run.source;
}

}  // namespace

ReadRun& RunsByName::operator()(const std::string& name) {
  const auto [found, is_new] = known_.try_emplace(name, runs_.runs.size());
  if (is_new) runs_.runs.emplace_back().source = name;
  return runs_.runs[found->second];
}

std::optional<double> read_number(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (text.empty() || read.ptr != end) return {};
  if (read.ec == std::errc::result_out_of_range)
    return std::strtod(std::string(text).c_str(), nullptr);
  return read.ec == std::errc{} ? std::optional(value) : std::nullopt;
}

Json parameter_json(double value) {
  constexpr double max_exact = 9007199254740992;  // 2^53
  if (std::floor(value) == value && std::abs(value) < max_exact)
    return static_cast<std::int64_t>(value);
  return daemon::api::fields::number(value);
}

Json parameter_json(const std::string& text) {
  const std::string word = lower_case(trimmed(text));
  if (word == "true" || word == "false") return word == "true";
  std::int64_t whole = 0;
  const char* const end = word.data() + word.size();
  if (const auto read = std::from_chars(word.data(), end, whole);
      read.ec == std::errc{} && read.ptr == end)
    return whole;
  if (const auto number = read_number(text)) return parameter_json(*number);
  return text;
}

ReadRuns read_runs(const std::vector<std::string>& paths, const ReadOptions& options) {
  ReadRuns runs;
  for (const std::string& path : paths)
    read_path(path, options, runs);
  const auto all = runs.runs.size();
  std::erase_if(runs.runs, [](const ReadRun& run) { return run.curves.empty(); });
  if (const auto empty = all - runs.runs.size(); empty > 0)
    runs.understood.push_back(
        fmt::format("left out: {} without points", count_of(static_cast<long long>(empty), "run")));
  if (runs.runs.empty())
    throw CommandError(exit_bad_input, join(paths, ", ") + ": no run has points",
                       "a run is imported for its metrics");
  for (ReadRun& run : runs.runs)
    take_seed(run);
  name_unnamed(runs.runs);
  return runs;
}

std::string usual_metric(const ReadRuns& runs) {
  static constexpr std::array usual{"val/error",
                                    "val/loss",
                                    "val_loss",
                                    "eval/loss",
                                    "eval_loss",
                                    "validation/loss",
                                    "valid_loss",
                                    "test/loss",
                                    "test_loss",
                                    "val/accuracy",
                                    "val/acc",
                                    "val_accuracy",
                                    "val_acc",
                                    "eval/accuracy",
                                    "test/accuracy",
                                    "accuracy",
                                    "acc",
                                    "loss",
                                    jobspec::metric::train_loss,
                                    "train_loss"};
  std::set<std::string> known;
  for (const ReadRun& run : runs.runs)
    for (const auto& [metric, points] : run.curves)
      known.insert(metric);
  if (known.size() == 1) return *known.begin();
  for (const char* wanted : usual)
    for (const std::string& metric : known)
      if (lower_case(metric) == wanted) return metric;
  return "";
}

}  // namespace thalweg::cli
