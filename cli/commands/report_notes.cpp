// How the numbers of a page are computed: the footnotes. The first row of each is of its chart,
// too. Formulas and their sources stand in db/analysis.
#include "cli/commands/report_page.h"

namespace thalweg::cli {
namespace {

constexpr const char* interval =
    "Brackets: 95 % interval of the median, the percentile bootstrap in closed form (the range of "
    "the values below 3 units).";
constexpr const char* to_target =
    "Counted to the first value as good as the target; a trial that missed it counts as infinite. ";

std::string estimate(const char* what) {
  return std::string(what) + interval;
}

}  // namespace

const char* const parameter_note =
    "A parameter's value as the sweep file or the search gave it to the trial; not computed.";
const char* const state_count_note =
    "Trials of the sweep in this state, counted in the controller's record when the page was made.";
const char* const curve_note =
    "Each line is the median over the trials of a row of the comparison (at most 25), with "
    "straight lines between points. It is drawn where at least half of the trials reach that step. "
    "Its band spans the smallest to the largest value. A trial's curve is thinned to at most 400 "
    "of its points.";
const char* const attempts_note =
    "Times of launch, start and end of each attempt in the controller's record, less the first "
    "launch; what has not ended reaches to the last time in the record.";

const ColumnNotes& comparison_notes() {
  static const ColumnNotes notes{
      {"best", estimate("The median over units of each trial's best value of the metric. ")},
      {"rank",
       "The place in the order of the medians of what the first note below the comparison names."},
      {"n", "Units with a value of what rows are ranked by, counted."},
      {"trials_used", "Trials that the row's units are made of, counted."},
      {"failed", "Trials of the row that failed, counted."},
      {"steps",
       std::string(to_target) +
           "The median over units of optimizer steps; (k/n): trials that reached the target."},
      {"seconds", std::string(to_target) +
                      "The median over units of seconds that the attempts ran up to that "
                      "point, from their start (time in the queue is left out)."},
      {"node_seconds",
       std::string(to_target) + "The median over units of nodes times seconds of all attempts."},
      {"money", std::string(to_target) + "Node time at the prices of config.yaml, the median."},
      {"cost", "The median over units of nodes times seconds of all attempts, to their end."},
      {"samples_per_s", "The median over units of the samples per second that trials reported."},
      {"improvement",
       "The share of pairs of units, one of the row and one of the first row, in which the row is "
       "better (ties count half). Rows of a single unit have none."},
      {"verdict",
       "The exact two-sided rank test over units against the first row; with enough seeds in "
       "common, the signed-rank test of the differences by seed. P-values are corrected for the "
       "pairs of rows that a test could distinguish (Shaffer's step-down). Where there are too few "
       "units: how many a test needs."},
      {"trials", "Trials of the row, by their ids."}};
  return notes;
}

const ColumnNotes& sweep_notes() {
  static const ColumnNotes notes{
      {"id", "The sweep's number, counted up by the controller."},
      {"finished", "Trials that have finished, of all, counted in the record."},
      {"best",
       "The best value of the metric that any trial has reported; trials that have diverged do not "
       "count."},
      {"time", "From the submission to the sweep's end, or until now."},
      {"submitted", "The controller's clock at the submission, in this machine's time zone."}};
  return notes;
}

const ColumnNotes& provenance_notes() {
  static const ColumnNotes notes{
      {"version", "The engine's version, as each attempt wrote it when it started."},
      {"commit", "The commit that the engine was built from, as each attempt wrote it."},
      {"device", "The device and its name, as each attempt found them."}};
  return notes;
}

}  // namespace thalweg::cli
