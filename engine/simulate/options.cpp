#include "engine/simulate/options.h"

#include <algorithm>
#include <utility>

#include "base/command_line.h"
#include "base/text.h"

namespace thalweg::engine::simulate {
namespace {

constexpr int kMaxRanks = 2048;

constexpr const char* kUsage =
    R"(Usage: thalweg-simulate [OPTIONS] TRIAL.yaml | SWEEP.yaml

Trains each trial on simulated ranks, on a virtual clock: the real sync modes, gradients and updates, in one process.
Passes take what FLOPs and --gflops (or --sample-us) say, times the rank's slowdown; messages take --latency-us and
their bytes by --gb-per-s; all else takes no time. The same input gives the same output.
  thalweg-simulate sweep.yaml --ranks 16 --preset compute --target val/error=0.2

Options:
)";

constexpr const char* kNotes = R"(
Presets: compute (ranks of speeds 1:1:2:4), network (links of 60, 60, 120 and 1000 MiB/s), mixed (both, and pauses);
train.emulate in the file says more. Idle is the share of the time in which a rank makes no forward or backward pass.
Keep the model small: every rank has weights and gradients of its own, and every pass is computed.

Exit code: 0 all trials were simulated; 1 one failed; 2 bad input; 3 one diverged; 75 stopped on request.
)";

std::vector<double> numbers(const std::string& option, const std::string& text) {
  std::vector<double> list;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    list.push_back(number<double>(option, text.substr(begin, end - begin), 1, 1e6));
    begin = end + 1;
  }
  return list;
}

Target target_of(const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0)
    throw UsageError("--target takes METRIC=VALUE, as val/error=0.2, not '" + text + "'");
  return {text.substr(0, at), number<double>("--target", text.substr(at + 1), -1e300, 1e300)};
}

std::vector<CommandOption> option_rows(Options& o, bool& help, bool& version) {
  using S = const std::string&;
  const auto real = [](const char* name, double& into, double low, double high) {
    return [=, &into](S word) { into = number<double>(name, word, low, high); };
  };
  Machine& m = o.machine;
  return {
      {"--ranks", "-n", "N", "simulated ranks, at most 2048 (default: as resources in the file)",
       "", [&](S word) { m.ranks = number<int>("--ranks", word, 1, kMaxRanks); }},
      {"--preset", "", "NAME", "unequal ranks: compute, network or mixed (default: train.emulate)",
       "none compute network mixed", [&](S word) { o.preset = word; }},
      {"--slowdown", "", "LIST",
       "how many times as long each rank's passes take: 4,4,2,1; begins again", "",
       [&](S word) { o.slowdown = numbers("--slowdown", word); }},
      {"--jitter", "", "X", "share by which each pass differs, drawn from the trial's seed", "",
       [&](S word) { o.jitter = number<double>("--jitter", word, 0, 1); }},
      {"--gflops", "", "X", "a rank's 10^9 floating point operations a second (default 100)", "",
       real("--gflops", m.gflops, 1e-6, 1e9)},
      {"--sample-us", "", "X", "forward and backward of a sample, in microseconds, instead", "",
       real("--sample-us", m.sample_us, 1e-6, 1e12)},
      {"--latency-us", "", "X", "of a message, in microseconds (default 2)", "",
       real("--latency-us", m.latency_us, 0, 1e9)},
      {"--gb-per-s", "", "X", "10^9 bytes a second of a rank's link, each way (default 10)", "",
       real("--gb-per-s", m.gb_per_s, 1e-6, 1e6)},
      {"--target", "", "METRIC=X",
       "end a trial that reaches it, and report when (default: the file's)", "",
       [&](S word) { o.target = target_of(word); }},
      {"--trial", "", "N", "only trial N of the sweep file", "",
       [&](S word) { o.trial = number<std::int64_t>("--trial", word, 1, 1'000'000'000); }},
      {"--out", "", "FOLDER", "keep the journals: FOLDER/trial-N/journal.jsonl", "FILE",
       [&](S word) { o.out = word; }},
      {"--points", "", "FILE", "write all curves as `thalweg import` reads them", "FILE",
       [&](S word) { o.points = word; }},
      {"--json", "", "", "print {trials:[{trial, seconds, seconds_to_target, idle, ...}]}", "",
       [&](S) { o.json = true; }},
      {"--version", "", "", "print the version", "", [&](S) { version = true; }},
      {"--help", "-h", "", "print this", "", [&](S) { help = true; }},
  };
}

}  // namespace

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  options.machine.ranks = 0;
  bool help = false, version = false;
  const std::vector<CommandOption> rows = option_rows(options, help, version);
  const std::vector<std::string> files = parse_command_line(rows, arguments, Names::anywhere);
  if (help) options.print = in_columns(kUsage + option_lines(rows) + kNotes);
  if (version && !help) options.print = std::string("thalweg-simulate ") + THALWEG_VERSION + "\n";
  if (!options.print.empty()) return options;
  if (files.size() != 1)
    throw UsageError(files.empty() ? "name a trial or sweep file" : "one file at a time");
  options.file = files.front();
  return options;
}

}  // namespace thalweg::engine::simulate
