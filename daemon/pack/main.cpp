// thalweg-pack, which batch scripts and steps of packed jobs start (worker.h).
#include <cstdio>

#include "base/command_line.h"
#include "base/text.h"
#include "daemon/pack/worker.h"

namespace {

constexpr const char* usage = R"(Usage: thalweg-pack [OPTIONS] FOLDER
       thalweg-pack --start FILE -- COMMAND [ARGUMENTS...]

Batch scripts of Thalweg start it where several trials share a job of Slurm. It runs the waiting trials of
the pack in FOLDER, each as a step of its own, until none is left.

Options:
)";

}  // namespace

int main(int argc, char** argv) {
  using namespace thalweg;
  using S = std::string;
  daemon::pack::WorkerOptions options;
  std::string start;
  bool help = false;
  const auto seconds = [](double& value, const char* name) {
    return [&value, name](const S& text) { value = number(name, text, 0.01, 1e6); };
  };
  const std::vector<CommandOption> rows = {
      {"--start", "", "FILE", "note in FILE that the step has begun, and become COMMAND", "FILE",
       [&](const S& v) { start = v; }},
      {"--scancel", "", "PROGRAM", "what ends a step by force (scancel)", "FILE",
       [&](const S& v) { options.scancel = v; }},
      {"--idle", "", "SECONDS", "with nothing to do for so long it ends (5)", "",
       seconds(options.idle_s, "--idle")},
      {"--start-wait", "", "SECONDS", "a step may wait so long for its place (120)", "",
       seconds(options.start_s, "--start-wait")},
      {"--look", "", "SECONDS", "between two looks at the queue (0.5)", "",
       seconds(options.look_s, "--look")},
      {"--help", "-h", "", "print this", "", [&](const S&) { help = true; }},
  };
  try {
    const auto words = parse_command_line(rows, {argv + 1, argv + argc}, Names::after_options);
    if (help) {
      std::fputs(in_columns(usage + option_lines(rows)).c_str(), stdout);
      return 0;
    }
    if (words.empty() || (start.empty() && words.size() > 1))
      throw UsageError(start.empty() ? "one folder is expected" : "there is no command to run");
    if (!start.empty()) return daemon::pack::start_step(start, words);
    options.job = words.front();
    return daemon::pack::work(options);
  } catch (const UsageError& error) {
    std::fprintf(stderr, "thalweg-pack: %s\nTry 'thalweg-pack --help'.\n", error.what());
    return 2;
  }
}
