// The page of a sweep, or of several beside each other, for `report` and `serve`: put together from
// what the controller answers.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/common.h"
#include "cli/commands/comparison.h"
#include "cli/commands/studies.h"
#include "cli/output/html.h"

namespace thalweg::cli {

struct ReportOptions {
  std::vector<std::string> by, best_over;
  std::vector<std::string> also;  ///< further sweeps, by their numbers, for performance profiles
  /// Sweeps, by their numbers, whose rows stand beside this one's: the page compares them.
  std::vector<std::string> others = {};
  bool live = false;       ///< a server's page: it refreshes itself while the sweep goes on
  std::string links = {};  ///< HTML above the heading
};

/// --by and --best-over of a page.
void add_grouping(Arguments& arguments, std::vector<std::string>& by,
                  std::vector<std::string>& best_over);

class ReportPage {
 public:
  /// Throws ApiError where there is no such sweep.
  ReportPage(Context& context, const ReportOptions& options, const jobspec::Id& id);
  std::string text();

 private:
  // Sections; one that the sweep has nothing for is left out.
  void add_summary();
  void add_sweeps();
  void add_comparison();
  void add_configurations();
  void add_parallel();
  void add_curves();
  bool add_curve(const std::string& metric, const std::string& id, std::string& html);
  void add_studies();
  void add_study(const db::Study& study);
  void add_timeline();
  std::string best_trial_times();
  void add_provenance();

  bool several() const { return !options_.others.empty(); }
  Json ask(const std::string& path);
  /// Null where the sweep has nothing for it (no target, say).
  Json ask_if_any(const std::string& path);
  /// Columns, then rows, of a query whose only parameter is the sweep.
  Json query(const std::string& sql, std::int64_t max_rows);
  /// Empty where the sweep is none that the study could tell something of.
  std::string path_of_study(const db::Study& study) const;
  std::string compare_path(const std::vector<std::string>& by,
                           const std::vector<std::string>& best_over, int top) const;

  /// `kind`: a class of the page's style sheet.
  std::string html_of(const Table& table, const ColumnNotes& notes, bool sortable = false,
                      const std::string& kind = "");
  /// A figure with its caption, and its chart for the script. Empty where `still` is.
  std::string figure(const Json& chart, const std::string& still, const std::string& caption,
                     const std::string& note);

  Context& context_;
  const ReportOptions& options_;
  jobspec::Id id_;
  Json sweep_;
  ComparisonMessage configurations_;  ///< a row each, the best ones
  ComparisonMessage comparison_;      ///< by what was asked for, the best rows
  HtmlPage page_;
};

// Texts of footnotes (report_notes.cpp).
const ColumnNotes& comparison_notes();
const ColumnNotes& provenance_notes();
extern const char* const state_count_note;
extern const char* const curve_note;
extern const char* const attempts_note;
/// Of a table of sweeps: id, finished, best, time, submitted.
const ColumnNotes& sweep_notes();

}  // namespace thalweg::cli
