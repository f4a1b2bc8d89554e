// What the API says about single trials and attempts, as the server fills it and clients read it.
// README.md describes the JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/api/sweep_messages.h"

namespace thalweg::daemon::api {

struct AttemptMessage {
  std::string id, state, backend, handle, folder;
  double launched = 0, started = 0, ended = 0;  ///< Unix seconds; 0 = not yet
  double eligible = 0;                          ///< when Slurm might have started it
  std::int64_t nodes = 0, ranks = 0;
  std::string node_list, reason;
  std::optional<int> exit_code, failed_rank;
  std::string failed_node;
  std::string size_reason{};       ///< of an elastic trial: why it has other nodes than before
  std::int64_t journal_lines = 0;  ///< that were read

  static void each_field(auto& self, auto&& field) {
    field("id", self.id);
    field("state", self.state);
    field("backend", self.backend);
    field("handle", self.handle);
    field("folder", self.folder);
    field("launched", self.launched);
    field("eligible", self.eligible);
    field("started", self.started);
    field("ended", self.ended);
    field("nodes", self.nodes);
    field("ranks", self.ranks);
    field("node_list", self.node_list);
    field("reason", self.reason);
    field("exit_code", self.exit_code, Field::null);
    field("failed_rank", self.failed_rank, Field::null);
    field("failed_node", self.failed_node);
    field("size_reason", self.size_reason);
    field("journal_lines", self.journal_lines);
  }
};

struct EventMessage {
  std::int64_t number = 0;
  double time = 0;  ///< Unix seconds
  std::string kind, id;
  nlohmann::json data;  ///< without secrets

  static void each_field(auto& self, auto&& field) {
    field("number", self.number);
    field("time", self.time);
    field("kind", self.kind);
    field("id", self.id);
    field("data", self.data);
  }
};

/// Answer to GET /v1/attempts/12.3.1.
struct AttemptAnswer : AttemptMessage {
  std::optional<nlohmann::json> start;  ///< the engine's start record, once it is there
  std::vector<EventMessage> events;
  std::optional<std::vector<std::string>> request;  ///< options asked of Slurm; slurm only

  static void each_field(auto& self, auto&& field) {
    AttemptMessage::each_field(self, field);
    field("start", self.start);
    field("events", self.events);
    field("request", self.request);
  }
};

struct MetricSummary {
  double last = 0, min = 0, max = 0;
  std::int64_t step = 0;  ///< of the last value

  static void each_field(auto& self, auto&& field) {
    field("last", self.last);
    field("step", self.step);
    field("min", self.min);
    field("max", self.max);
  }
};

/// Answer to GET /v1/trials/12.3.
struct TrialAnswer : AboutTrial {
  std::vector<AttemptMessage> attempts;
  nlohmann::json train;                  ///< the whole tree, as written
  std::optional<nlohmann::json> config;  ///< what the newest attempt took it for, once it started
  std::optional<std::string> chosen;     ///< why this configuration; nothing where it was given
  std::map<std::string, MetricSummary> metrics;

  static void each_field(auto& self, auto&& field) {
    AboutTrial::each_field(self, field);
    field("attempts", self.attempts);
    field("train", self.train);
    field("config", self.config);
    field("chosen", self.chosen);
    field("metrics", self.metrics);
  }
};

/// In JSON a list of the four: [step, value, time, attempt].
struct CurvePoint {
  std::int64_t step = 0;
  double value = 0;
  double time = 0;  ///< Unix seconds
  std::int64_t attempt = 0;
};

template <>
struct JsonOf<CurvePoint> {
  static nlohmann::json write(const CurvePoint& p) {
    return {p.step, fields::number(p.value), p.time, p.attempt};
  }
  static void read(const nlohmann::json& from, CurvePoint& p) {
    p = {from.at(0).get<std::int64_t>(), fields::number_from(from.at(1)), from.at(2).get<double>(),
         from.at(3).get<std::int64_t>()};
  }
};

/// Answer to GET /v1/trials/12.3/curve.
struct CurveAnswer {
  std::vector<CurvePoint> points;
  static void each_field(auto& self, auto&& field) { field("points", self.points); }
};

struct TrialCurve : CurveAnswer {
  std::string id;

  static void each_field(auto& self, auto&& field) {
    field("id", self.id);
    CurveAnswer::each_field(self, field);
  }
};

/// Answer to GET /v1/sweeps/12/curves: of trials that have points.
struct CurvesAnswer {
  std::string metric;
  std::vector<TrialCurve> curves;

  static void each_field(auto& self, auto&& field) {
    field("metric", self.metric);
    field("curves", self.curves);
  }
};

/// The ranked metric of a sweep's best trial, evenly thinned.
struct SparklineMessage {
  std::string id, trial;  ///< "12", "12.3"
  std::vector<double> values;

  static void each_field(auto& self, auto&& field) {
    field("id", self.id);
    field("trial", self.trial);
    field("values", self.values);
  }
};

/// Answer to GET /v1/sparklines: of sweeps that have such values, as many as were found in time.
struct SparklinesAnswer {
  std::vector<SparklineMessage> sparklines;
  static void each_field(auto& self, auto&& field) { field("sparklines", self.sparklines); }
};

}  // namespace thalweg::daemon::api
