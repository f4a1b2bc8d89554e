// Plots for a terminal.
#include <cmath>

#include "engine/perf/axis.h"
#include "engine/perf/report.h"

namespace thalweg::engine::perf {
namespace {

constexpr int kWidth = 64;
constexpr int kHeight = 16;
constexpr int kLeft = 10;  // columns of the labels

std::size_t cell(double position, int cells) {
  return static_cast<std::size_t>(std::lround(position * (cells - 1)));
}

/// Characters, not bytes: labels hold a µ.
std::string right_aligned(const std::string& text) {
  int width = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++width;
  }
  return std::string(static_cast<std::size_t>(std::max(0, kLeft - width)), ' ') + text;
}

char letter(std::size_t series) {
  return static_cast<char>(series < 26 ? 'a' + static_cast<int>(series) : '?');
}

std::vector<std::string> grid_of(const std::vector<Series>& all, const Axis& x, const Axis& y) {
  std::vector<std::string> grid(kHeight, std::string(kWidth, ' '));
  for (const auto& tick : y.ticks) {
    grid[kHeight - 1 - cell(y.at(tick.value), kHeight)].assign(kWidth, '.');
  }
  for (std::size_t s = 0; s < all.size(); ++s) {
    for (const auto& point : all[s].points) {
      char& at = grid[kHeight - 1 - cell(y.at(point.y), kHeight)][cell(x.at(point.x), kWidth)];
      at = at == ' ' || at == '.' ? letter(s) : '*';
    }
  }
  return grid;
}

std::string size_line(const Axis& x) {
  std::string line(kLeft + 2, ' ');
  for (const auto& tick : x.ticks) {
    const std::size_t middle = kLeft + 2 + cell(x.at(tick.value), kWidth);
    const std::size_t start = std::max(line.size(), middle - tick.text.size() / 2);
    line.append(start - line.size(), ' ');
    line += tick.text + " ";
  }
  return line + "\n";
}

std::string panel(const std::vector<Series>& all, Measure measure, const std::string& title) {
  if (all.empty()) return "";
  const Axis x = size_axis(all, 7), y = value_axis(all, measure);
  const auto grid = grid_of(all, x, y);
  std::string text = "\n" + right_aligned("") + "  " + title + "\n";
  for (std::size_t row = 0; row < grid.size(); ++row) {
    std::string label;
    for (const auto& tick : y.ticks) {
      if (kHeight - 1 - cell(y.at(tick.value), kHeight) == row) label = tick.text;
    }
    text += right_aligned(label) + " |" + grid[row] + "\n";
  }
  return text + right_aligned("") + " +" + std::string(kWidth, '-') + "\n" + size_line(x);
}

}  // namespace

std::string to_text_plot(const std::vector<Result>& results) {
  const auto latency = series_of(results, Measure::latency);
  const auto bandwidth = series_of(results, Measure::bus_bandwidth);
  if (latency.empty()) return "";
  std::string text = panel(latency, Measure::latency, "latency (p50) over size") +
                     panel(bandwidth, Measure::bus_bandwidth, "bus bandwidth (p50) over size") +
                     "\n";
  for (std::size_t s = 0; s < latency.size(); ++s) {
    text += std::string("  ") + letter(s) + " " + latency[s].name;
  }
  return text + (latency.size() > 1 ? "  * several\n" : "\n");
}

}  // namespace thalweg::engine::perf
