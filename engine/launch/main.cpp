#include <cstdio>

#include "base/command_line.h"
#include "engine/launch/launch.h"
#include "engine/launch/options.h"

int main(int argc, char** argv) {
  using namespace thalweg::engine::launch;
  Options options;
  try {
    options = parse({argv + 1, argv + argc});
  } catch (const thalweg::UsageError& e) {
    std::fprintf(stderr, "thalweg-launch: %s\nTry 'thalweg-launch --help'.\n", e.what());
    return kUsage;
  }
  if (!options.print.empty()) {
    std::fputs(options.print.c_str(), stdout);
    return 0;
  }
  return launch(options);
}
