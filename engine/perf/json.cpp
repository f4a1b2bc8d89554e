#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "engine/perf/report.h"

namespace thalweg::engine::perf {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

std::string now_utc() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Json json_of(const Options& options) {
  return {{"type", comm::name_of(options.type)},
          {"op", comm::name_of(options.op)},
          {"wire", comm::name_of(options.wire)},
          {"memory", options.group_memory ? "group" : "ordinary"},
          {"touch", options.touch},
          {"seconds", options.iterations > 0 ? Json() : Json(options.seconds)},
          {"iterations", options.iterations > 0 ? Json(options.iterations) : Json()},
          {"shards", options.shards > 0 ? Json(options.shards) : Json()},
          {"root", options.root}};
}

Json json_of(const Result& result) {
  const auto& us = result.us;
  return {{"collective", result.collective},
          {"asked", result.choice},
          {"algorithm", result.algorithm.empty() ? Json() : Json(result.algorithm)},
          {"bytes", result.bytes},
          {"count", result.count},
          {"calls", result.calls},
          {"us",
           {{"min", us.min},
            {"p50", us.p50},
            {"p95", us.p95},
            {"p99", us.p99},
            {"max", us.max},
            {"mean", us.mean}}},
          {"algbw_gb_s", result.algorithm_bandwidth},
          {"busbw_gb_s", result.bus_bandwidth},
          {"wrong", result.wrong ? Json(*result.wrong) : Json()}};
}

}  // namespace

std::string to_json(const Setting& setting, const std::vector<Result>& results, bool complete) {
  Json nodes = Json::array();
  for (std::size_t i = 0; i < setting.nodes.size(); ++i) {
    nodes.push_back({{"name", setting.nodes[i]}, {"ranks", setting.node_ranks[i]}});
  }
  Json lines = Json::array();
  for (const auto& result : results) {
    lines.push_back(json_of(result));
  }
  const Json whole = {{"format", kFormat},    {"program", "thalweg-perf " THALWEG_VERSION},
                      {"time", now_utc()},    {"ranks", setting.ranks},
                      {"nodes", nodes},       {"settings", json_of(setting.options)},
                      {"complete", complete}, {"results", lines}};
  return whole.dump(1) + "\n";
}

}  // namespace thalweg::engine::perf
