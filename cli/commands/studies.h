// The commands of rows of db/studies, and tables of their answers.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/common.h"
#include "db/studies/study.h"

namespace thalweg::cli {

inline constexpr int kLabelColumns = 80;  ///< of a group's name in tables and legends

struct StudyOptions {
  std::vector<std::string> ids;
  Format format;
};
/// The ids of sweeps (default: the newest) or of trials, --json and --csv.
void add_study_options(Arguments& arguments, const db::Study& study, StudyOptions& options);

/// The controller's answer to GET /v1/studies/<name>?sweeps=… (or trials=…) with further pairs of
/// the query; empty values are left out. Throws CommandError where an id is of another kind.
Json ask_study(Context& context, const db::Study& study, const StudyOptions& options,
               const std::vector<std::pair<std::string, std::string>>& query);

/// How the numbers of a table's columns are computed: the text of the longest row whose key begins
/// the column's; a parameter's value where there is none.
using ColumnNotes = std::vector<std::pair<std::string, std::string>>;
extern const char* const parameter_note;
ColumnNotes notes_of_columns(const db::DataTable& answer);
/// Of the answer of a row of db/studies. `drawn`: a bar beside each portion.
Table data_table(const db::DataTable& answer, bool drawn = false);
/// For a page's script, and as SVG: of bars the first so many.
std::pair<Json, std::string> drawn(const std::string& id, const db::DataChart& chart,
                                   std::size_t max_bars);
/// Those that people read, and that are known.
std::vector<std::pair<const db::DataFact*, std::string>> shown_facts(const db::DataTable& answer);

}  // namespace thalweg::cli
