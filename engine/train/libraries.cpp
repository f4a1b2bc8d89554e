#include "engine/train/libraries.h"

#include <zlib.h>

namespace thalweg::engine {

std::string engine_version() {
  return THALWEG_VERSION;
}

jobspec::Value library_versions() {
  return jobspec::Map{{"compiler", __VERSION__}, {"zlib", zlibVersion()}};
}

}  // namespace thalweg::engine
