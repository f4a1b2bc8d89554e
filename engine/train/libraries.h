// Provenance: which program and which libraries computed.
#pragma once

#include <string>

#include "jobspec/fwd.h"

namespace thalweg::engine {

std::string engine_version();
/// Name -> version, of those the engine was built with.
jobspec::Value library_versions();

}  // namespace thalweg::engine
