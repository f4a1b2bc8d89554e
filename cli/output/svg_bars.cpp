// Each part is a rectangle with a tooltip (<title>); the axis is labelled at its end only, since
// the tooltips and the legend say the rest.
#include "cli/output/svg_bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/output/format.h"
#include "cli/output/svg.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

constexpr double bars_width = 600, min_left = 100, bars_top = 44, bars_right = 24;
constexpr double character = 8;  // of 13 px text, rather too wide
constexpr double bar_row = 34, thick = 22, bars_legend_row = 20, legend_column = 150;

double sum_of(const Bar& bar) {
  double sum = 0;
  for (const BarPart& part : bar.parts)
    sum += std::max(0.0, part.value);
  return sum;
}

std::string square(double x, double y, double wide, double high, std::size_t number,
                   const std::string& tooltip) {
  const std::size_t colours = svg::kColours.size();
  // Where colours begin again, they are paler.
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
      "fill-opacity=\"{}\"><title>{}</title></rect>\n",
      x, y, wide, high, svg::kColours[number % colours], number < colours ? "1" : "0.45",
      svg::escaped(tooltip));
}

}  // namespace

std::string svg_bars(const std::string& title, const std::string& unit,
                     const std::vector<Bar>& bars) {
  std::vector<std::string> names;
  double longest = 0, left = min_left;
  for (const Bar& bar : bars) {
    left = std::max(left, 16 + character * display_width(bar.label));
    longest = std::max(longest, sum_of(bar));
    for (const BarPart& part : bar.parts)
      if (part.value > 0 && std::find(names.begin(), names.end(), part.name) == names.end())
        names.push_back(part.name);
  }
  if (names.empty()) return {};
  const auto columns = static_cast<std::size_t>((left + bars_width) / legend_column);
  const double bottom = bars_top + bar_row * static_cast<double>(bars.size());
  const double legend = bottom + 44;
  const double rows = static_cast<double>((names.size() + columns - 1) / columns);
  std::string text = svg::head(left + bars_width + bars_right, legend + rows * bars_legend_row) +
                     svg::text_at(left, bars_top - 16, "title", title);
  for (std::size_t b = 0; b < bars.size(); ++b) {
    const double y = bars_top + bar_row * static_cast<double>(b);
    double x = left;
    text += svg::text_at(left - 8, y + thick - 6, "end", bars[b].label);
    for (const BarPart& part : bars[b].parts) {
      if (!(part.value > 0)) continue;
      const double wide = part.value / longest * bars_width;
      const auto number = std::find(names.begin(), names.end(), part.name) - names.begin();
      text += square(x, y, wide, thick, static_cast<std::size_t>(number),
                     fmt::format("{} {} {}", part.name, format_number(part.value), unit));
      x += wide;
    }
  }
  text += svg::line(left, bottom, left + bars_width, bottom, "stroke=\"#555\"") +
          svg::text_at(left, bottom + 18, "middle", "0") +
          svg::text_at(left + bars_width, bottom + 18, "end", format_number(longest) + " " + unit);
  for (std::size_t n = 0; n < names.size(); ++n) {
    const double x = 24 + static_cast<double>(n % columns) * legend_column;
    const double y = legend + static_cast<double>(n / columns) * bars_legend_row;
    text += square(x, y - 11, 14, 14, n, names[n]) + svg::text_at(x + 20, y, "", names[n]);
  }
  return text + "</svg>\n";
}

}  // namespace thalweg::cli
