// Which sources a program was built from.
#pragma once

namespace thalweg {

/// As git names it: "1a2b3c4d5e6f", with "-dirty" where they were changed since; empty where they
/// were built without git.
const char* source_commit();

}  // namespace thalweg
