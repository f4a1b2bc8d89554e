#include "engine/train/libraries.h"

#include <fstream>

#include "jobspec/value.h"

namespace thalweg::engine {

std::string engine_version() {
  return THALWEG_VERSION;
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "";
}

jobspec::Value library_versions() {
  return jobspec::Map{{"compiler", __VERSION__},
                      {"oneDNN", THALWEG_ONEDNN_VERSION},
                      {"UCX", THALWEG_UCX_VERSION},
                      {"PMIx", THALWEG_PMIX_VERSION}};
}

}  // namespace thalweg::engine
