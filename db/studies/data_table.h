// A table as values: what a study answers, before anybody prints it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jobspec/enum_names.h"

namespace thalweg::db {

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

struct DataTable {
  std::vector<DataColumn> columns;
  std::vector<std::vector<Datum>> rows;  ///< one value for each column
  std::vector<std::string> notes;        ///< sentences below it
};

}  // namespace thalweg::db

namespace thalweg::jobspec {

template <>
struct EnumNames<db::DataColumn::Shows> {
  static constexpr std::string_view what = "kind of a column";
  static constexpr std::array<std::string_view, 5> names = {"text", "number", "count", "duration",
                                                            "share"};
};

}  // namespace thalweg::jobspec
