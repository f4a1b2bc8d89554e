// thalwegd: the command line of Thalweg's controller.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "daemon/server/daemon.h"

namespace {

constexpr char help[] =
    "usage: thalwegd [--home DIR] [--site] [--foreground | --limits]\n"
    "\n"
    "Thalweg's controller: decides what runs next and keeps the record. `thalweg` starts it by "
    "itself.\n"
    "\n"
    "  --home DIR     its folder (default: THALWEG_HOME, else $XDG_STATE_HOME/thalweg, else "
    "~/.local/state/thalweg)\n"
    "  --site         answer all users of this machine; their jobs run under their names, through "
    "thalweg-slurm-agent --site\n"
    "  --foreground   stay in the foreground and log to standard error too\n"
    "  --limits       print what config.yaml says about every sweep, as JSON, and end\n"
    "  --version\n"
    "\n"
    "Exit codes: 0 stopped, or running in the background; 1 failed; 2 bad usage or configuration;\n"
    "3 another controller runs in this home.\n";

struct CommandLine {
  std::string home;
  bool foreground = false, site = false, limits = false, version = false, help = false;
};

/// Throws CLI::ParseError.
CommandLine parse(int argc, char** argv) {
  CommandLine line;
  CLI::App app;
  app.set_help_flag();
  app.add_option("--home", line.home)->type_name("DIR");
  CLI::Option* foreground = app.add_flag("--foreground", line.foreground);
  CLI::Option* site = app.add_flag("--site", line.site);
  app.add_flag("--limits", line.limits)->excludes(foreground)->excludes(site);
  app.add_flag("--version", line.version);
  app.add_flag("-h,--help", line.help);
  app.parse(argc, argv);
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace thalweg::daemon;
  try {
    const CommandLine line = parse(argc, argv);
    if (line.help) {
      std::fputs(help, stdout);
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
    return line.limits ? print_limits(options.home) : run_daemon(options);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "thalwegd: %s\nTry 'thalwegd --help'.\n", error.what());
    return exit_bad_use;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thalwegd: %s\n", error.what());
    return exit_failed;
  }
}
