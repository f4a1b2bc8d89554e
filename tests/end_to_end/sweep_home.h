// A user's whole Thalweg in a folder of its own: controller, database and attempts of one test.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/process.h"

namespace thalweg::test {

/// (trial, metric, step) -> value as text, from the latest attempt that has the step; perf/ left
/// out, since it holds timings.
using Curves = std::map<std::tuple<std::int64_t, std::string, std::int64_t>, std::string>;

/// Expects that both have the same points, with the same bits.
void expect_same_curves(const std::string& sweep, const Curves& wanted, const Curves& found);

class SweepHome {
 public:
  explicit SweepHome(std::map<std::string, std::string> env = {});
  /// Stops the controller and everything it started.
  ~SweepHome();

  Outcome thalweg(std::vector<std::string> arguments, milliseconds deadline = milliseconds(60000),
                  std::map<std::string, std::string> more_env = {});
  /// A line for the shell, in folder().
  Outcome shell(const std::string& line, milliseconds deadline = milliseconds(60000));
  /// thalweg() with --json, which must succeed; fails the test otherwise and returns null.
  nlohmann::json json(std::vector<std::string> arguments);
  nlohmann::json query(const std::string& sql);

  /// Writes the file and submits it; the sweep's id, or empty where that failed (and the test with
  /// it).
  std::string submit(const std::string& text, const std::string& backend,
                     std::map<std::string, std::string> more_env = {});
  /// Until every trial has ended; starts the controller again whenever it is down. False at the
  /// deadline.
  bool wait_for_end(const std::string& sweep, milliseconds deadline = milliseconds(120000));

  /// Also where nobody answers.
  bool is_active(const std::string& sweep);

  Curves curves(const std::string& sweep);
  pid_t controller();  ///< 0 where none runs
  /// Ranks of a sweep (all of this home where empty), also those inside Slurm's nodes.
  std::vector<pid_t> engines(const std::string& sweep = "");
  bool has_checkpoint(const std::string& sweep);
  const std::filesystem::path& folder() const { return dir_.path(); }
  std::filesystem::path home() const { return dir_.path() / "home"; }
  std::filesystem::path attempt_folder(const std::string& id);

  /// What must hold after any sequence of crashes: every trial finished, every attempt started at
  /// most once, journals without gaps, and the database holding exactly the journals' points.
  void expect_nothing_lost_or_doubled(const std::string& sweep);
  /// The part of it that holds whatever became of the trials.
  void expect_record_is_the_journals(const std::string& sweep);

 private:
  RunOptions run_options(milliseconds deadline) const;

  TempDir dir_;
  std::map<std::string, std::string> env_;
};

/// A sweep that takes seconds: a small network, few steps, frequent reports and checkpoints.
struct TinySweep {
  int nodes = 1;
  int ranks_per_node = 2;
  int steps = 60;
  int seeds = 1;
  std::string varied = "  optimizer.name: {values: [momentum, adamw]}\n";
  std::string train;  ///< further lines of `train`
  std::string extra;  ///< further top-level lines
  std::string text() const;
};

}  // namespace thalweg::test
