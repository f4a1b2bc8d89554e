// One resolved configuration with its seed: what an attempt runs. Written as trial.yaml, read by
// the engine.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "jobspec/id.h"
#include "jobspec/program.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {

struct Resources {
  int nodes = 1;  ///< of an elastic trial the most
  int ranks_per_node = 1;
  int threads_per_rank = 1;
  std::int64_t time_limit_s = 3600;  ///< "HH:MM:SS", "D-HH:MM:SS" or minutes in the file
  std::int64_t memory_mib = 0;       ///< per node; 0 = not asked for
  int gpus_per_node = 0;
  int min_nodes = 0;  ///< an attempt may do with so few; 0 = each takes `nodes`

  int ranks() const { return nodes * ranks_per_node; }
  bool elastic() const { return min_nodes > 0; }
  int required_nodes() const { return elastic() ? min_nodes : nodes; }
  /// With at most so many nodes.
  Resources at_most(int most) const {
    Resources result = *this;
    result.nodes = most < nodes ? most : nodes;
    if (result.min_nodes >= result.nodes) result.min_nodes = 0;
    return result;
  }
};

enum class Goal { minimize, maximize };
/// What a method that learns takes for the result of a trial that has none of its own.
enum class Impute { worst, best, latest };

struct Metric {
  std::string name = "val/error";
  Goal goal = Goal::minimize;
  std::vector<double> targets{};                 ///< values that count as got there; in any order
  Impute impute = Impute::worst;                 ///< of trials that failed
  std::optional<Impute> impute_while_running{};  ///< else what the results let expect

  /// The hardest of them, which rows are ranked by and stop.at waits for.
  std::optional<double> target() const;
};

/// Of a trial by its newest value of a metric: where that is no finite number the training has
/// diverged. It stands last in every order then, whatever it had reached before.
inline bool has_diverged(double newest) {
  return !std::isfinite(newest);
}

/// trial.yaml. The first block is the trial (same for every attempt), the second this attempt's
/// own. A file written by hand needs only `train`; everything else has these defaults.
struct Trial {
  static constexpr int format = 1;

  std::uint64_t seed = 1;
  Value train = Map{};             ///< the `train` tree with this trial's parameters put in
  std::optional<Program> program;  ///< runs instead of the engine; `train` is its configuration
  Resources resources;
  Metric metric;
  /// The most ranks that a trial of its sweep has: what `auto` is for all of them alike; 0 = not
  /// known.
  int sweep_ranks = 0;

  Id id;              ///< 0.0.0 when run by hand
  std::string token;  ///< unique per attempt; names it, and others can see it (job comment, ps)
  std::string push;   ///< "unix:/path" or "http://host:port"; empty = journal only
  std::string push_secret;  ///< proves who pushes; stands nowhere but in trial.yaml and the record
  /// Seconds between failures of one node, as the controller has seen them; 0 = not known.
  double node_failure_s = 0;
  std::vector<std::filesystem::path>
      resume;  ///< checkpoint folders of earlier attempts, newest attempt first
  std::vector<std::filesystem::path>
      init_from{};  ///< the same of the trial that train.init_from.trial names
  /// The attempt pauses at the first validation at or after so many; at most one is above 0.
  std::int64_t pause_epochs = 0, pause_steps = 0;
  bool pauses() const { return pause_epochs > 0 || pause_steps > 0; }
};

/// Writes with mode 0600 (it carries the secret), aside and then renamed. Throws
/// std::runtime_error.
void write_trial(const Trial& trial, const std::filesystem::path& path);
/// What it writes.
std::string trial_text(const Trial& trial);
/// Throws InputError on bad content, std::runtime_error where the file cannot be read.
Trial read_trial(const std::filesystem::path& path);
/// Of a file's text; `name` is for messages.
Trial parse_trial(const std::string& text, const std::string& name);

}  // namespace thalweg::jobspec
