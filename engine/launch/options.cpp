// The options of thalweg-launch, one row each.
#include "engine/launch/options.h"

#include "base/command_line.h"
#include "base/text.h"

namespace thalweg::engine::launch {
namespace {

// On one machine; also keeps the list of ranks below the size at which PMIx compresses it.
constexpr int kMaxRanks = 512;

constexpr const char* kUsage = R"(Usage: thalweg-launch [OPTIONS] [--] COMMAND [ARGUMENTS...]

Starts ranks of COMMAND on this machine as their PMIx server. Signals TERM, INT, USR1 and USR2 are passed
to every rank; when one rank dies, the others are ended and the dead one is named.

Options:
)";

constexpr const char* kExitCodes = R"(
Exit code: 0 all ranks returned 0; 75 all ranks stopped on request; else that of the first rank that
failed (128 + signal where a signal killed it). 124 time limit, 126/127 COMMAND cannot be run / is not
found, 2 wrong command line, 70 start-up failed, 73 DIR is claimed already.

Example: thalweg-launch -n 4 --threads 1 -- thalweg-train trial.yaml
)";

std::chrono::milliseconds seconds(const std::string& option, const std::string& text) {
  return std::chrono::milliseconds(
      static_cast<long>(number<double>(option, text, 0.0, 1e8) * 1000.0));
}

std::vector<CommandOption> option_rows(Options& o) {
  using S = std::string;
  return {
      {"--ranks", "-n", "N", "how many processes (1)", "",
       [&o](const S& v) { o.ranks = number("-n", v, 1, kMaxRanks); }},
      {"--threads", "", "T", "OMP_NUM_THREADS of each rank (cores / N where it is not set)", "",
       [&o](const S& v) { o.threads = number("--threads", v, 1, 4096); }},
      {"--no-bind", "", "", "do not divide the cores among the ranks", "",
       [&o](const S&) { o.bind = false; }},
      {"--folder", "", "DIR", "claim DIR and record the run there (launch.json, exit.json)", "FILE",
       [&o](const S& v) { o.folder = v; }},
      {"--token", "", "TEXT", "written into the records", "", [&o](const S& v) { o.token = v; }},
      {"--timeout", "", "SECONDS", "after this, TERM, and KILL when the grace is over", "",
       [&o](const S& v) { o.timeout = seconds("--timeout", v); }},
      {"--warning", "", "SECONDS", "USR1 to all ranks this long before the timeout", "",
       [&o](const S& v) { o.warning = seconds("--warning", v); }},
      {"--grace", "", "SECONDS", "between TERM and KILL (5)", "",
       [&o](const S& v) { o.grace = seconds("--grace", v); }},
      {"--help", "-h", "", "print this", "",
       [&o](const S&) {
         o.print = in_columns(kUsage + option_lines(option_rows(o)) + kExitCodes);
       }},
      {"--version", "", "", "print the version", "",
       [&o](const S&) { o.print = "thalweg-launch " THALWEG_VERSION "\n"; }},
  };
}

}  // namespace

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  options.command = parse_command_line(option_rows(options), arguments, Names::after_options);
  if (options.command.empty() && options.print.empty())
    throw UsageError("there is no command to run");
  return options;
}

}  // namespace thalweg::engine::launch
