// Provenance: which program and which libraries computed.
#pragma once

#include <string>

#include "jobspec/fwd.h"

namespace thalweg::engine {

std::string engine_version();
/// Of the sources, as git names it: "1a2b3c4d5e6f", with "-dirty" where they were changed since;
/// empty where they were built without git.
std::string engine_commit();
/// The processor as the kernel calls it; empty where it does not say.
std::string processor_name();
/// Name -> version, of those the engine was built with.
jobspec::Value library_versions();

}  // namespace thalweg::engine
