// For TensorBoard: a folder for each trial with an event file, its parameters for the HParams
// dashboard.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/event_records.h"
#include "cli/commands/exports.h"

namespace thalweg::cli {

namespace api = daemon::api;

namespace {

std::vector<std::pair<std::string, Hyperparameter>> hyperparameters(
    const api::TrialMessage& trial) {
  std::vector<std::pair<std::string, Hyperparameter>> all;
  if (trial.parameters.is_object())
    for (const auto& [name, value] : trial.parameters.items()) {
      if (value.is_boolean())
        all.emplace_back(name, value.get<bool>());
      else if (value.is_number())
        all.emplace_back(name, value.get<double>());
      else
        all.emplace_back(name, parameter_text(value));
    }
  all.emplace_back("seed", static_cast<double>(trial.seed));
  return all;
}

/// In the order in which they were measured.
std::vector<ScalarEvent> scalars_of(const std::vector<ExportedCurve>& curves) {
  std::vector<ScalarEvent> scalars;
  for (const ExportedCurve& curve : curves)
    for (const api::CurvePoint& point : curve.points)
      scalars.push_back({curve.metric, point.step, point.value, point.time});
  std::stable_sort(scalars.begin(), scalars.end(), [](const auto& a, const auto& b) {
    return a.step != b.step ? a.step < b.step : a.time < b.time;
  });
  return scalars;
}

class TensorBoard : public Exporter {
 public:
  explicit TensorBoard(const ExportTarget& target) : target_(target) {}

  bool curves(const SweepExport&, const api::TrialMessage& trial,
              const std::vector<ExportedCurve>& curves) override {
    if (curves.empty()) return false;
    const std::vector<ScalarEvent> scalars = scalars_of(curves);
    double begin = scalars.front().time;
    for (const ScalarEvent& scalar : scalars)
      begin = std::min(begin, scalar.time);
    std::string bytes =
        version_record(begin) + hyperparameters_record(begin, hyperparameters(trial));
    for (const ScalarEvent& scalar : scalars)
      bytes += scalar_record(scalar);
    const std::filesystem::path folder = target_.folder / trial.id;
    std::filesystem::create_directory(folder);
    write_export_file(
        folder / fmt::format("events.out.tfevents.{:010}.thalweg", static_cast<long long>(begin)),
        bytes);
    return true;
  }

 private:
  const ExportTarget& target_;
};

}  // namespace

std::unique_ptr<Exporter> make_tensorboard(Context&, const ExportTarget& target) {
  return std::make_unique<TensorBoard>(target);
}

}  // namespace thalweg::cli
