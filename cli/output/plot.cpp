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
  Canvas(int columns, int rows) : columns_(columns), rows_(rows), cells_(columns * rows, 0) {}
  int dots_across() const { return columns_ * 2; }
  int dots_down() const { return rows_ * 4; }

  void dot(int x, int y) {
    constexpr unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cells_[y / 4 * columns_ + x / 2] |= bits[y % 4][x % 2];
  }
  void line(int x0, int y0, int x1, int y1) {
    const int n = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= n; ++i)
      dot(static_cast<int>(std::lround(x0 + (x1 - x0) * static_cast<double>(i) / n)),
          static_cast<int>(std::lround(y0 + (y1 - y0) * static_cast<double>(i) / n)));
  }
  std::string row(int y) const {
    std::string text;
    for (int x = 0; x < columns_; ++x) {
      const unsigned char cell = cells_[y * columns_ + x];
      text += cell == 0 ? " " : utf8(0x2800 + cell);
    }
    while (!text.empty() && text.back() == ' ')
      text.pop_back();
    return text;
  }

 private:
  int columns_, rows_;
  std::vector<unsigned char> cells_;
};

}  // namespace

std::vector<std::string> plot(const std::vector<PlotPoint>& points, TerminalSize size,
                              bool logarithmic) {
  std::vector<PlotPoint> kept;
  for (PlotPoint p : points) {
    if (logarithmic) p.y = p.y > 0 ? std::log10(p.y) : std::nan("");
    if (std::isfinite(p.x) && std::isfinite(p.y)) kept.push_back(p);
  }
  if (kept.empty()) return {};
  Range x{kept[0].x, kept[0].x}, y{kept[0].y, kept[0].y};
  for (const PlotPoint& p : kept) {
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
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const PlotPoint& from = kept[i > 0 ? i - 1 : 0];
    canvas.line(across(from.x), down(from.y), across(kept[i].x), down(kept[i].y));
  }
  const int rows = canvas.dots_down() / 4;
  std::vector<std::string> lines;
  for (int row = 0; row < rows; ++row) {
    const std::string& name = row == 0          ? top
                              : row == rows - 1 ? bottom
                              : row == rows / 2 ? middle
                                                : "";
    lines.push_back(pad_left(name, margin) + (name.empty() ? " │" : " ┤") + canvas.row(row));
  }
  std::string axis = std::string(margin, ' ') + " └";
  for (int i = 0; i < canvas.dots_across() / 2; ++i)
    axis += "─";
  lines.push_back(axis);
  const std::string first = format_number(x.low), last = format_number(x.high);
  lines.push_back(std::string(margin + 2, ' ') + first +
                  pad_left(last, canvas.dots_across() / 2 - display_width(first)));
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
