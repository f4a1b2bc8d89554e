// MLPerf's log lines (mlcommons/logging, mllog): a file for each trial, result_12.3.txt, from the
// start of its first attempt to where it reached the target, as a submission's run ends there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands/exports.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "jobspec/metric_names.h"

namespace thalweg::cli {

namespace api = daemon::api;

namespace {

using OrderedJson = nlohmann::ordered_json;
using Points = std::vector<api::CurvePoint>;

/// One file's lines.
class Log {
 public:
  void point(double time, const std::string& key, OrderedJson value, OrderedJson metadata = {}) {
    add(time, "POINT_IN_TIME", key, std::move(value), std::move(metadata));
  }
  void start(double time, const std::string& key) { add(time, "INTERVAL_START", key, {}, {}); }
  void end(double time, const std::string& key, OrderedJson metadata) {
    add(time, "INTERVAL_END", key, {}, std::move(metadata));
  }
  const std::string& text() const { return text_; }

 private:
  void add(double time, const char* type, const std::string& key, OrderedJson value,
           OrderedJson metadata) {
    // Where a line was logged; here there is nothing but this file and its lines.
    OrderedJson whole{{"file", "thalweg"}, {"lineno", ++lines_}};
    whole.update(metadata.is_null() ? OrderedJson::object() : metadata);
    const OrderedJson line{{"namespace", ""},           {"time_ms", std::llround(time * 1000)},
                           {"event_type", type},        {"key", key},
                           {"value", std::move(value)}, {"metadata", std::move(whole)}};
    text_ += ":::MLLOG " + line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
  }

  std::string text_;
  int lines_ = 0;
};

/// Of what grows evenly between the steps at which it was reported, from 0 on.
std::optional<double> value_at(const Points& points, std::int64_t step) {
  if (points.empty()) return std::nullopt;
  auto next = std::lower_bound(
      points.begin(), points.end(), step,
      [](const api::CurvePoint& point, std::int64_t than) { return point.step < than; });
  if (next == points.end()) --next;  // as before the last report
  if (next->step == step) return next->value;
  const api::CurvePoint before = next == points.begin() ? api::CurvePoint{} : *std::prev(next);
  if (next->step == before.step) return next->value;
  return before.value + static_cast<double>(step - before.step) * (next->value - before.value) /
                            static_cast<double>(next->step - before.step);
}

/// Member of a member of ...; null where any is missing.
const Json& at_path(const Json& tree, std::initializer_list<const char*> keys) {
  const Json* found = &tree;
  for (const char* key : keys)
    found = &member(*found, key);
  return *found;
}

/// One trial's log.
class TrialLog {
 public:
  TrialLog(Context& context, const SweepExport& from, const api::TrialMessage& trial)
      : context_(context), from_(from), trial_(trial) {
    const jobspec::Id id = parse_id(trial.id);
    first_ = attempt({id.sweep, id.trial, 1});
    config_ = first_.start ? member(*first_.start, "config") : Json();
    begin_ = first_.started > 0 ? first_.started : first_.launched;
    epochs_ = curve(jobspec::metric::epoch);
    samples_ = curve(jobspec::metric::batch_samples);
  }

  bool started() const { return first_.started > 0; }

  std::string text(const std::vector<ExportedCurve>& curves) {
    add_settings();
    log_.start(begin_, "run_start");
    const std::optional<api::CurvePoint> reached = target_point(curves);
    add_points(curves, reached);
    add_end(reached);
    return log_.text();
  }

 private:
  api::AttemptAnswer attempt(const jobspec::Id& id) {
    return read_answer<api::AttemptAnswer>(context_.controller().get(path_of(id)));
  }

  Points curve(const std::string& metric) {
    const auto& known = from_.known;
    if (std::find(known.begin(), known.end(), metric) == known.end()) return {};
    return read_answer<api::CurveAnswer>(
               context_.controller().get(path_of(parse_id(trial_.id)) +
                                         "/curve?metric=" + api::url_encode(metric)))
        .points;
  }

  void add_settings() {
    const std::string model = text_at(member(config_, "model"), "name");
    log_.point(begin_, "submission_benchmark", model.empty() ? from_.sweep.name : model);
    log_.point(begin_, "seed", trial_.seed);
    const auto add = [&](const char* key, const Json& value) {
      if (!value.is_null()) log_.point(begin_, key, OrderedJson(value));
    };
    add("global_batch_size", at_path(config_, {"batch", "global"}));
    add("opt_name", at_path(config_, {"optimizer", "name"}));
    add("opt_base_learning_rate", at_path(config_, {"optimizer", "lr"}));
    add("opt_weight_decay", at_path(config_, {"optimizer", "weight_decay"}));
    if (trial_.parameters.is_object())
      for (const auto& [name, value] : trial_.parameters.items())
        add(name.c_str(), value);
  }

  OrderedJson place_of(std::int64_t step) const {
    OrderedJson place = OrderedJson::object();
    if (const auto epoch = value_at(epochs_, step)) place["epoch_num"] = *epoch;
    const auto batch = number_of(at_path(config_, {"batch", "global"}));
    if (const auto samples = value_at(samples_, step))
      place["samples_count"] = std::llround(*samples);
    else if (batch)
      place["samples_count"] = std::llround(*batch * static_cast<double>(step));
    place["step"] = step;
    return place;
  }

  /// The first that is as good as the sweep's target.
  std::optional<api::CurvePoint> target_point(const std::vector<ExportedCurve>& curves) {
    if (!from_.sweep.target) return std::nullopt;
    const double target = *from_.sweep.target;
    const auto own = std::find_if(curves.begin(), curves.end(), [&](const ExportedCurve& each) {
      return each.metric == from_.sweep.metric;
    });
    // --metric may have left it out.
    for (const auto& point : own != curves.end() ? own->points : curve(from_.sweep.metric))
      if (from_.sweep.goal == "maximize" ? point.value >= target : point.value <= target)
        return point;
    return std::nullopt;
  }

  void add_points(const std::vector<ExportedCurve>& curves,
                  const std::optional<api::CurvePoint>& last) {
    struct Line {
      const std::string* metric;
      api::CurvePoint point;
    };
    std::vector<Line> lines;
    for (const ExportedCurve& curve : curves)
      for (const api::CurvePoint& point : curve.points)
        if (!last || point.step <= last->step) lines.push_back({&curve.metric, point});
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return a.point.step < b.point.step; });
    for (const Line& line : lines) {
      OrderedJson place = place_of(line.point.step);
      const bool target = *line.metric == from_.sweep.metric;
      if (target) place["metric"] = *line.metric;
      log_.point(line.point.time, target ? "eval_accuracy" : *line.metric,
                 api::fields::number(line.point.value), std::move(place));
    }
  }

  /// None while it goes on.
  void add_end(const std::optional<api::CurvePoint>& reached) {
    if (reached) {
      OrderedJson metadata = place_of(reached->step);
      metadata["status"] = "success";
      log_.end(reached->time, "run_stop", std::move(metadata));
      return;
    }
    if (trial_.state == "running" || trial_.state == "pending") return;
    const jobspec::Id id = parse_id(trial_.id);
    const double ended =
        trial_.attempts > 1 ? attempt({id.sweep, id.trial, trial_.attempts}).ended : first_.ended;
    const bool success = !from_.sweep.target && trial_.state == "finished";
    log_.end(ended > 0 ? ended : trial_.ended, "run_stop",
             {{"status", success ? "success" : "aborted"}});
  }

  Context& context_;
  const SweepExport& from_;
  const api::TrialMessage& trial_;
  api::AttemptAnswer first_;
  Json config_;
  double begin_ = 0;
  Points epochs_, samples_;
  Log log_;
};

class Mllog : public Exporter {
 public:
  Mllog(Context& context, const ExportTarget& target) : context_(context), target_(target) {}

  bool curves(const SweepExport& from, const api::TrialMessage& trial,
              const std::vector<ExportedCurve>& curves) override {
    if (trial.attempts == 0) return false;
    TrialLog log(context_, from, trial);
    if (!log.started() && curves.empty()) return false;
    write_export_file(target_.folder / fmt::format("result_{}.txt", trial.id), log.text(curves));
    return true;
  }

 private:
  Context& context_;
  const ExportTarget& target_;
};

}  // namespace

std::unique_ptr<Exporter> make_mllog(Context& context, const ExportTarget& target) {
  return std::make_unique<Mllog>(context, target);
}

}  // namespace thalweg::cli
