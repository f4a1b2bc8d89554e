// The commands of rows of db/studies, and tables of their answers.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/common.h"
#include "db/studies/study.h"

namespace thalweg::cli {

inline constexpr int kLabelColumns = 80;  ///< of a group's name in tables and legends

/// An option of a row, and where its value stands.
struct GivenOption {
  const db::StudyOption& option;
  bool flag = false;
  std::optional<double> number{};
  std::vector<std::string> names{};
  std::string word{};

  bool is_given() const { return flag || number || !names.empty() || !word.empty(); }
};

/// What is given of a study's command.
struct StudyOptions {
  std::vector<std::string> ids;
  Format format;
  std::string svg;              ///< a file, "-" for the standard output
  std::list<GivenOption> rows;  // arguments point into them
};
using Query = std::vector<std::pair<std::string, std::string>>;

/// The row's own options, --json and --csv.
void add_row_options(Arguments& arguments, const db::Study& study, StudyOptions& options);
/// As the controller is asked for them; of what was not given the value is empty.
Query query_of(Context& context, const StudyOptions& options);
/// As --json, --csv, --svg or text.
void print_answer(Context& context, const db::Study& study, const StudyOptions& options,
                  const Json& answer);

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
