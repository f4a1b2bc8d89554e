// TensorBoard's event files: each folder that holds some is a run, as TensorBoard itself has it.
// HParams' values are its parameters. PyTorch's add_hparams writes them into a folder of their own
// below the run's, with one last point of some metrics: that folder belongs to the run above it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "base/event_records.h"
#include "base/file.h"
#include "cli/commands/imports.h"
#include "cli/exit_code.h"
#include "cli/output/text.h"

namespace thalweg::cli {

namespace fs = std::filesystem;
namespace api = daemon::api;

namespace {

using Folders = std::map<fs::path, std::vector<fs::path>>;  ///< their event files, oldest first

/// 7.2 before 7.10.
bool is_before(const std::string& a, const std::string& b) {
  return strverscmp(a.c_str(), b.c_str()) < 0;
}

Folders find_folders(const fs::path& path) {
  Folders folders;
  if (!fs::is_directory(path)) {
    folders[path.parent_path()].push_back(path);
    return folders;
  }
  try {
    // Links are not followed: "latest" is no further run.
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file() && is_event_file(entry.path()))
        folders[entry.path().parent_path()].push_back(entry.path());
  } catch (const fs::filesystem_error& error) {
    throw CommandError(exit_bad_input, error.what());
  }
  for (auto& [folder, files] : folders)
    std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
      return is_before(a.string(), b.string());  // by the time in their names
    });
  return folders;
}

[[noreturn]] void broken(const fs::path& file, std::size_t at) {
  throw CommandError(
      exit_bad_input, fmt::format("{}: no event record at byte {}", file.string(), at),
      "the file is damaged or not an event file: move it out of the folder, then import again");
}

void read_one(std::string_view event, ReadRun& run) {
  read_event(event, [&](const ScalarEvent& scalar) {
    const double time = std::isfinite(scalar.time) && scalar.time > 0 ? scalar.time : 0;
    run.curves[scalar.tag].push_back({scalar.step, scalar.value, time});
  });
  const auto parameters = read_hyperparameters(event);
  if (!parameters) return;
  for (const auto& [name, value] : *parameters) {
    if (const auto* number = std::get_if<double>(&value))
      run.parameters[name] = parameter_json(*number);
    else if (const auto* flag = std::get_if<bool>(&value))
      run.parameters[name] = *flag;
    else
      run.parameters[name] = std::get<std::string>(value);
  }
}

/// Blocks that were allotted to the file and never written, after a loss of power.
bool only_zeros(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

/// What a program that still runs, or was cut off, has begun to write at the end is left out: so
/// many bytes.
std::size_t read_events(const fs::path& file, ReadRun& run) {
  const std::string bytes = read_file(file);
  std::size_t at = 0;
  while (at + kRecordHead <= bytes.size()) {
    const std::string_view rest = std::string_view(bytes).substr(at);
    const auto length = record_length(rest.substr(0, kRecordHead));
    if (!length && only_zeros(rest.substr(sizeof(std::uint64_t)))) break;
    if (!length) broken(file, at);
    if (rest.size() < kRecordHead + *length + kRecordFoot) break;
    const auto data = record_data(rest, *length);
    if (!data && only_zeros(rest.substr(kRecordHead + *length))) break;
    if (!data) broken(file, at);
    try {
      read_one(*data, run);
    } catch (const std::invalid_argument&) {
      broken(file, at);
    }
    at += kRecordHead + *length + kRecordFoot;
  }
  return bytes.size() - at;
}

bool is_of_run_above(const ReadRun& run) {
  return !run.parameters.empty() &&
         std::all_of(run.curves.begin(), run.curves.end(),
                     [](const auto& curve) { return curve.second.size() <= 1; });
}

/// Metrics that the run above has stay as they are.
void merge(ReadRun& above, ReadRun&& below) {
  above.parameters = std::move(below.parameters);
  for (auto& [metric, points] : below.curves)
    above.curves.try_emplace(metric, std::move(points));
}

std::string name_of(const fs::path& folder, const fs::path& root) {
  const std::string below = folder.lexically_relative(root).generic_string();
  if (!below.empty() && !below.starts_with('.')) return below;
  const fs::path whole = fs::absolute(folder).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

/// Keras' TensorBoard callback writes a run's training and its validation, with the same tags, into
/// two folders beside each other: their metrics are those of the run above. Returns how many runs.
int join_keras_folders(const fs::path& root, std::map<fs::path, ReadRun>& read) {
  std::vector<fs::path> above;
  for (const auto& [folder, run] : read)
    if (folder.filename() == "train" && read.contains(folder.parent_path() / "validation"))
      above.push_back(folder.parent_path());
  for (const fs::path& folder : above) {
    ReadRun& whole = read[folder];
    whole.source = name_of(folder, root);
    for (const std::string part : {"train", "validation"}) {
      auto below = read.extract(folder / part);
      if (whole.parameters.empty()) whole.parameters = std::move(below.mapped().parameters);
      for (auto& [metric, points] : below.mapped().curves)
        whole.curves.try_emplace(part + "/" + metric, std::move(points));
    }
  }
  return static_cast<int>(above.size());
}

}  // namespace

bool is_event_file(const fs::path& path) {
  return path.filename().string().find("tfevents") != std::string::npos;
}

void read_event_files(const fs::path& path, ReadRuns& runs) {
  const Folders folders = find_folders(path);
  if (folders.empty())
    throw CommandError(exit_bad_input, path.string() + ": no event files in it or below",
                       "CSV files and JSON lines are named one by one");
  std::map<fs::path, ReadRun> read;  // a folder comes before those in it
  for (const auto& [folder, files] : folders) {
    ReadRun run;
    run.source = name_of(folder, path);
    for (const fs::path& file : files)
      if (const std::size_t rest = read_events(file, run); rest > 0)
        runs.understood.push_back(
            fmt::format("{}: {} at its end hold no whole record and are left out", file.string(),
                        count_of(static_cast<std::int64_t>(rest), "byte")));
    const auto above = read.find(folder.parent_path());
    if (above != read.end() && above->second.parameters.empty() && is_of_run_above(run))
      merge(above->second, std::move(run));
    else
      read[folder] = std::move(run);
  }
  const int joined = join_keras_folders(path, read);
  const auto count = static_cast<long long>(read.size());
  runs.understood.push_back(
      fmt::format("{}: TensorBoard's event files, {}", path.string(), count_of(count, "run")));
  if (joined > 0)
    runs.understood.push_back(
        fmt::format("folders train and validation of {} are one each, as Keras writes them",
                    count_of(joined, "run")));
  std::vector<ReadRun> sorted;
  for (auto& [folder, run] : read)
    sorted.push_back(std::move(run));
  std::stable_sort(sorted.begin(), sorted.end(), [](const ReadRun& a, const ReadRun& b) {
    return is_before(a.source, b.source);
  });
  std::move(sorted.begin(), sorted.end(), std::back_inserter(runs.runs));
}

}  // namespace thalweg::cli
