// A table as values: what a study answers, before anybody prints it.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jobspec/enum_names.h"

namespace thalweg::db {

/// A number and how far it can be told: infinite where it is not bounded.
struct DataInterval {
  double value = 0, low = 0, high = 0;
};

/// Nothing, a number (NaN: not known; infinite: never reached), a text or whether something holds.
using Datum = std::variant<std::monostate, double, std::string, bool, DataInterval>;

/// The head of a column, or of a fact.
struct DataColumn {
  /// How people read its numbers; scripts get them as they are.
  enum class Shows {
    text,
    number,
    count,     ///< whole, with "," between thousands
    duration,  ///< of seconds
    share,
    integer,  ///< whole: ids, and what is never large
    finite,   ///< a number; others are not known
    rate,     ///< of a second
    times,    ///< with two digits behind the point
    flag,
    percent,  ///< a share with a digit behind the point
    portion,  ///< a share, drawn on a terminal, too
    interval  ///< 95 % of it; scripts get its ends as KEY_low and KEY_high
  };
  std::string key;    ///< of scripts: letters, digits and "_", or a parameter's full name
  std::string title;  ///< over the column; of a fact before it, and empty where it is for scripts
  Shows shows = Shows::text;
  std::string note{};  ///< a footnote; empty: a parameter's value as it was given
  int leaves = 0;      ///< > 0: may be left out in a narrow window, the highest first

  static void each_field(auto& e, auto&& field) {
    field("key", e.key);
    field("title", e.title);
    field("shows", e.shows);
    field("note", e.note);
    field("leaves", e.leaves);
  }
};

/// The values of a parameter, below the last part of its name.
inline DataColumn parameter_column(const std::string& name) {
  return {name, name.substr(name.rfind('.') + 1)};
}
/// One of them, of a row's.
inline Datum text_of(const std::map<std::string, std::string>& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? Datum() : found->second;
}

/// What holds of the whole answer.
struct DataFact {
  DataColumn head;
  Datum value;
};

struct DataSeries {
  std::string label;
  bool scattered = false;        ///< points without lines between them
  std::vector<double> x{}, y{};  ///< of bars no x

  static void each_field(auto& e, auto&& field) {
    field("label", e.label);
    field("scattered", e.scattered);
    field("x", e.x);
    field("y", e.y);
  }
};

/// Lines and dots over common axes; or bars below each other, of which each series is a part.
struct DataChart {
  std::string title, x_name, y_name;  ///< of bars: y is what they measure
  bool log_x = false, log_y = false;
  std::vector<std::string> bars{};  ///< their names; empty: lines
  std::vector<DataSeries> series{};
  std::string caption{}, note{};

  static void each_field(auto& e, auto&& field) {
    field("title", e.title);
    field("x_name", e.x_name);
    field("y_name", e.y_name);
    field("log_x", e.log_x);
    field("log_y", e.log_y);
    field("bars", e.bars);
    field("series", e.series);
    field("caption", e.caption);
    field("note", e.note);
  }
};

struct DataTable {
  std::vector<DataColumn> columns;
  std::vector<std::vector<Datum>> rows;  ///< one value for each column
  std::vector<std::string> notes;        ///< sentences below it
  std::vector<DataFact> facts{};
  std::vector<std::string> summary{};  ///< sentences right below it on a terminal
  std::vector<DataChart> charts{};
  bool telling = true;  ///< enough for a section of a report
  /// What is asked of the same data in other rows; CSV has the first table alone.
  std::vector<DataTable> further{};
  std::string key{};    ///< of a further one, for scripts
  std::string title{};  ///< above it on a terminal; may be empty
};

}  // namespace thalweg::db

namespace thalweg::jobspec {

template <>
struct EnumNames<db::DataColumn::Shows> {
  static constexpr std::string_view what = "kind of a column";
  static constexpr std::array<std::string_view, 13> names = {
      "text", "number", "count", "duration", "share",   "integer", "finite",
      "rate", "times",  "flag",  "percent",  "portion", "interval"};
};

}  // namespace thalweg::jobspec
