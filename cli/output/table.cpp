#include "cli/output/table.h"

#include <algorithm>
#include <numeric>
#include <ostream>

#include "cli/output/csv.h"
#include "cli/output/svg.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

constexpr int gap = 2;
constexpr int hard_least = 4;  ///< the last resort: "12.…"

const std::string& shown_of(const Cell& cell, bool brief) {
  return brief && !cell.brief.empty() ? cell.brief : cell.text;
}

}  // namespace

struct Table::Fitted {
  std::vector<int> widths;            ///< per column; 0 = not shown
  std::vector<int> least;             ///< how far each may be cut
  bool brief = false;                 ///< short forms of cells that have one
  std::vector<std::string> left_out;  ///< titles

  static int total(const std::vector<int>& widths) {
    const auto shown = std::count_if(widths.begin(), widths.end(), [](int w) { return w > 0; });
    return std::accumulate(widths.begin(), widths.end(), 0) +
           gap * static_cast<int>(std::max<std::ptrdiff_t>(0, shown - 1));
  }
  bool can_fit(int width) const {
    std::vector<int> smallest(widths);
    for (std::size_t c = 0; c < widths.size(); ++c)
      smallest[c] = std::min(widths[c], least[c]);
    return total(smallest) <= width;
  }
  void leave_out(std::size_t column, const std::string& title) {
    widths[column] = 0;
    left_out.push_back(title);
  }
  /// The widest that may be cut, a column at a time.
  void shrink_to(int width) {
    while (total(widths) > width) {
      std::size_t widest = widths.size();
      for (std::size_t c = 0; c < widths.size(); ++c)
        if (widths[c] > least[c] && (widest == widths.size() || widths[c] > widths[widest]))
          widest = c;
      if (widest == widths.size()) break;
      --widths[widest];
    }
  }
};

void Table::add(std::vector<Cell> row) {
  row.resize(columns_.size());
  for (Cell& cell : row) {
    cell.text = printable(cell.text);
    cell.brief = printable(cell.brief);
  }
  rows_.push_back(std::move(row));
}

int Table::width_of(std::size_t column, bool brief) const {
  int widest = 0;
  for (const auto& row : rows_)
    widest = std::max(widest, display_width(shown_of(row[column], brief)));
  const bool shown = !columns_[column].csv_only && (widest > 0 || rows_.empty());
  return shown ? std::max(widest, display_width(columns_[column].title)) : 0;
}

/// First leaves out what may be left out until the rest could fit, then takes short forms, then
/// cuts further than is good, then leaves out the last columns.
Table::Fitted Table::fit(int width) const {
  Fitted fitted;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    fitted.widths.push_back(width_of(c, false));
    fitted.least.push_back(columns_[c].shrinks ? columns_[c].least : fitted.widths[c]);
  }
  if (width <= 0) return fitted;
  while (!fitted.can_fit(width)) {
    std::size_t out = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (fitted.widths[c] > 0 && columns_[c].leaves > 0 &&
          (out == columns_.size() || columns_[c].leaves > columns_[out].leaves))
        out = c;
    if (out == columns_.size()) break;
    fitted.leave_out(out, columns_[out].title);
  }
  if (!fitted.can_fit(width)) {
    fitted.brief = true;
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (fitted.widths[c] > 0) fitted.widths[c] = width_of(c, true);
  }
  for (const bool all : {false, true}) {
    if (fitted.can_fit(width)) break;
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (all || columns_[c].shrinks) fitted.least[c] = hard_least;
  }
  for (std::size_t c = columns_.size(); c-- > 1 && !fitted.can_fit(width);)
    if (fitted.widths[c] > 0) fitted.leave_out(c, columns_[c].title);
  if (!fitted.can_fit(width)) fitted.least.front() = 1;
  fitted.shrink_to(width);
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
      const std::string shown = truncate(shown_of(cell, fitted.brief), w);
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

namespace {

bool has_digit(const std::string& text) {
  return text.find_first_of("0123456789") != std::string::npos;
}

std::string html_of(const Cell& cell) {
  std::string html = svg::escaped(cell.text);
  if (!cell.style.empty())
    html = "<span class=\"" + svg::escaped_attribute(cell.style) + "\">" + html + "</span>";
  if (!cell.link.empty())
    html = "<a href=\"" + svg::escaped_attribute(cell.link) + "\">" + html + "</a>";
  if (!cell.choice.empty())
    html = "<label><input type=\"checkbox\" name=\"sweep\" value=\"" +
           svg::escaped_attribute(cell.choice) + "\"> " + html + "</label>";
  return html;
}

}  // namespace

void Table::print_html(std::ostream& out,
                       const std::function<std::string(const std::string&)>& after_title,
                       bool sortable, bool searched) const {
  const auto number_class = [&](std::size_t c) {
    return columns_[c].align == Align::right ? " class=\"number\"" : "";
  };
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (width_of(c, false) > 0) shown.push_back(c);
  out << (searched   ? "<table class=\"sortable searched\">\n"
          : sortable ? "<table class=\"sortable\">\n"
                     : "<table>\n")
      << "<thead><tr>";
  for (const std::size_t c : shown) {
    const bool numbers = std::any_of(rows_.begin(), rows_.end(),
                                     [&](const auto& row) { return has_digit(row[c].text); });
    out << "<th scope=\"col\"" << number_class(c) << "><span>" << svg::escaped(columns_[c].title)
        << "</span>";
    if (numbers && after_title) out << after_title(columns_[c].key);
    out << "</th>";
  }
  out << "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows_) {
    out << "<tr>";
    for (const std::size_t c : shown) {
      out << "<td" << number_class(c);
      const Cell& cell = row[c];
      // Numbers of searched tables always say their value.
      if (sortable && (cell.raw != cell.text || (searched && columns_[c].align == Align::right)))
        out << " data-v=\"" << svg::escaped_attribute(cell.raw) << '"';
      out << '>' << html_of(cell) << "</td>";
    }
    out << "</tr>\n";
  }
  out << "</tbody>\n</table>\n";
}

}  // namespace thalweg::cli
