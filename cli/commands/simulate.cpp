// thalweg simulate: what the trials of a file would do on simulated ranks. thalweg-simulate does
// it, without a controller; what stands here is what it takes.
#include <charconv>

#include "cli/commands/common.h"
#include "cli/commands/engine_program.h"
#include "cli/commands/table.h"

namespace thalweg::cli {
namespace {

struct SimulateOptions {
  std::string file;
  std::optional<double> ranks, jitter, gflops, sample_us, latency_us, gb_per_s, trial;
  std::string preset, slowdown, target, out, points;
  bool json = false;
};

/// In the shortest form that reads back the same.
std::string text_of(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

std::vector<std::string> words_of(const SimulateOptions& options) {
  std::vector<std::string> words;
  const auto number = [&](const char* name, const std::optional<double>& value) {
    if (value) words.insert(words.end(), {name, text_of(*value)});
  };
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  number("--ranks", options.ranks);
  text("--preset", options.preset);
  text("--slowdown", options.slowdown);
  number("--jitter", options.jitter);
  number("--gflops", options.gflops);
  number("--sample-us", options.sample_us);
  number("--latency-us", options.latency_us);
  number("--gb-per-s", options.gb_per_s);
  text("--target", options.target);
  number("--trial", options.trial);
  text("--out", options.out);
  text("--points", options.points);
  if (options.json) words.emplace_back("--json");
  words.insert(words.end(), {"--", options.file});
  return words;
}

}  // namespace

Action make_simulate(Arguments& arguments) {
  auto options = std::make_shared<SimulateOptions>();
  arguments.positional("FILE", options->file, "a sweep file, or a trial's").completes =
      Completes::file;
  arguments.option("-n,--ranks", "N", options->ranks,
                   "simulated ranks, at most 2048 (default: as resources in the file)");
  arguments
      .option("--preset", "NAME", options->preset,
              "unequal ranks and links (default: as train.emulate in the file)")
      .choices = {"none", "compute", "network", "mixed"};
  arguments.option("--slowdown", "LIST", options->slowdown,
                   "how many times as long each rank's passes take: 4,4,2,1; begins again");
  arguments.option("--jitter", "X", options->jitter,
                   "share by which each pass differs, drawn from the trial's seed");
  arguments.option("--gflops", "X", options->gflops,
                   "10^9 floating point operations a second of a rank (default: 100)");
  arguments.option("--sample-us", "X", options->sample_us,
                   "instead: what forward and backward of a sample take, in microseconds");
  arguments.option("--latency-us", "X", options->latency_us,
                   "of a message, in microseconds (default: 2)");
  arguments.option("--gb-per-s", "X", options->gb_per_s,
                   "10^9 bytes a second of a rank's link, each way (default: 10)");
  arguments.option("--target", "METRIC=X", options->target,
                   "end a trial that reaches it, and report when (default: the file's)");
  arguments.option("--trial", "N", options->trial, "only this trial of the sweep file");
  arguments
      .option("--out", "FOLDER", options->out, "keep the journals: FOLDER/trial-N/journal.jsonl")
      .completes = Completes::file;
  arguments
      .option("--points", "FILE", options->points,
              "write all curves as `thalweg import` reads them")
      .completes = Completes::file;
  arguments.flag("--json", options->json,
                 "print {trials:[{trial, seconds, seconds_to_target, samples_per_s, idle, …}]}");
  return [options](Context&) { return become_engine("thalweg-simulate", words_of(*options)); };
}

}  // namespace thalweg::cli
