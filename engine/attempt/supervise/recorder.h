// From what a program reports, however it does, to lines of the journal: batched, bounded in their
// number, and watched for the values at which the program should stop.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/attempt/record.h"
#include "jobspec/trial.h"

namespace thalweg::engine {

class Recorder {
 public:
  using Clock = std::chrono::steady_clock;

  Recorder(Record& record, const jobspec::Trial& trial, std::filesystem::path folder,
           std::int64_t resumed_step);

  /// At most 2000 values of a metric at once and 200 a second after that are kept; of what comes
  /// faster the last one of each half second, and whatever is smaller or larger than all before.
  /// How many are not kept is told as a loss of "points".
  void metric(const std::string& name, std::int64_t step, double value);
  /// `path`: absolute, or from the program's folder. A later attempt can go on from it.
  void checkpoint(const std::filesystem::path& path, std::optional<std::int64_t> step,
                  double seconds);
  /// Writes what waits. A full disk is tried again: throws std::system_error once it has been so
  /// for a minute, or at once where `last`.
  void flush(Clock::time_point now, bool last = false);
  /// A warning in the journal; of each kind only the first.
  void warn(const std::string& kind, const std::string& text);
  /// Numbers that are not in the record, for the reason `kind` (journal.md): told when it first
  /// happens, then ever more rarely, and at the end (tell_losses) with their number.
  void lose(const std::string& kind, std::int64_t count, const std::string& text);
  void tell_losses();

  /// Why the program should stop early; empty: it should go on.
  const std::string& stop_reason() const { return stop_reason_; }
  std::int64_t last_step() const { return last_step_; }
  std::int64_t checkpoint_step() const { return checkpoint_step_; }
  bool has_metric() const { return reported_; }  ///< that which trials are ranked by

 private:
  struct Series {
    double tokens = 0;
    Clock::time_point filled{};
    double least = std::numeric_limits<double>::infinity(), most = -least;  ///< of finite ones
    std::int64_t step_of_least = -1, step_of_most = -1;                     ///< where they are
    /// Of those that came too fast: the last one, and new extremes.
    std::optional<MetricPoint> last, smallest, largest;
    Clock::time_point held_since{};

    int held() const { return last.has_value() + smallest.has_value() + largest.has_value(); }
    bool holds() const { return held() > 0; }
    void hold(const MetricPoint& point, Clock::time_point now);
    void see(const MetricPoint& point);
    void forget(std::int64_t step);
    /// What was held, by step.
    std::vector<MetricPoint> release();
    std::int64_t thinned = 0;  ///< of those that came too fast: how many are not kept
  };
  struct Loss {
    std::int64_t count = 0, told = 0;
    std::string text;  ///< of the first
  };
  void tell(const std::string& kind, Loss& loss);
  void count_thinned();
  void watch(std::int64_t step, double value);
  bool is_better(double value) const;

  Record& record_;
  const jobspec::Trial& trial_;
  std::filesystem::path folder_;
  std::vector<MetricPoint> waiting_;
  std::map<std::string, Series> series_;
  std::set<std::string> warned_;
  std::string thin_;                    ///< a metric that came too fast since the last flush
  std::map<std::string, Loss> losses_;  ///< by kind
  std::optional<Clock::time_point> full_since_;  ///< the disk
  std::int64_t last_step_, checkpoint_step_;
  bool reported_ = false;
  std::optional<double> best_;
  std::int64_t without_better_ = 0, not_finite_ = 0;  ///< reports in a row
  std::string stop_reason_;
};

/// The newest checkpoint that an earlier attempt reported and that is still there.
struct ProgramCheckpoint {
  std::filesystem::path path;
  std::int64_t step = 0;
};
/// `folders`: checkpoint folders of earlier attempts, newest first.
std::optional<ProgramCheckpoint> newest_program_checkpoint(
    const std::vector<std::filesystem::path>& folders);

}  // namespace thalweg::engine
