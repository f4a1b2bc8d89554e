// thalweg export: a trial's weights; with --format the curves of sweeps and trials, for other
// programs.
#include <filesystem>
#include <ostream>
#include <stdexcept>
#include <system_error>

#include "base/file.h"
#include "cli/commands/exports.h"
#include "cli/commands/table.h"
#include "cli/commands/weights.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  std::vector<std::string> ids, metrics;
  std::string format;
  WeightsOptions weights;  ///< its `out` is that of curves as well
};

/// A folder that appears under its name with all that is in it, or not at all.
class NewFolder {
 public:
  explicit NewFolder(const fs::path& folder)
      : folder_(folder.has_filename() ? folder : folder.parent_path()), aside_(folder_) {
    aside_ += AtomicFile::kEnding;
    if (fs::exists(folder_))
      throw CommandError(exit_bad_input, folder_.string() + " exists already",
                         "name a new folder, or remove it");
    if (fs::exists(aside_))
      throw CommandError(exit_bad_input, aside_.string() + " exists already",
                         "another export writes it, or was interrupted: then remove it");
    fs::create_directory(aside_);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder() {
    std::error_code ignored;
    if (!committed_) fs::remove_all(aside_, ignored);
  }

  const fs::path& path() const { return aside_; }
  void commit() {
    fs::rename(aside_, folder_);
    committed_ = true;
  }

 private:
  fs::path folder_, aside_;
  bool committed_ = false;
};

const ExportFormat& find_format(const std::string& name) {
  for (const ExportFormat& format : export_formats())
    if (name == format.name) return format;
  throw std::logic_error("no format " + name);  // the options allow no other
}

/// How many trials had something to write.
std::size_t run_exporter(Context& context, const std::vector<SweepExport>& chosen,
                         Exporter& exporter) {
  std::size_t written = 0;
  exporter.begin();
  for (const SweepExport& each : chosen)
    for (const auto& trial : each.sweep.trials)
      exporter.trial(each, trial);
  for (const SweepExport& from : chosen)
    each_exported(context, from, [&](const auto& trial, const auto& curves) {
      if (exporter.curves(from, trial, curves)) ++written;
    });
  return written;
}

void say_written(Context& context, const std::string& where, std::size_t trials) {
  context.out << "written: " << printable(where) << " ("
              << count_of(static_cast<long long>(trials), "trial") << ")\n";
}

int export_folder(Context& context, const ExportOptions& options, const ExportFormat& format) {
  const std::string& out = options.weights.out;
  if (out.empty() || out == "-")
    throw CommandError(exit_bad_input, "--format " + options.format + " writes a folder",
                       "name a new one: -o FOLDER");
  NewFolder folder(out);
  const auto chosen = choose_exports(context, options.ids, options.metrics, format.own_metric);
  const ExportTarget target{{}, folder.path()};
  const std::size_t trials = run_exporter(context, chosen, *format.make(context, target));
  if (trials == 0)
    throw CommandError(exit_not_found, "nothing to export: no trial has reported anything yet",
                       "thalweg watch " + chosen.front().sweep.id + " follows it");
  folder.commit();
  say_written(context, out, trials);
  return exit_ok;
}

int export_text(Context& context, const ExportOptions& options, const ExportFormat& format) {
  const std::string& out = options.weights.out;
  const auto chosen = choose_exports(context, options.ids, options.metrics, format.own_metric);
  if (out.empty() || out == "-") {
    const ExportTarget target{[&](std::string_view text) { context.out << text; }, {}};
    run_exporter(context, chosen, *format.make(context, target));
    return exit_ok;
  }
  AtomicFile file(out);
  const ExportTarget target{[&](std::string_view text) { file.write(text); }, {}};
  const std::size_t trials = run_exporter(context, chosen, *format.make(context, target));
  file.commit();
  say_written(context, out, trials);
  return exit_ok;
}

int export_curves(Context& context, const ExportOptions& options) {
  if (options.weights.best || !options.weights.checkpoint.empty())
    throw CommandError(exit_bad_input, "--checkpoint and --best are for weights, not for curves",
                       "leave them out, or --format");
  const ExportFormat& format = find_format(options.format);
  return format.folder ? export_folder(context, options, format)
                       : export_text(context, options, format);
}

int run_export(Context& context, const ExportOptions& options) {
  if (!options.format.empty()) return export_curves(context, options);
  const std::string curves = "of curves --format says how they are written";
  if (!options.metrics.empty())
    throw CommandError(exit_bad_input, "--metric is for curves, not for weights", curves);
  if (options.weights.out.empty()) throw CommandError(exit_bad_input, "--out is required", curves);
  if (options.ids.size() != 1)
    throw CommandError(exit_bad_input,
                       "weights are exported of one trial, not of " + join(options.ids, " "),
                       curves);
  WeightsOptions weights = options.weights;
  weights.id = options.ids[0];
  return export_weights(context, weights);
}

}  // namespace

Action make_export(Arguments& arguments) {
  auto options = std::make_shared<ExportOptions>();
  arguments
      .positional("ID", options->ids,
                  "a trial, or one of its attempts; with --format trials and sweeps")
      .completes = Completes::id;
  Argument& format =
      arguments.option("--format", "FORMAT", options->format, "curves instead of weights");
  for (const ExportFormat& each : export_formats())
    format.choices.emplace_back(each.name);
  arguments
      .option("-o,--out", "FILE", options->weights.out,
              "of weights it ends with .npz, .safetensors or .onnx; of tensorboard and mllog it is "
              "a new folder; without it jsonl, csv and capsule are printed")
      .completes = Completes::file;
  arguments
      .option("--metric", "NAMES", options->metrics,
              "only these curves (default: all; of mllog the sweep's metric)")
      .completes = Completes::metric;
  add_checkpoint_options(arguments, options->weights);
  return [options](Context& context) { return run_export(context, *options); };
}

}  // namespace thalweg::cli
