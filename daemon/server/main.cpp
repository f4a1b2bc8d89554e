#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "daemon/server/daemon.h"

namespace {

constexpr char usage[] =
    "usage: thalwegd [--home DIR] [--foreground | --limits]\n"
    "\n"
    "Thalweg's controller: decides what runs next and keeps the record. `thalweg` starts it by "
    "itself.\n"
    "\n"
    "  --home DIR     its folder (default: THALWEG_HOME, else $XDG_STATE_HOME/thalweg, else "
    "~/.local/state/thalweg)\n"
    "  --foreground   stay in the foreground and log to standard error too\n"
    "  --limits       print what config.yaml says about every sweep, as JSON, and end\n"
    "  --version\n"
    "\n"
    "Exit codes: 0 stopped, or running in the background; 1 failed; 2 bad usage or configuration;\n"
    "3 another controller runs in this home.\n";

}  // namespace

int main(int argc, char** argv) {
  using namespace thalweg::daemon;
  try {
    DaemonOptions options;
    std::string home;
    bool limits = false;
    for (int i = 1; i < argc; ++i) {
      const std::string_view word = argv[i];
      if (word == "--home" && i + 1 < argc) {
        home = argv[++i];
      } else if (word == "--foreground") {
        options.foreground = true;
      } else if (word == "--limits") {
        limits = true;
      } else if (word == "--version") {
        std::puts("thalwegd " THALWEG_VERSION);
        return exit_ok;
      } else {
        const bool help = word == "--help" || word == "-h";
        if (!help) std::fprintf(stderr, "thalwegd: unknown option %s\n", argv[i]);
        std::fputs(usage, help ? stdout : stderr);
        return help ? exit_ok : exit_bad_use;
      }
    }
    options.home = home.empty() ? api::Home::find()
                                : api::Home{std::filesystem::absolute(home).lexically_normal()};
    return limits ? print_limits(options.home) : run_daemon(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thalwegd: %s\n", error.what());
    return exit_failed;
  }
}
