// What `thalweg export --format` writes: trials with their curves, and the formats.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/common.h"
#include "daemon/api/sweep_messages.h"
#include "daemon/api/trial_messages.h"

namespace thalweg::cli {

/// Trials of one sweep that are exported.
struct SweepExport {
  daemon::api::SweepSnapshot sweep;  ///< its `trials` are the chosen ones, by number
  std::vector<std::string> known;    ///< all metrics that its trials have reported
  std::vector<std::string> metrics;  ///< those of them that are wanted
};

/// Of one metric of a trial: where several attempts reported a step, the latest one's point.
struct ExportedCurve {
  std::string metric;
  std::vector<daemon::api::CurvePoint> points;  ///< never empty
};

/// Where an exporter writes: text, or files in a folder that appears as a whole at the end.
struct ExportTarget {
  std::function<void(std::string_view)> write;
  std::filesystem::path folder;
};

/// One format at work. All trials of all sweeps first, then curves of each.
class Exporter {
 public:
  virtual ~Exporter() = default;
  virtual void begin() {}
  virtual void trial(const SweepExport&, const daemon::api::TrialMessage&) {}
  /// Curves may be empty. Returns whether anything was written of this trial.
  virtual bool curves(const SweepExport& from, const daemon::api::TrialMessage& trial,
                      const std::vector<ExportedCurve>& curves) = 0;
};

struct ExportFormat {
  const char* name;
  bool folder;      ///< one file a trial
  bool own_metric;  ///< the sweep's metric alone, where none is named
  std::unique_ptr<Exporter> (*make)(Context& context, const ExportTarget& target);
};

std::span<const ExportFormat> export_formats();

std::unique_ptr<Exporter> make_jsonl(Context& context, const ExportTarget& target);
std::unique_ptr<Exporter> make_points_csv(Context& context, const ExportTarget& target);
std::unique_ptr<Exporter> make_tensorboard(Context& context, const ExportTarget& target);
std::unique_ptr<Exporter> make_capsules(Context& context, const ExportTarget& target);
std::unique_ptr<Exporter> make_mllog(Context& context, const ExportTarget& target);

/// The trials that `ids` (sweeps and trials) mean, each once. Throws CommandError where an id is an
/// attempt's, or where no sweep has one of `metrics` (empty: all, or the sweep's with
/// `own_metric`).
std::vector<SweepExport> choose_exports(Context& context, const std::vector<std::string>& ids,
                                        const std::vector<std::string>& metrics, bool own_metric);

/// Trial by trial; no more than a few of them are held at once.
void each_exported(Context& context, const SweepExport& from,
                   const std::function<void(const daemon::api::TrialMessage& trial,
                                            const std::vector<ExportedCurve>& curves)>& each);

/// A file below an exporter's folder, in one go.
void write_export_file(const std::filesystem::path& file, std::string_view bytes);

}  // namespace thalweg::cli
