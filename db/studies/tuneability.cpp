// DeepOBS' questions about optimizers (or others): how good at the best setting, how fast, and how
// much the setting matters.
#include "db/analysis/tuneability.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "db/studies/study.h"

namespace thalweg::db {
namespace {

constexpr StudyOption tuneability_options[] = {
    {"by", StudyOption::Kind::names, "A,B", "what is compared; all else that varies is tuned"},
    {"settings", StudyOption::Kind::flag, "", "every setting, not each group's best alone"},
};

std::vector<Datum> setting_cells(const std::string& group, const analysis::TunedSetting& setting) {
  std::string text;
  for (const auto& [name, value] : setting.values)
    text += (text.empty() ? "" : ", ") + parameter_column(name).title + "=" + value;
  return {group,
          text,
          setting.final_mean,
          setting.final_sd,
          setting.speed,
          static_cast<double>(setting.runs)};
}

DataTable run_tuneability(ReadStore& store, const StudyRequest& request) {
  using Shows = DataColumn::Shows;
  const analysis::TuneabilityStudy study =
      analysis::study_tuneability(store, request.sweeps, request.names("by"));
  const bool settings = request.flag("settings");
  DataTable table;
  table.columns = {{"group", fmt::format("{}", fmt::join(study.by, ", "))},
                   {"setting", settings ? "setting" : "best setting"},
                   {"final", study.metric, Shows::finite},
                   {"sd", "sd", Shows::finite},
                   {"speed", "speed", Shows::finite},
                   {"runs", "runs", Shows::integer}};
  table.columns.push_back(settings ? DataColumn{"diverged", "diverged", Shows::integer}
                                   : DataColumn{"reached", "settings that reach it", Shows::share});
  for (const analysis::TuneabilityRow& row : study.rows) {
    if (!settings) {
      table.rows.push_back(setting_cells(row.group, row.best));
      table.rows.back().emplace_back(row.reached);
      continue;
    }
    for (const analysis::TunedSetting& setting : row.settings) {
      table.rows.push_back(setting_cells(row.group, setting));
      table.rows.back().emplace_back(static_cast<double>(setting.diverged));
    }
  }
  table.notes = study.notes;
  table.facts = {{{"metric", ""}, study.metric}};
  if (study.target) table.facts.push_back({{"target", "", Shows::number}, *study.target});
  return table;
}

}  // namespace

extern const Study tuneability_study;
const Study tuneability_study{
    "tuneability",
    "how good, fast and easy to tune optimizers are",
    "DeepOBS' three questions about the values of --by, each at the best of its settings (all else "
    "that varies). They are the last value of the metric over its seeds, the evaluations to the "
    "target, and the share of the settings that reach it. Evaluations are counted from 0, the one "
    "before training; all of them count where none is as good as the target.",
    "thalweg tuneability 12 --by optimizer.name\n"
    "thalweg tuneability 12 --by optimizer.name --settings --csv",
    "deepobs sensitivity robustness performance speed",
    tuneability_options,
    "",
    run_tuneability};

}  // namespace thalweg::db
