// The examples of jobspec/examples, run in a home of their own.
#pragma once

#include <filesystem>
#include <string>

#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {

inline const std::filesystem::path kExamples =
    std::filesystem::path(THALWEG_SOURCE_DIR) / "jobspec/examples";

/// Copies the examples and what stands beside them into the home's folder.
inline void copy_examples(const SweepHome& home) {
  std::filesystem::copy(kExamples, home.folder(), std::filesystem::copy_options::recursive);
}

/// A test's name may have no hyphens.
inline std::string test_name_of(std::string example) {
  for (char& letter : example)
    if (letter == '-') letter = '_';
  return example;
}

}  // namespace thalweg::test
