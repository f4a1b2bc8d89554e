#include "cli/output/table.h"

#include <algorithm>
#include <numeric>
#include <ostream>

#include "cli/output/csv.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

constexpr int gap = 2;

}  // namespace

struct Table::Fitted {
  std::vector<int> widths;            ///< per column; 0 = not shown
  std::vector<std::string> left_out;  ///< titles

  int total() const {
    const auto shown = std::count_if(widths.begin(), widths.end(), [](int w) { return w > 0; });
    return std::accumulate(widths.begin(), widths.end(), 0) +
           gap * static_cast<int>(std::max<std::ptrdiff_t>(0, shown - 1));
  }
};

void Table::add(std::vector<Cell> row) {
  row.resize(columns_.size());
  for (Cell& cell : row)
    cell.text = printable(cell.text);
  rows_.push_back(std::move(row));
}

Table::Fitted Table::fit(int width) const {
  Fitted fitted;
  std::vector<int> smallest;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    int widest = 0;
    for (const auto& row : rows_)
      widest = std::max(widest, display_width(row[c].text));
    const bool shown = !columns_[c].csv_only && (widest > 0 || rows_.empty());
    fitted.widths.push_back(shown ? std::max(widest, display_width(columns_[c].title)) : 0);
    smallest.push_back(columns_[c].shrinks ? std::min(fitted.widths[c], columns_[c].least)
                                           : fitted.widths[c]);
  }
  if (width <= 0) return fitted;
  // First leave out what may be left out until the rest could fit, then cut the widest again and
  // again.
  const auto could_be = [&] {
    Fitted least = fitted;
    for (std::size_t c = 0; c < columns_.size(); ++c)
      least.widths[c] = std::min(least.widths[c], smallest[c]);
    return least.total();
  };
  while (could_be() > width) {
    std::size_t out = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (fitted.widths[c] > 0 && columns_[c].leaves > 0 &&
          (out == columns_.size() || columns_[c].leaves > columns_[out].leaves))
        out = c;
    if (out == columns_.size()) break;
    fitted.widths[out] = 0;
    fitted.left_out.push_back(columns_[out].title);
  }
  while (fitted.total() > width) {
    std::size_t widest = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (fitted.widths[c] > smallest[c] &&
          (widest == columns_.size() || fitted.widths[c] > fitted.widths[widest]))
        widest = c;
    if (widest == columns_.size()) break;
    --fitted.widths[widest];
  }
  return fitted;
}

void Table::print(std::ostream& out, const Palette& palette, int width) const {
  const Fitted fitted = fit(width);
  const auto line = [&](const auto& cell_at) {
    std::string text;
    int owed = 0;  // spaces that are only written when something follows: no trailing blanks
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const int w = fitted.widths[c];
      if (w == 0) continue;
      const Cell& cell = cell_at(c);
      const std::string shown = truncate(cell.text, w);
      const int missing = w - display_width(shown);
      if (columns_[c].align == Align::right) owed += missing;
      if (!shown.empty()) {
        text += std::string(owed, ' ') + palette(cell.tint, shown);
        owed = 0;
      }
      if (columns_[c].align == Align::left) owed += missing;
      owed += gap;
    }
    out << text << '\n';
  };
  std::vector<Cell> titles;
  for (const Column& column : columns_)
    titles.emplace_back(column.title, "", Tint::bold);
  line([&](std::size_t c) -> const Cell& { return titles[c]; });
  for (const auto& row : rows_)
    line([&](std::size_t c) -> const Cell& { return row[c]; });
  if (!fitted.left_out.empty())
    out << palette(Tint::dim, truncate("not shown for lack of width: " +
                                           join(fitted.left_out, ", ") + " (--json has all)",
                                       width))
        << '\n';
}

void Table::print_csv(std::ostream& out) const {
  std::vector<std::string> fields;
  for (const Column& column : columns_)
    fields.push_back(column.key);
  write_csv_line(out, fields);
  for (const auto& row : rows_) {
    fields.clear();
    for (const Cell& cell : row)
      fields.push_back(cell.raw);
    write_csv_line(out, fields);
  }
}

}  // namespace thalweg::cli
