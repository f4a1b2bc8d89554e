// Which inputs of a seeded generator a test tries: THALWEG_FUZZ_INPUTS of them (100000 is the long
// run), from number THALWEG_FUZZ_FIRST on. Each input is drawn from its number alone, so that a
// long run can be done in parts, and one input again.
#pragma once

#include <cstdlib>

namespace thalweg::test {

struct FuzzRange {
  int first = 0, count = 0;

  int end() const { return first + count; }
  /// Enough to say what is usual.
  bool many() const { return count >= 100; }
};

/// `usual`: how many where nobody says.
inline FuzzRange fuzz_range(int usual) {
  const auto given = [](const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::atoi(text) : otherwise;
  };
  return {given("THALWEG_FUZZ_FIRST", 0), given("THALWEG_FUZZ_INPUTS", usual)};
}

}  // namespace thalweg::test
