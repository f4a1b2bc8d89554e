// A sweep under way as lines of text. Pure: the same view, size and time give the same lines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/output/json.h"
#include "cli/output/terminal.h"

namespace thalweg::daemon::api {
struct SweepSnapshot;
}

namespace thalweg::cli {

/// What is shown of one trial.
struct TrialView {
  std::string id, label, state, reason;
  std::string attempt_state, waiting_for;
  std::string last_end;  ///< why the attempt before ended
  std::string warning;   ///< what its numbers need beside them
  long long attempts = 0;
  double ended = 0;
  std::optional<double> step, steps, loss, metric, best, samples_per_s, seconds_left;
  bool diverged = false;  ///< the metric's newest value is no finite number

  /// 0..1; 1 when finished.
  double fraction() const;
};

/// One snapshot of GET /v1/watch.
struct SweepView {
  std::string title;  ///< "sweep 12 name"
  std::string id, name, backend, state, metric;
  bool maximize = false;
  double submitted = 0, ended = 0;
  std::vector<TrialView> trials;

  static SweepView from_json(const Json& snapshot);
  /// What time_left_text() asks for: of trials that do not run only the state.
  static SweepView states_of(const daemon::api::SweepSnapshot& snapshot);
  /// Only that trial, as if it were a sweep of its own.
  SweepView only(const std::string& trial) const;
  long long count(std::string_view state) const;
  bool over() const { return state != "active"; }
  bool all_finished() const;
  /// The trial with the best value of the metric so far; null where none has one and has not
  /// diverged.
  const TrialView* best() const;
};

/// "━━━━━╸────": `width` columns filled to `fraction`.
std::string progress_bar(double fraction, int width, Tint tint, const Palette& palette);

/// "5/8 trials finished, 2 running, 1 pending", without what is zero.
std::string counts_line(const SweepView& sweep);
/// "best val/error 0.1123 (12.3)"; empty where nothing is known yet.
std::string best_line(const SweepView& sweep);
/// About how many seconds all trials will still take, if as many run at a time as now and those
/// that wait take as long as those that run; none where no trial knows how long it will take.
std::optional<double> time_left(const SweepView& sweep);
/// " · about 5:12 left" after `separator`; empty where that is not known, or of one trial.
std::string time_left_text(const SweepView& sweep, const char* separator);
/// How long it has been going, or took.
double elapsed(const SweepView& sweep, double now);

/// The screen: a header, then one line per trial. Never more than size.rows - 1 lines nor wider
/// than size.columns - 1 (a full last column makes some terminals wrap). Where not all trials fit:
/// running ones first, then failed, the next to run, finished; the rest is counted in a last line.
std::vector<std::string> progress_frame(const SweepView& sweep, TerminalSize size, double now,
                                        const Palette& palette);

}  // namespace thalweg::cli
