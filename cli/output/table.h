// One table, printed for people (aligned, fitted to the window) or as CSV (raw values, everything).
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/output/terminal.h"

namespace thalweg::cli {

enum class Align { left, right };

struct Column {
  std::string key;    ///< the CSV heading; stable
  std::string title;  ///< the heading on the screen
  Align align = Align::left;
  bool shrinks = false;  ///< may be cut with "…" in a narrow window
  int leaves = 0;        ///< > 0: may be left out in a narrow window, the highest first
  bool csv_only = false;
  int least = 8;  ///< where it shrinks: cut further, it would say nothing any more
};

struct Cell {
  std::string text;   ///< on the screen
  std::string brief;  ///< there where the window is too narrow for `text`; empty: none
  std::string raw;    ///< in CSV
  Tint tint = Tint::none;
  std::string link = {};    ///< on a page: an address
  std::string style = {};   ///< there: classes of its style sheet
  std::string choice = {};  ///< there: a box to tick, of a form; the value that it sends as `sweep`

  Cell() = default;
  Cell(std::string both) : text(both), raw(std::move(both)) {}
  Cell(const char* both) : text(both), raw(both) {}
  Cell(std::string shown, std::string value, Tint t = Tint::none, std::string narrow = {})
      : text(std::move(shown)), brief(std::move(narrow)), raw(std::move(value)), tint(t) {}
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// One cell per column; missing ones are empty.
  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }
  /// `width` 0 = as wide as it likes; else no line is wider. Columns empty in every row are left
  /// out.
  void print(std::ostream& out, const Palette& palette, int width) const;
  void print_csv(std::ostream& out) const;
  /// A <table>, whole; columns that are empty in every row are left out.
  /// `after_title` gives what stands (HTML) behind the title of each column with a digit in it, by
  /// its key. `sortable`: the page's script lets the reader sort it; `searched`: and search it.
  void print_html(std::ostream& out,
                  const std::function<std::string(const std::string& key)>& after_title = {},
                  bool sortable = false, bool searched = false) const;

 private:
  struct Fitted;
  Fitted fit(int width) const;
  int width_of(std::size_t column, bool brief) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace thalweg::cli
