// Apart from all else in base: only this file is compiled anew after each commit.
#include "base/commit.h"

#include "base/commit.inc"

namespace thalweg {

const char* source_commit() {
  return kCommit;
}

}  // namespace thalweg
