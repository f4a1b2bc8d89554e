// Which inputs of a seeded generator a test tries: THALWEG_FUZZ_INPUTS of them (100000 is the long
// run), from number THALWEG_FUZZ_FIRST on. Each input is drawn from its number alone, so that a
// long run can be done in parts, and one input again.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>

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

/// One to four changes: bytes, a cut, a part left out or doubled, a run of one value.
inline std::string damaged(std::string bytes, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::size_t at = below(bytes.size()), length = 1 + below(16);
    switch (below(6)) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(at, bytes.substr(below(bytes.size()), length));
        break;
      case 3:
        for (std::size_t i = at; i < std::min(bytes.size(), at + length); ++i)
          bytes[i] = static_cast<char>(random() % 2 == 0 ? 0xff : 0x00);
        break;
      default:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random());
    }
  }
  return bytes;
}

/// One of them.
template <class List>
const auto& one_of(const List& list, std::mt19937& random) {
  return std::data(list)[random() % std::size(list)];
}

/// Runs `input(number, random)` for each, telling which number a failure belongs to; stops at the
/// first that fails.
template <class F>
void fuzz(int usual, F input) {
  const FuzzRange inputs = fuzz_range(usual);
  for (int number = inputs.first; number < inputs.end() && !testing::Test::HasFailure(); ++number) {
    SCOPED_TRACE("THALWEG_FUZZ_FIRST=" + std::to_string(number) + " THALWEG_FUZZ_INPUTS=1");
    std::mt19937 random(static_cast<std::mt19937::result_type>(number));
    input(number, random);
  }
}

}  // namespace thalweg::test
