// Provenance: which program and which libraries computed.
#pragma once

#include <string>

#include "jobspec/value.h"

namespace thalweg::engine {

std::string engine_version();
/// Name -> version, as found at run time.
jobspec::Value library_versions();

}  // namespace thalweg::engine
