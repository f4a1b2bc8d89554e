// Points as lines: JSON objects, or a table in CSV.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands/exports.h"
#include "cli/output/csv.h"

namespace thalweg::cli {

namespace api = daemon::api;

namespace {

using OrderedJson = nlohmann::ordered_json;

/// As JSON and CSV have it: what is not finite by its name.
OrderedJson number(double value) {
  return api::fields::number(value);
}

class JsonLines : public Exporter {
 public:
  explicit JsonLines(const ExportTarget& target) : target_(target) {}

  void trial(const SweepExport& from, const api::TrialMessage& trial) override {
    write({{"kind", "trial"},
           {"sweep", parse_id(trial.id).sweep},
           {"trial", parse_id(trial.id).trial},
           {"name", from.sweep.name},
           {"metric", from.sweep.metric},
           {"goal", from.sweep.goal},
           {"configuration", trial.configuration},
           {"seed", trial.seed},
           {"state", trial.state},
           {"attempts", trial.attempts},
           {"parameters", trial.parameters}});
    flush();
  }

  bool curves(const SweepExport&, const api::TrialMessage& trial,
              const std::vector<ExportedCurve>& curves) override {
    const jobspec::Id id = parse_id(trial.id);
    for (const ExportedCurve& curve : curves)
      for (const api::CurvePoint& point : curve.points)
        write({{"kind", "point"},
               {"sweep", id.sweep},
               {"trial", id.trial},
               {"attempt", point.attempt},
               {"metric", curve.metric},
               {"step", point.step},
               {"time", number(point.time)},
               {"value", number(point.value)}});
    flush();
    return !curves.empty();
  }

 private:
  void write(const OrderedJson& line) {
    text_ += line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
  }
  void flush() {
    target_.write(text_);
    text_.clear();
  }

  const ExportTarget& target_;
  std::string text_;
};

/// All digits, so that the same double is read back.
std::string field(double value) {
  const OrderedJson json = number(value);
  return json.is_string() ? json.get<std::string>() : fmt::format("{}", value);
}

class PointsCsv : public Exporter {
 public:
  explicit PointsCsv(const ExportTarget& target) : target_(target) {}

  void begin() override { target_.write("sweep,trial,attempt,metric,step,time,value\n"); }

  bool curves(const SweepExport&, const api::TrialMessage& trial,
              const std::vector<ExportedCurve>& curves) override {
    const jobspec::Id id = parse_id(trial.id);
    std::ostringstream text;
    for (const ExportedCurve& curve : curves)
      for (const api::CurvePoint& point : curve.points)
        write_csv_line(text, {std::to_string(id.sweep), std::to_string(id.trial),
                              std::to_string(point.attempt), curve.metric,
                              std::to_string(point.step), field(point.time), field(point.value)});
    target_.write(text.str());
    return !curves.empty();
  }

 private:
  const ExportTarget& target_;
};

}  // namespace

std::unique_ptr<Exporter> make_jsonl(Context&, const ExportTarget& target) {
  return std::make_unique<JsonLines>(target);
}

std::unique_ptr<Exporter> make_points_csv(Context&, const ExportTarget& target) {
  return std::make_unique<PointsCsv>(target);
}

}  // namespace thalweg::cli
