// What a simulated trial was like: read from its journal, as from that of any attempt.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/simulate/simulation.h"
#include "jobspec/trial.h"
#include "jobspec/value.h"

namespace thalweg::engine::simulate {

struct Reading {
  std::int64_t steps = 0;
  double seconds = 0;  ///< from the start record to the end
  std::optional<double> seconds_to_target;
  std::optional<double> value;  ///< of the metric, the last one
  double samples_per_s = 0;     ///< training samples over all the time
  std::vector<double> idle;     ///< by rank: share of the time without a pass
  std::optional<double> staleness_mean, staleness_p99;  ///< of the last interval
};

/// Throws where it is no journal.
Reading read_journal(const std::filesystem::path& journal, const jobspec::Metric& metric);

/// A trial and what became of it.
struct Row {
  std::int64_t number = 0;
  std::uint64_t seed = 1;
  jobspec::Value parameters = jobspec::Map{};
  int ranks = 0;
  jobspec::Metric metric;
  Simulated simulated;
  Reading reading;
  std::filesystem::path journal;
};

/// Aligned columns, a line for each row.
std::string table(const std::vector<Row>& rows);
std::string to_json(const std::vector<Row>& rows);
/// The trial's curves in the lines that `thalweg export --format jsonl` writes; a parameter says
/// that they are simulated, and on what.
std::string points(const Row& row);

}  // namespace thalweg::engine::simulate
