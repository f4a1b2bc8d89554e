// One rank of a trial that runs a program of the user's own. Linked to nothing of the engine, so
// that nodes where only such programs run need no more than this.
#include <cstdio>
#include <exception>
#include <filesystem>

#include "base/command_line.h"
#include "base/text.h"
#include "engine/attempt/failure.h"
#include "engine/attempt/other_program.h"
#include "engine/attempt/supervise/supervise.h"
#include "jobspec/trial.h"

namespace {

using namespace thalweg;
using namespace thalweg::engine;

constexpr const char* usage = R"(Usage: thalweg-attempt TRIAL.yaml

Runs the trial of a program of your own: starts the program, records what it reports and prints in
journal.jsonl beside TRIAL.yaml, and ends it on SIGTERM, SIGINT or SIGUSR1. One process is one
rank, started by thalweg-launch or srun. A trial of the engine is handed over to thalweg-train.

Options:
)";

constexpr const char* exit_codes = R"(
Exit code: 0 finished, 2 the program cannot be run or ended with 2, 75 stopped on request, 76 the
attempt is held by another start or was given up, 1 any other failure.
)";

struct Options {
  std::string print, file;
};

std::vector<CommandOption> option_rows(Options& o) {
  using S = std::string;
  return {
      {"--help", "-h", "", "print this", "",
       [&o](const S&) { o.print = in_columns(usage + option_lines(option_rows(o)) + exit_codes); }},
      {"--version", "", "", "print the version", "",
       [&o](const S&) { o.print = "thalweg-attempt " THALWEG_VERSION "\n"; }},
  };
}

Options parse(const std::vector<std::string>& words) {
  Options options;
  const auto files = parse_command_line(option_rows(options), words, Names::anywhere);
  if (!options.print.empty()) return options;
  if (files.size() != 1) throw UsageError("it takes one file, TRIAL.yaml");
  options.file = files.front();
  return options;
}

int run(const std::vector<std::string>& words) {
  const Options options = parse(words);
  if (!options.print.empty()) {
    std::fputs(options.print.c_str(), stdout);
    return 0;
  }
  const StopFlag& stop = stop_on_signals();
  const std::filesystem::path path = std::filesystem::absolute(options.file);
  const jobspec::Trial trial = jobspec::read_trial(path);
  if (!trial.program) become("thalweg-train", path.string());
  return supervise(trial, path.parent_path(), stop);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (...) {
    const Failure failure = failure_of(std::current_exception(), -1, "");
    std::fprintf(stderr, "thalweg-attempt: %s\n", failure.reason.c_str());
    return static_cast<int>(failure.code);
  }
}
