#include <cstdio>

#include "engine/perf/axis.h"
#include "engine/perf/report.h"

namespace thalweg::engine::perf {
namespace {

/// Four significant digits, without an exponent.
std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f",
                value < 10     ? 3
                : value < 100  ? 2
                : value < 1000 ? 1
                               : 0,
                value);
  return text;
}

std::string reductions(const Options& options) {
  bool reduces = false;
  for (const auto& name : options.collectives) {
    reduces = reduces || find_subject(name).reduces;
  }
  return reduces ? std::string(comm::name_of(options.type)) + " " + comm::name_of(options.op) + ", "
                 : "";
}

}  // namespace

Setting setting_of(const comm::Group& group, const Options& options) {
  Setting setting{group.size(), {}, {}, options};
  for (const auto& ranks : group.layout().machines) {
    setting.nodes.push_back(group.node_of(ranks.front()));
    setting.node_ranks.push_back(ranks.size());
  }
  return setting;
}

std::string table_head(const Setting& setting) {
  const Options& options = setting.options;
  std::string text = "# thalweg-perf " THALWEG_VERSION ": " + std::to_string(setting.ranks) +
                     (setting.ranks == 1 ? " rank on " : " ranks on ");
  text += setting.nodes.size() == 1 ? setting.nodes.front()
                                    : std::to_string(setting.nodes.size()) + " nodes";
  text += "; " + reductions(options) + (options.group_memory ? "group" : "ordinary") + " memory" +
          (options.touch ? ", rewritten before each call" : "") + "\n";
  text += "# microseconds of the slowest rank; GB/s are 10^9 bytes a second\n";
  char line[200];
  std::snprintf(line, sizeof line, "%-14s %-20s %8s %7s %9s %9s %9s %9s %9s %8s %8s  %s\n",
                "collective", "algorithm", "size", "calls", "min", "p50", "p95", "p99", "max",
                "algbw", "busbw", "results");
  return text + line;
}

std::string table_line(const Result& result) {
  std::string wrong = "-";
  if (result.wrong) wrong = *result.wrong == 0 ? "right" : std::to_string(*result.wrong) + " WRONG";
  const bool sized = result.bytes > 0;
  char line[300];
  std::snprintf(line, sizeof line, "%-14s %-20s %8s %7zu %9s %9s %9s %9s %9s %8s %8s  %s\n",
                result.collective.c_str(),
                result.algorithm.empty() ? "-" : result.algorithm.c_str(),
                sized ? size_text(static_cast<double>(result.bytes)).c_str() : "-", result.calls,
                short_number(result.us.min).c_str(), short_number(result.us.p50).c_str(),
                short_number(result.us.p95).c_str(), short_number(result.us.p99).c_str(),
                short_number(result.us.max).c_str(),
                sized ? short_number(result.algorithm_bandwidth).c_str() : "-",
                sized ? short_number(result.bus_bandwidth).c_str() : "-", wrong.c_str());
  return line;
}

}  // namespace thalweg::engine::perf
