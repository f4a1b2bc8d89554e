#include "cli/output/plot.h"

#include <algorithm>
#include <cmath>

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
      : columns_(columns), cells_(columns * rows, 0), owners_(columns * rows, 0) {}
  int dots_across() const { return columns_ * 2; }
  int dots_down() const { return static_cast<int>(cells_.size()) / columns_ * 4; }

  void dot(int x, int y, int series) {
    constexpr unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    const int cell = y / 4 * columns_ + x / 2;
    cells_[cell] |= bits[y % 4][x % 2];
    owners_[cell] = series;
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
      else
        text += palette(owner.tint, owner.letter != 0 ? std::string(1, owner.letter)
                                                      : utf8(0x2800 + cells_[at]));
    }
    return text;
  }

 private:
  int columns_;
  std::vector<unsigned char> cells_;
  std::vector<int> owners_;  ///< which series drew there last
};

}  // namespace

namespace {

std::vector<PlotPoint> drawable(const std::vector<PlotPoint>& points, bool logarithmic) {
  std::vector<PlotPoint> kept;
  for (PlotPoint p : points) {
    if (logarithmic) p.y = p.y > 0 ? std::log10(p.y) : std::nan("");
    if (std::isfinite(p.x) && std::isfinite(p.y)) kept.push_back(p);
  }
  return kept;
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
                              bool logarithmic, const std::string& x_name, const Palette& palette) {
  std::vector<std::vector<PlotPoint>> kept;
  const PlotPoint* any = nullptr;
  for (const PlotSeries& each : series)
    kept.push_back(drawable(each.points, logarithmic));
  for (const auto& points : kept)
    if (any == nullptr && !points.empty()) any = &points[0];
  if (any == nullptr) return {};
  Range x{any->x, any->x}, y{any->y, any->y};
  for (const auto& points : kept)
    for (const PlotPoint& p : points) {
      x = {std::min(x.low, p.x), std::max(x.high, p.x)};
      y = {std::min(y.low, p.y), std::max(y.high, p.y)};
    }
  const auto label = [&](double v) { return format_number(logarithmic ? std::pow(10.0, v) : v); };
  const std::string top = label(y.high), middle = label((y.low + y.high) / 2),
                    bottom = label(y.low);
  const int margin = std::max({display_width(top), display_width(middle), display_width(bottom)});
  Canvas canvas(std::max(10, size.columns - margin - 3), std::max(3, size.rows - 2));

  const auto across = [&](double v) {
    return static_cast<int>(std::lround(x.place(v) * (canvas.dots_across() - 1)));
  };
  const auto down = [&](double v) {
    return static_cast<int>(std::lround((1 - y.place(v)) * (canvas.dots_down() - 1)));
  };
  for (std::size_t s = 0; s < kept.size(); ++s)
    for (std::size_t i = 0; i < kept[s].size(); ++i) {
      const PlotPoint &from = kept[s][i > 0 ? i - 1 : 0], &to = kept[s][i];
      canvas.line(across(from.x), down(from.y), across(to.x), down(to.y), static_cast<int>(s));
    }
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
  lines.push_back(std::string(margin + 2, ' ') + axis_labels(format_number(x.low), x_name,
                                                             format_number(x.high),
                                                             canvas.dots_across() / 2));
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
