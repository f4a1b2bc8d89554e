// A table as values: what a study answers, before anybody prints it.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace thalweg {

/// Nothing, a number (NaN: not known; infinite: never reached) or a text.
using Datum = std::variant<std::monostate, double, std::string>;

struct DataColumn {
  /// How people read its numbers; scripts get them as they are.
  enum class Shows { text, number, count, duration, share };
  std::string key;    ///< of scripts: letters, digits and "_", or a parameter's full name
  std::string title;  ///< over the column
  Shows shows = Shows::text;
  std::string note{};  ///< a footnote; empty: none
};

/// "text", "number", ...
std::string_view name_of(DataColumn::Shows shows);

struct DataTable {
  std::vector<DataColumn> columns;
  std::vector<std::vector<Datum>> rows;  ///< one value for each column
  std::vector<std::string> notes;        ///< sentences below it
};

}  // namespace thalweg
