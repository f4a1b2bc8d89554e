#include "cli/output/plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cli/output/format.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

struct Range {
  double low = 0, high = 0;
  /// 0..1; the middle where all values are one.
  double place(double v) const { return high > low ? (v - low) / (high - low) : 0.5; }
};

std::string utf8(char32_t code) {  // only for the braille block, three bytes each
  return {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

/// 2×4 dots per character cell.
class Canvas {
 public:
  Canvas(int columns, int rows)
      : columns_(columns),
        cells_(columns * rows, 0),
        owners_(columns * rows, 0),
        shaded_(columns * rows, false) {}
  int dots_across() const { return columns_ * 2; }
  int dots_down() const { return static_cast<int>(cells_.size()) / columns_ * 4; }

  void dot(int x, int y, int series) {
    const int cell = y / 4 * columns_ + x / 2;
    if (shaded_[cell]) cells_[cell] = 0;
    shaded_[cell] = false;
    put(x, y, series);
  }
  /// A column of a band, before any line: every second dot of every second column.
  void shade(int x, int y0, int y1, int series) {
    for (int y = y0; y <= y1; ++y) {
      const int cell = y / 4 * columns_ + x / 2;
      if (cells_[cell] != 0 && owners_[cell] != series) continue;  // an earlier band
      if (x % 2 != 0 || (y + x / 2) % 2 != 0) continue;
      put(x, y, series);
      shaded_[cell] = true;
    }
  }
  void line(int x0, int y0, int x1, int y1, int series) {
    const int n = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= n; ++i)
      dot(static_cast<int>(std::lround(x0 + (x1 - x0) * static_cast<double>(i) / n)),
          static_cast<int>(std::lround(y0 + (y1 - y0) * static_cast<double>(i) / n)), series);
  }
  std::string row(int y, const std::vector<PlotSeries>& series, const Palette& palette) const {
    int end = columns_;
    while (end > 0 && cells_[y * columns_ + end - 1] == 0)
      --end;
    std::string text;
    for (int x = 0; x < end; ++x) {
      const int at = y * columns_ + x;
      const PlotSeries& owner = series[owners_[at]];
      if (cells_[at] == 0)
        text += " ";
      else if (owner.letter != 0)
        text += palette(owner.tint, shaded_[at] ? "·" : std::string(1, owner.letter));
      else
        text += palette(owner.tint, utf8(0x2800 + cells_[at]));
    }
    return text;
  }

 private:
  void put(int x, int y, int series) {
    constexpr unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    const int cell = y / 4 * columns_ + x / 2;
    cells_[cell] |= bits[y % 4][x % 2];
    owners_[cell] = series;
  }

  int columns_;
  std::vector<unsigned char> cells_;
  std::vector<int> owners_;   ///< which series drew there last
  std::vector<bool> shaded_;  ///< only a band is there
};

double scaled(double value, bool logarithmic) {
  if (!logarithmic) return value;
  return value > 0 ? std::log10(value) : std::nan("");
}

/// What can be drawn, in units of the axes.
PlotSeries drawable(const PlotSeries& series, const PlotAxes& axes) {
  PlotSeries kept;
  kept.scattered = series.scattered;
  for (const PlotPoint& p : series.points)
    kept.points.push_back({scaled(p.x, axes.log_x), scaled(p.y, axes.log_y)});
  for (const PlotBand& b : series.band)
    kept.band.push_back(
        {scaled(b.x, axes.log_x), scaled(b.low, axes.log_y), scaled(b.high, axes.log_y)});
  return kept;
}

bool shown(const PlotPoint& p) {
  return std::isfinite(p.x) && std::isfinite(p.y);
}
bool shown(const PlotBand& b) {
  return std::isfinite(b.x) && std::isfinite(b.low) && std::isfinite(b.high);
}

struct Ranges {
  Range x, y;
};

/// Of all points and bands; nothing where there is no point.
std::optional<Ranges> ranges_of(const std::vector<PlotSeries>& all) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  Ranges r{{inf, -inf}, {inf, -inf}};
  const auto take = [&r](double x, double low, double high) {
    r.x = {std::min(r.x.low, x), std::max(r.x.high, x)};
    r.y = {std::min(r.y.low, low), std::max(r.y.high, high)};
  };
  bool any = false;
  for (const PlotSeries& series : all) {
    for (const PlotPoint& p : series.points)
      if (shown(p)) take(p.x, p.y, p.y), any = true;
    for (const PlotBand& b : series.band)
      if (shown(b)) take(b.x, b.low, b.high);
  }
  if (!any) return std::nullopt;
  return r;
}

/// Places in a canvas.
struct Places {
  const Canvas& canvas;
  const Ranges& ranges;

  int across(double x) const {
    return static_cast<int>(std::lround(ranges.x.place(x) * (canvas.dots_across() - 1)));
  }
  int down(double y) const {
    return static_cast<int>(std::lround((1 - ranges.y.place(y)) * (canvas.dots_down() - 1)));
  }
};

void draw_band(Canvas& canvas, const Places& at, const std::vector<PlotBand>& band, int series) {
  for (std::size_t i = 1; i < band.size(); ++i) {
    const PlotBand &from = band[i - 1], &to = band[i];
    if (!shown(from) || !shown(to)) continue;
    const int x0 = at.across(from.x), x1 = at.across(to.x);
    for (int x = x0; x <= x1; ++x) {
      const double part = x1 > x0 ? static_cast<double>(x - x0) / (x1 - x0) : 0;
      canvas.shade(x, at.down(from.high + part * (to.high - from.high)),
                   at.down(from.low + part * (to.low - from.low)), series);
    }
  }
}

void draw_points(Canvas& canvas, const Places& at, const PlotSeries& drawn, int series) {
  for (std::size_t i = 0; i < drawn.points.size(); ++i) {
    if (!shown(drawn.points[i])) continue;
    const bool joined = i > 0 && !drawn.scattered && shown(drawn.points[i - 1]);
    const PlotPoint &from = drawn.points[joined ? i - 1 : i], &to = drawn.points[i];
    canvas.line(at.across(from.x), at.down(from.y), at.across(to.x), at.down(to.y), series);
  }
}

/// "0 ... step ... 300" below an axis of so many columns; the name is left out where there is no
/// room for it.
std::string axis_labels(const std::string& first, const std::string& name, const std::string& last,
                        int columns) {
  const int between = columns - display_width(first) - display_width(last);
  const int before = (between - display_width(name)) / 2;
  if (before < 1) return first + std::string(std::max(1, between), ' ') + last;
  return first + std::string(before, ' ') + name +
         std::string(between - before - display_width(name), ' ') + last;
}

}  // namespace

std::vector<std::string> plot(const std::vector<PlotSeries>& series, TerminalSize size,
                              const PlotAxes& axes, const Palette& palette) {
  std::vector<PlotSeries> kept;
  for (const PlotSeries& each : series)
    kept.push_back(drawable(each, axes));
  const auto ranges = ranges_of(kept);
  if (!ranges) return {};
  const auto label = [](double v, bool logarithmic) {
    return format_number(logarithmic ? std::pow(10.0, v) : v);
  };
  const Range& y = ranges->y;
  const std::string top = label(y.high, axes.log_y), bottom = label(y.low, axes.log_y),
                    middle = label((y.low + y.high) / 2, axes.log_y);
  const int margin = std::max({display_width(top), display_width(middle), display_width(bottom)});
  Canvas canvas(std::max(10, size.columns - margin - 3), std::max(3, size.rows - 2));
  const Places at{canvas, *ranges};
  for (std::size_t s = 0; s < kept.size(); ++s)
    draw_band(canvas, at, kept[s].band, static_cast<int>(s));
  for (std::size_t s = 0; s < kept.size(); ++s)
    draw_points(canvas, at, kept[s], static_cast<int>(s));
  const int rows = canvas.dots_down() / 4;
  std::vector<std::string> lines;
  for (int row = 0; row < rows; ++row) {
    const std::string& name = row == 0          ? top
                              : row == rows - 1 ? bottom
                              : row == rows / 2 ? middle
                                                : "";
    lines.push_back(pad_left(name, margin) + (name.empty() ? " │" : " ┤") +
                    canvas.row(row, series, palette));
  }
  std::string axis = std::string(margin, ' ') + " └";
  for (int i = 0; i < canvas.dots_across() / 2; ++i)
    axis += "─";
  lines.push_back(axis);
  lines.push_back(std::string(margin + 2, ' ') +
                  axis_labels(label(ranges->x.low, axes.log_x), axes.x_name,
                              label(ranges->x.high, axes.log_x), canvas.dots_across() / 2));
  return lines;
}

std::string sparkline(const std::vector<double>& values, int width) {
  std::vector<double> kept;
  for (const double v : values)
    if (std::isfinite(v)) kept.push_back(v);
  if (kept.empty() || width <= 0) return {};
  const Range range{*std::min_element(kept.begin(), kept.end()),
                    *std::max_element(kept.begin(), kept.end())};
  const char* const levels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto columns = std::min<std::size_t>(width, kept.size());
  std::string text;
  for (std::size_t i = 0; i < columns; ++i) {
    const double v = kept[columns > 1 ? i * (kept.size() - 1) / (columns - 1) : 0];
    text += levels[std::clamp(static_cast<int>(range.place(v) * 8), 0, 7)];
  }
  return text;
}

}  // namespace thalweg::cli
