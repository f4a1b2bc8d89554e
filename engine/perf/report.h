// The results for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/perf/measure.h"
#include "engine/perf/options.h"

namespace thalweg::engine::perf {

/// Where and how it was measured.
struct Setting {
  int ranks = 1;
  std::vector<std::string> nodes;       ///< names, in the order of their first ranks
  std::vector<std::size_t> node_ranks;  ///< how many ranks on each
  Options options;
};
Setting setting_of(const comm::Group& group, const Options& options);

/// Two lines above the table, and the names of its columns.
std::string table_head(const Setting& setting);
std::string table_line(const Result& result);

/// `complete`: false where it was stopped half-way. Format: README.md.
std::string to_json(const Setting& setting, const std::vector<Result>& results, bool complete);

/// Letters on a grid, for a terminal; empty where there is nothing to draw.
std::string to_text_plot(const std::vector<Result>& results);

/// A whole SVG file: latency and bus bandwidth over size, logarithmic.
std::string to_svg(const Setting& setting, const std::vector<Result>& results);

}  // namespace thalweg::engine::perf
