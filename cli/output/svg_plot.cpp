// The picture is put together from lines of text: a frame with round numbers at its ticks, for each
// series a band and a line, and a legend below in as many columns as fit.
#include "cli/output/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "cli/output/format.h"
#include "cli/output/svg.h"

namespace thalweg::cli {
namespace {

using svg::escaped;
using svg::line;
using svg::text_at;

constexpr double plot_width = 600, plot_height = 340;
constexpr double left = 84, top = 44, right = 24, below = 56;
constexpr double legend_row = 20, legend_line = 24, letter_width = 7.2;

/// From data to 0..1, with the numbers that its ticks show.
class Axis {
 public:
  Axis(double low, double high, bool logarithmic)
      : logarithmic_(logarithmic), low_(scaled(low)), high_(scaled(high)) {
    if (!(high_ > low_)) {
      const double around = logarithmic ? 0.5 : std::max(std::abs(low_) * 0.1, 1e-12);
      low_ -= around, high_ += around;
    }
  }
  double place(double value) const { return (scaled(value) - low_) / (high_ - low_); }

  std::vector<double> ticks() const {
    if (logarithmic_ && high_ - low_ >= 3) return decades();
    if (logarithmic_ && high_ - low_ >= 0.7) return ones_twos_and_fives();
    std::vector<double> values;
    const double low = value_of(low_), high = value_of(high_), step = round_step(high - low);
    for (double k = std::ceil(low / step); k * step <= high + step * 1e-9; ++k)
      values.push_back(k * step);
    return values;
  }

 private:
  double scaled(double value) const { return logarithmic_ ? std::log10(value) : value; }
  double value_of(double place) const { return logarithmic_ ? std::pow(10.0, place) : place; }

  std::vector<double> decades() const {
    std::vector<double> values;
    const double step = std::max(1.0, std::ceil((high_ - low_) / 8));
    for (double power = std::ceil(low_ - 1e-9); power <= high_ + 1e-9; power += step)
      values.push_back(std::pow(10.0, power));
    return values;
  }
  std::vector<double> ones_twos_and_fives() const {
    std::vector<double> values;
    for (double power = std::floor(low_); power <= high_; ++power)
      for (const double times : {1.0, 2.0, 5.0})
        if (const double at = power + std::log10(times); at >= low_ - 1e-9 && at <= high_ + 1e-9)
          values.push_back(times * std::pow(10.0, power));
    return values;
  }
  /// 1, 2 or 5 times a power of ten: six steps or so.
  static double round_step(double range) {
    const double raw = range / 6, power = std::pow(10.0, std::floor(std::log10(raw)));
    for (const double times : {1.0, 2.0, 5.0})
      if (power * times >= raw) return power * times;
    return power * 10;
  }

  bool logarithmic_;
  double low_, high_;
};

struct Frame {
  Axis x, y;
  double x_at(double value) const { return left + x.place(value) * plot_width; }
  double y_at(double value) const {
    return top + (1 - std::clamp(y.place(value), 0.0, 1.0)) * plot_height;
  }
};

bool shown(double x, double y, const SvgOptions& options) {
  return std::isfinite(x) && std::isfinite(y) && (!options.logarithmic || y > 0) &&
         (!options.log_x || x > 0);
}

/// What can be drawn is finite from here on, or a gap in its curve: NaN.
std::vector<PlotSeries> drawable(const std::vector<PlotSeries>& all, const SvgOptions& options) {
  std::vector<PlotSeries> kept = all;
  for (PlotSeries& series : kept) {
    for (PlotPoint& p : series.points)
      if (!shown(p.x, p.y, options)) p.y = std::nan("");
    for (PlotBand& b : series.band)
      if (!shown(b.x, b.low, options) || !shown(b.x, b.high, options)) b.low = std::nan("");
  }
  return kept;
}

bool is_gap(const PlotPoint& p) {
  return std::isnan(p.y);
}
bool is_gap(const PlotBand& b) {
  return std::isnan(b.low);
}

/// The runs between gaps.
template <class Part>
std::vector<std::vector<Part>> runs_of(const std::vector<Part>& parts) {
  std::vector<std::vector<Part>> runs(1);
  for (const Part& part : parts) {
    if (!is_gap(part))
      runs.back().push_back(part);
    else if (!runs.back().empty())
      runs.emplace_back();
  }
  if (runs.back().empty()) runs.pop_back();
  return runs;
}

Frame frame_of(const std::vector<PlotSeries>& all, const SvgOptions& options) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  double x0 = inf, x1 = -inf, y0 = inf, y1 = -inf;
  const auto take = [&](double x, double low, double high) {
    x0 = std::min(x0, x), x1 = std::max(x1, x), y0 = std::min(y0, low), y1 = std::max(y1, high);
  };
  for (const PlotSeries& series : all) {
    for (const PlotPoint& p : series.points)
      if (!is_gap(p)) take(p.x, p.y, p.y);
    for (const PlotBand& b : series.band)
      if (!is_gap(b)) take(b.x, b.low, b.high);
  }
  return {{x0, x1, options.log_x}, {y0, y1, options.logarithmic}};
}

std::string axes(const Frame& frame, const SvgOptions& options) {
  const double bottom = top + plot_height;
  std::string text;
  for (const double value : frame.y.ticks()) {
    const double y = frame.y_at(value);
    text += line(left, y, left + plot_width, y, "class=\"grid\"") +
            text_at(left - 8, y + 4, "end", format_number(value));
  }
  for (const double value : frame.x.ticks()) {
    const double x = frame.x_at(value);
    text += line(x, top, x, bottom, "class=\"grid\"") +
            text_at(x, bottom + 18, "middle", format_number(value));
  }
  text += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"frame\"/>\n"
      "<text class=\"middle\" transform=\"translate(18 {}) rotate(-90)\">{}</text>\n",
      left, top, plot_width, plot_height, top + plot_height / 2, escaped(options.y_name));
  return text + text_at(left + plot_width / 2, bottom + 40, "middle", options.x_name) +
         text_at(left, top - 16, "title", options.title);
}

/// Colours, and dashes where they begin again.
std::string stroke_of(std::size_t number) {
  constexpr std::array<const char*, 3> dashes = {"", " stroke-dasharray=\"7 4\"",
                                                 " stroke-dasharray=\"2 3\""};
  return fmt::format("stroke=\"{}\"{}", svg::kColours[number % svg::kColours.size()],
                     dashes[number / svg::kColours.size() % dashes.size()]);
}

std::string curve(const Frame& frame, const PlotSeries& series, std::size_t number) {
  const char* const colour = svg::kColours[number % svg::kColours.size()];
  const auto put = [&](std::string& to, double x, double y) {
    to += fmt::format("{:.1f},{:.1f} ", frame.x_at(x), frame.y_at(y));
  };
  std::string text;
  for (const std::vector<PlotBand>& run : runs_of(series.band)) {
    std::string band;
    for (const PlotBand& b : run)
      put(band, b.x, b.low);
    for (auto b = run.rbegin(); b != run.rend(); ++b)
      put(band, b->x, b->high);
    text += fmt::format("<polygon points=\"{}\" fill=\"{}\" opacity=\"0.15\"/>\n", band, colour);
  }
  for (const std::vector<PlotPoint>& run : runs_of(series.points)) {
    if (series.scattered || run.size() == 1) {
      for (const PlotPoint& p : run)
        text += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n",
                            frame.x_at(p.x), frame.y_at(p.y), series.scattered ? 4 : 3, colour);
      continue;
    }
    std::string points;
    for (const PlotPoint& p : run)
      put(points, p.x, p.y);
    text += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke-width=\"2\" "
        "stroke-linejoin=\"round\" {}/>\n",
        points, stroke_of(number));
  }
  return text;
}

/// As many columns as the longest label leaves room for.
std::size_t legend_columns(const std::vector<PlotSeries>& all) {
  std::size_t longest = 1;
  for (const PlotSeries& series : all)
    longest = std::max(longest, series.label.size());
  const double column = legend_line + 24 + static_cast<double>(longest) * letter_width;
  return std::max<std::size_t>(1, static_cast<std::size_t>((plot_width + right) / column));
}

std::string legend(const std::vector<PlotSeries>& all, double y0) {
  const std::size_t columns = legend_columns(all);
  const double column = (plot_width + right) / static_cast<double>(columns);
  std::string text;
  for (std::size_t s = 0; s < all.size(); ++s) {
    const double x = left + static_cast<double>(s % columns) * column;
    const double y = y0 + static_cast<double>(s / columns) * legend_row;
    text += (all[s].scattered
                 ? fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n",
                               x + legend_line / 2, y, svg::kColours[s % svg::kColours.size()])
                 : line(x, y, x + legend_line, y, "stroke-width=\"3\" " + stroke_of(s))) +
            text_at(x + legend_line + 8, y + 4, "", all[s].label);
  }
  return text;
}

}  // namespace

std::string svg_plot(const SvgOptions& options, const std::vector<PlotSeries>& series) {
  const std::vector<PlotSeries> all = drawable(series, options);
  if (std::all_of(all.begin(), all.end(), [](const auto& s) { return runs_of(s.points).empty(); }))
    return {};
  const bool labelled = all.size() > 1;
  const std::size_t columns = legend_columns(all);
  const double rows = labelled ? static_cast<double>((all.size() + columns - 1) / columns) : 0;
  const double bottom = top + plot_height + below;
  const double width = left + plot_width + right, height = bottom + rows * legend_row + 8;
  std::string text = svg::head(width, height);
  const Frame frame = frame_of(all, options);
  text += axes(frame, options);
  for (std::size_t s = 0; s < all.size(); ++s)
    text += curve(frame, all[s], s);
  if (labelled) text += legend(all, bottom + 8);
  return text + "</svg>\n";
}

}  // namespace thalweg::cli
