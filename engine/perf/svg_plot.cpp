// Plots for documents and browsers: no scripts, no fonts of its own.
#include <algorithm>
#include <array>
#include <cstdio>

#include "engine/perf/axis.h"
#include "engine/perf/report.h"

namespace thalweg::engine::perf {
namespace {

// Okabe and Ito's colours, which colour-blind people can tell apart (jfly.uni-koeln.de/color).
constexpr std::array<const char*, 7> kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                 "#E69F00", "#56B4E9", "#000000"};
constexpr double kPanelWidth = 520, kPanelHeight = 340;
constexpr double kLeft = 78, kTop = 96, kGap = 96, kRight = 24, kBelow = 58;
constexpr double kLegendRow = 20, kLegendColumn = 250;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string text_at(double x, double y, const char* style, const std::string& text) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" + style + "\">" +
         escaped(text) + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) +
         "\" y2=\"" + number(y2) + "\" class=\"" + style + "\"/>\n";
}

/// One plot with its left upper corner at (left, kTop).
class Panel {
 public:
  Panel(double left, const std::vector<Series>& all, Measure measure)
      : left_(left), x_(size_axis(all, 7)), y_(value_axis(all, measure)) {}

  std::string frame(const std::string& title) const {
    const double bottom = kTop + kPanelHeight, right = left_ + kPanelWidth;
    std::string text = text_at(left_, kTop - 14, "title", title);
    for (const auto& tick : y_.ticks) {
      const double y = y_at(tick.value);
      text += line(left_, y, right, y, "grid") + text_at(left_ - 8, y + 4, "end", tick.text);
    }
    for (std::size_t i = 0; i + 1 < y_.ticks.size(); ++i) {
      for (int times = 2; times < 10; ++times) {
        const double y = y_at(y_.ticks[i].value * times);
        text += line(left_, y, right, y, "fine");
      }
    }
    for (const auto& tick : x_.ticks) {
      const double x = x_at(tick.value);
      text += line(x, kTop, x, bottom, "grid") + text_at(x, bottom + 20, "middle", tick.text);
    }
    text += "<rect x=\"" + number(left_) + "\" y=\"" + number(kTop) + "\" width=\"" +
            number(kPanelWidth) + "\" height=\"" + number(kPanelHeight) + "\" class=\"frame\"/>\n";
    return text + text_at(left_ + kPanelWidth / 2, bottom + 42, "middle", "size");
  }

  /// The band from low to high, then the medians.
  std::string curve(const Series& series, const char* colour) const {
    std::string there, back, dots;
    for (const auto& point : series.points) {
      const std::string x = number(x_at(point.x)), y = number(y_at(point.y));
      there += x + "," + y + " ";
      dots += "<circle cx=\"" + x + "\" cy=\"" + y + "\" r=\"3.2\"><title>" +
              escaped(series.name + ", " + size_text(point.x)) + "</title></circle>\n";
    }
    for (const auto& point : series.points) {
      back += number(x_at(point.x)) + "," + number(y_at(point.low)) + " ";
    }
    for (auto point = series.points.rbegin(); point != series.points.rend(); ++point) {
      back += number(x_at(point->x)) + "," + number(y_at(point->high)) + " ";
    }
    const std::string fill = std::string(" fill=\"") + colour + "\"";
    return "<polygon points=\"" + back + "\"" + fill + " opacity=\"0.13\"/>\n<polyline points=\"" +
           there + "\" fill=\"none\" stroke-width=\"2\" stroke=\"" + colour + "\"/>\n<g" + fill +
           ">\n" + dots + "</g>\n";
  }

 private:
  double x_at(double value) const { return left_ + x_.at(value) * kPanelWidth; }
  double y_at(double value) const {
    return kTop + (1 - std::clamp(y_.at(value), 0.0, 1.0)) * kPanelHeight;
  }
  double left_;
  Axis x_, y_;
};

std::string subtitle(const Setting& setting) {
  const Options& options = setting.options;
  return std::to_string(setting.ranks) + (setting.ranks == 1 ? " rank on " : " ranks on ") +
         (setting.nodes.size() == 1 ? setting.nodes.front()
                                    : std::to_string(setting.nodes.size()) + " nodes") +
         ", " + comm::name_of(options.type) + " " + comm::name_of(options.op) + ", " +
         (options.group_memory ? "group" : "ordinary") + " memory; band: min to p99";
}

std::string start(double width, double height) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width) + " " +
         number(height) + "\" width=\"" + number(width) + "\" height=\"" + number(height) +
         "\">\n<style>text{font:13px sans-serif;fill:#222}.head{font-size:17px;font-weight:bold}"
         ".title{font-size:14px;font-weight:bold}.end{text-anchor:end}.middle{text-anchor:middle}"
         ".grid{stroke:#ccc}.fine{stroke:#eee}.frame{fill:none;stroke:#555}</style>\n"
         "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
}

std::string legend(const std::vector<Series>& all, double top, std::size_t columns) {
  std::string text;
  for (std::size_t s = 0; s < all.size(); ++s) {
    const double x = kLeft + static_cast<double>(s % columns) * kLegendColumn;
    const double y = top + static_cast<double>(s / columns) * kLegendRow;
    text += "<line x1=\"" + number(x) + "\" y1=\"" + number(y) + "\" x2=\"" + number(x + 24) +
            "\" y2=\"" + number(y) + "\" stroke-width=\"3\" stroke=\"" +
            kColours[s % kColours.size()] + "\"/>\n" + text_at(x + 32, y + 4, "", all[s].name);
  }
  return text;
}

}  // namespace

std::string to_svg(const Setting& setting, const std::vector<Result>& results) {
  const auto latency = series_of(results, Measure::latency);
  const auto bandwidth = series_of(results, Measure::bus_bandwidth);
  const double width = kLeft + kPanelWidth + kGap + kPanelWidth + kRight;
  const auto columns = static_cast<std::size_t>((width - kLeft) / kLegendColumn);
  const double rows = static_cast<double>((latency.size() + columns - 1) / columns);
  const double bottom = kTop + kPanelHeight + kBelow;
  std::string text = start(width, bottom + rows * kLegendRow + 12) +
                     text_at(kLeft, 26, "head", "thalweg-perf") +
                     text_at(kLeft, 48, "", subtitle(setting));
  const auto draw = [&](double left, const std::vector<Series>& all, Measure measure,
                        const char* title) {
    if (all.empty()) return;
    const Panel panel(left, all, measure);
    text += panel.frame(title);
    for (std::size_t s = 0; s < all.size(); ++s) {
      text += panel.curve(all[s], kColours[s % kColours.size()]);
    }
  };
  draw(kLeft, latency, Measure::latency, "latency");
  draw(kLeft + kPanelWidth + kGap, bandwidth, Measure::bus_bandwidth, "bus bandwidth");
  return text + legend(latency, bottom + 12, columns) + "</svg>\n";
}

}  // namespace thalweg::engine::perf
