// thalwegd: the command line of Thalweg's controller.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/text.h"
#include "daemon/server/check.h"
#include "daemon/server/daemon.h"

namespace {

using namespace thalweg;

constexpr char kHelpHead[] =
    "usage: thalwegd [--home DIR] [--site]\n"
    "                [--foreground | --limits | --check [--json]]\n"
    "\n"
    "Thalweg's controller: decides what runs next and keeps the record. `thalweg` starts it by "
    "itself.\n"
    "\n";

constexpr char kHelpTail[] =
    "\n"
    "Exit codes: 0 stopped, or running in the background; 1 failed; 2 bad usage or configuration;\n"
    "3 another controller runs in this home.\n";

struct CommandLine {
  std::string home;
  bool foreground = false, site = false, limits = false, check = false, json = false,
       version = false, help = false;
};

std::vector<CommandOption> option_rows(CommandLine& line) {
  const auto flag = [](bool& on) { return [&on](const std::string&) { on = true; }; };
  return {{"--home", "", "DIR",
           "its folder (default: THALWEG_HOME, else $XDG_STATE_HOME/thalweg, else "
           "~/.local/state/thalweg)",
           "FILE", [&](const std::string& value) { line.home = value; }},
          {"--site", "", "",
           "answer all users of this machine; their jobs run under their names, through "
           "thalweg-slurm-agent --site",
           "", flag(line.site)},
          {"--foreground", "", "", "stay in the foreground and log to standard error too", "",
           flag(line.foreground)},
          {"--limits", "", "", "print what config.yaml says about every sweep, as JSON, and end",
           "", flag(line.limits)},
          {"--check", "", "",
           "look at programs, configuration, home, record and Slurm, and end; 1 where something is "
           "wrong",
           "", flag(line.check)},
          {"--json", "", "", "with --check: print as JSON", "", flag(line.json)},
          {"--version", "", "", "print the version", "", flag(line.version)},
          {"--help", "-h", "", "print this text", "", flag(line.help)}};
}

/// Sets what `options` are bound to, `line`. Throws UsageError.
void parse(const std::vector<CommandOption>& options, const std::vector<std::string>& words,
           const CommandLine& line) {
  const auto others = parse_command_line(options, words, Names::anywhere);
  if (!others.empty()) throw UsageError("it takes no '" + others[0] + "'");
  if (line.limits && (line.foreground || line.site))
    throw UsageError("--limits excludes --foreground and --site");
  if (line.check && (line.foreground || line.limits))
    throw UsageError("--check excludes --foreground and --limits");
  if (line.json && !line.check) throw UsageError("--json goes with --check");
}

}  // namespace

int main(int argc, char** argv) {
  using namespace thalweg::daemon;
  CommandLine line;
  const std::vector<CommandOption> rows = option_rows(line);
  try {
    parse(rows, {argv + 1, argv + argc}, line);
    if (line.help) {
      std::fputs(in_columns(kHelpHead + option_lines(rows) + kHelpTail).c_str(), stdout);
      return exit_ok;
    }
    if (line.version) {
      std::puts("thalwegd " THALWEG_VERSION);
      return exit_ok;
    }
    DaemonOptions options;
    options.foreground = line.foreground;
    options.site = line.site;
    options.home = line.home.empty()
                       ? api::Home::find()
                       : api::Home{std::filesystem::absolute(line.home).lexically_normal()};
    if (line.check) return print_check(options.home, options.site, line.json);
    return line.limits ? print_limits(options.home) : run_daemon(options);
  } catch (const UsageError& error) {
    std::fprintf(stderr, "thalwegd: %s\nTry 'thalwegd --help'.\n", error.what());
    return exit_bad_use;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thalwegd: %s\n", error.what());
    return exit_failed;
  }
}
