#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/perf/options.h"
#include "engine/perf/program.h"

namespace {

/// All ranks have the same command line: one of them says what there is to say.
bool talks() {
  const char* rank = std::getenv("PMIX_RANK");
  return !rank || std::strcmp(rank, "0") == 0;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace thalweg::engine::perf;
  Options options;
  try {
    options = parse({argv + 1, argv + argc});
  } catch (const thalweg::UsageError& e) {
    if (talks())
      std::fprintf(stderr, "thalweg-perf: %s\nTry 'thalweg-perf --help'.\n", e.what());
    else
      ::sleep(1);  // a launcher ends all ranks with the first that fails: not before it has spoken
    return kUsage;
  }
  if (!options.print.empty()) {
    if (talks()) std::fputs(options.print.c_str(), stdout);
    return 0;
  }
  return run(options);
}
