// Only values and names: axes, colours and what the mouse does are the script's.
#include "cli/output/chart.h"

#include <algorithm>
#include <cmath>

namespace thalweg::cli {
namespace {

using Json = nlohmann::json;

Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json head(const std::string& id, const char* kind, const std::string& title) {
  return {{"id", id}, {"kind", kind}, {"title", title}};
}

}  // namespace

Json line_chart(const std::string& id, const SvgOptions& options,
                const std::vector<PlotSeries>& series) {
  Json list = Json::array();
  for (const PlotSeries& each : series) {
    Json points = Json::array(), band = Json::array();
    for (const PlotPoint& p : each.points)
      points.push_back({finite(p.x), finite(p.y)});
    for (const PlotBand& b : each.band)
      band.push_back({finite(b.x), finite(b.low), finite(b.high)});
    list.push_back(
        {{"label", each.label}, {"points", points}, {"band", band}, {"dots", each.scattered}});
  }
  Json chart = head(id, "lines", options.title);
  chart["x"] = {{"name", options.x_name}, {"log", options.log_x}};
  chart["y"] = {{"name", options.y_name}, {"log", options.logarithmic}};
  chart["series"] = std::move(list);
  return chart;
}

Json bar_chart(const std::string& id, const std::string& title, const std::string& unit,
               const std::vector<Bar>& bars) {
  std::vector<std::string> names;
  Json rows = Json::array(), parts = Json::array();
  for (const Bar& bar : bars) {
    rows.push_back(bar.label);
    for (const BarPart& part : bar.parts)
      if (std::find(names.begin(), names.end(), part.name) == names.end())
        names.push_back(part.name);
  }
  for (const std::string& name : names) {
    Json values = Json::array();
    for (const Bar& bar : bars) {
      double sum = 0;
      for (const BarPart& part : bar.parts)
        if (part.name == name && part.value > 0) sum += part.value;
      values.push_back(finite(sum));
    }
    parts.push_back({{"label", name}, {"values", values}});
  }
  Json chart = head(id, "bars", title);
  chart["unit"] = unit;
  chart["rows"] = std::move(rows);
  chart["series"] = std::move(parts);
  return chart;
}

Json span_chart(const std::string& id, const std::string& title, const std::string& unit,
                const std::vector<Span>& spans) {
  std::vector<std::string> rows, names;
  const auto add = [](std::vector<std::string>& to, const std::string& text) {
    if (std::find(to.begin(), to.end(), text) == to.end()) to.push_back(text);
  };
  Json list = Json::array();
  for (const Span& span : spans) {
    add(rows, span.row);
    add(names, span.name);
    list.push_back({span.row, span.name, finite(span.from), finite(span.to)});
  }
  Json chart = head(id, "spans", title);
  chart["unit"] = unit;
  chart["rows"] = rows;
  chart["names"] = names;
  chart["spans"] = std::move(list);
  return chart;
}

Json parallel_chart(const std::string& id, const std::vector<ParallelAxis>& axes) {
  Json list = Json::array();
  for (const ParallelAxis& axis : axes)
    list.push_back({{"name", axis.name}, {"values", axis.texts}});
  Json chart = head(id, "parallel", "");
  chart["axes"] = std::move(list);
  return chart;
}

}  // namespace thalweg::cli
