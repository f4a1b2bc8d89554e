// Runs of other programs, as POST /v1/import takes them. README.md describes the JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/api/fields.h"

namespace thalweg::daemon::api {

/// [step, value, time]
struct ImportPoint {
  std::int64_t step = 0;
  double value = 0;
  double time = 0;  ///< Unix seconds; 0 = not known
};

template <>
struct JsonOf<ImportPoint> {
  static nlohmann::json write(const ImportPoint& p) {
    return {p.step, fields::number(p.value), p.time};
  }
  static void read(const nlohmann::json& from, ImportPoint& p) {
    p = {from.at(0).get<std::int64_t>(), fields::number_from(from.at(1)), from.at(2).get<double>()};
  }
};

struct ImportTrial {
  std::string source;         ///< what the other program calls the run
  nlohmann::json parameters;  ///< {"lr": 0.1, …}: numbers, texts, bools, null
  std::optional<std::uint64_t> seed;

  static void each_field(auto& self, auto&& field) {
    field("source", self.source, Field::may_miss);
    field("parameters", self.parameters);
    field("seed", self.seed);
  }
};

/// Points of one metric of a trial; several are put one after the other.
struct ImportCurve {
  std::int64_t trial = 0;  ///< from 1, in the order in which trials were sent
  std::string metric;
  std::vector<ImportPoint> points;

  static void each_field(auto& self, auto&& field) {
    field("trial", self.trial);
    field("metric", self.metric);
    field("points", self.points);
  }
};

/// Body of POST /v1/import. What is larger than one request may be comes in parts: the first one
/// says what is imported.
struct ImportRequest {
  std::optional<std::string> upload;  ///< of all parts but the first: what the first was answered
  std::optional<bool> more;           ///< further parts follow; nothing is imported yet
  std::string name, source;
  std::string metric, goal = "minimize";
  std::optional<double> target;
  std::vector<ImportTrial> trials;
  std::vector<ImportCurve> curves;

  static void each_field(auto& self, auto&& field) {
    field("upload", self.upload);
    field("more", self.more);
    field("name", self.name, Field::may_miss);
    field("source", self.source, Field::may_miss);
    field("metric", self.metric, Field::may_miss);
    field("goal", self.goal, Field::may_miss);
    field("target", self.target);
    field("trials", self.trials, Field::may_miss);
    field("curves", self.curves, Field::may_miss);
  }
};

/// The answer: `upload` to a part that others follow, all else to the last.
struct ImportAnswer {
  std::optional<std::string> upload, id, name;
  std::optional<std::int64_t> trials, configurations, points;

  static void each_field(auto& self, auto&& field) {
    field("upload", self.upload);
    field("id", self.id);
    field("name", self.name);
    field("trials", self.trials);
    field("configurations", self.configurations);
    field("points", self.points);
  }
};

}  // namespace thalweg::daemon::api
