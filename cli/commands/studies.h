// The commands of rows of db/studies, and tables of their answers.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/common.h"
#include "db/studies/study.h"

namespace thalweg::cli {

struct StudyOptions {
  std::vector<std::string> ids;
  Format format;
};
/// The ids of sweeps (default: the newest), --json and --csv.
void add_study_options(Arguments& arguments, StudyOptions& options);

/// The controller's answer to GET /v1/studies/<name>?sweeps=… with further pairs of the query;
/// empty values are left out. Throws CommandError where an id is no sweep.
Json ask_study(Context& context, const StudyOptions& options, const std::string& name,
               const std::vector<std::pair<std::string, std::string>>& query);

/// How the numbers of a table's columns are computed: the text of the longest row whose key begins
/// the column's; a parameter's value where there is none.
using ColumnNotes = std::vector<std::pair<std::string, std::string>>;
/// Of the answer of a row of db/studies.
Table data_table(const db::DataTable& answer);
/// Those that people read, and that are known.
std::vector<std::pair<const db::DataFact*, std::string>> shown_facts(const db::DataTable& answer);

}  // namespace thalweg::cli
