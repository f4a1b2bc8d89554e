// What the statistics over one or several sweeps share: rows of db/studies, and batch.
#pragma once

#include <functional>
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

/// The controller's answer to GET /v1/<path>?sweeps=… with further pairs of the query; empty values
/// are left out. `path`: the command's name where it is empty. Throws CommandError where an id is
/// no sweep.
Json ask_study(Context& context, const StudyOptions& options, const std::string& name,
               const std::vector<std::pair<std::string, std::string>>& query,
               const std::string& path = "");

/// How the numbers of a table's columns are computed: the text of the longest row whose key begins
/// the column's; a parameter's value where there is none.
using ColumnNotes = std::vector<std::pair<std::string, std::string>>;
/// Of the answer of a row of db/studies.
Table data_table(const db::DataTable& answer);
/// Those that people read, and that are known.
std::vector<std::pair<const db::DataFact*, std::string>> shown_facts(const db::DataTable& answer);

/// A column for each of these members of the rows: key, title, and how a number is shown (texts
/// stand as they are).
struct StudyColumn {
  std::string key, title;
  std::function<std::string(std::optional<double>)> show{};
  int leaves = 0;  ///< as Column::leaves
};
/// A member of a row; of a map within it where `key` has a "/": "chosen/optimizer.lr"; of an
/// estimate its median.
const Json& study_member(const Json& row, const std::string& key);
Table study_table(const Json& rows, const std::vector<StudyColumn>& columns);

/// The answer as --json, --csv or the table, with the notes below.
void print_study(Context& context, const StudyOptions& options, const Json& answer,
                 const Table& table);

// Of the answers of the controller, for a command and for `report`. `wide`: what is for scripts,
// too.
Table batch_table(const Json& answer, bool wide = false);
/// "718 [402, 1300]": the critical batch of an answer with a fit.
std::string critical_batch_text(const Json& answer);

}  // namespace thalweg::cli
