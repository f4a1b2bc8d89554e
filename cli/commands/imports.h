// What `thalweg import` reads: runs of other programs, in one form whatever file they come from.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/json.h"
#include "daemon/api/import_messages.h"

namespace thalweg::cli {

struct ReadRun {
  std::string source;  ///< its name there
  Json parameters = Json::object();
  std::optional<std::uint64_t> seed;
  std::map<std::string, std::vector<daemon::api::ImportPoint>> curves;  ///< by metric
};

struct ReadRuns {
  std::vector<ReadRun> runs;
  std::string metric, goal;             ///< where the files say them
  std::vector<std::string> understood;  ///< for people: how each file was read
};

struct ReadOptions {
  std::vector<std::string> parameters;  ///< columns of tables that are no metrics
};

/// All of them, as one list. Throws CommandError (bad input) with the file, the row and the remedy.
ReadRuns read_runs(const std::vector<std::string>& paths, const ReadOptions& options);

/// TensorBoard's event files have "tfevents" in their names.
bool is_event_file(const std::filesystem::path& path);

/// The formats; each adds its runs.
void read_event_files(const std::filesystem::path& path, ReadRuns& runs);
void read_table(const std::filesystem::path& file, std::string_view text,
                const ReadOptions& options, ReadRuns& runs);
void read_json_lines(const std::filesystem::path& file, std::string_view text, ReadRuns& runs);

/// A run of this name, the newest first; made where there is none.
class RunsByName {
 public:
  explicit RunsByName(ReadRuns& runs) : runs_(runs) {}
  ReadRun& operator()(const std::string& name);

 private:
  ReadRuns& runs_;
  std::map<std::string, std::size_t> known_;
};

/// "nan" and "inf" are numbers; spaces around them count for nothing.
std::optional<double> read_number(std::string_view text);
/// A whole number as one, so that 64.0 and 64 are one value.
Json parameter_json(double value);
/// "0.1" as a number, "true" as a truth value, all else as text.
Json parameter_json(const std::string& text);

/// What a sweep is ranked by where nobody says it: a usual name that the runs have. Empty where
/// there is none.
std::string usual_metric(const ReadRuns& runs);

}  // namespace thalweg::cli
