#include "engine/train/libraries.h"

#include "jobspec/value.h"

namespace thalweg::engine {

std::string engine_version() {
  return THALWEG_VERSION;
}

jobspec::Value library_versions() {
  return jobspec::Map{{"compiler", __VERSION__},
                      {"oneDNN", THALWEG_ONEDNN_VERSION},
                      {"UCX", THALWEG_UCX_VERSION},
                      {"PMIx", THALWEG_PMIX_VERSION}};
}

}  // namespace thalweg::engine
