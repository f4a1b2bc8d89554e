// How far a test's numbers are from what they should be, in its report: tests/on_gpu.sh shows it,
// passed or failed.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

namespace thalweg::test {

/// Keeps the one of the current test's distances that comes nearest to what is allowed, or exceeds
/// it most, as its properties "distance" and "allowed". For one thread.
inline void note_distance(double distance, double allowed) {
  static const testing::TestInfo* of = nullptr;
  static double worst = 0;
  const testing::TestInfo* const now = testing::UnitTest::GetInstance()->current_test_info();
  if (now == nullptr || allowed <= 0) return;
  // One that is no number is the worst.
  if (of == now && (std::isnan(worst) || distance / allowed <= worst)) return;
  of = now;
  worst = distance / allowed;
  char text[32];
  std::snprintf(text, sizeof text, "%.3e", distance);
  testing::Test::RecordProperty("distance", text);
  std::snprintf(text, sizeof text, "%.3e", allowed);
  testing::Test::RecordProperty("allowed", text);
}

/// EXPECT_NEAR that notes the distance.
inline void expect_near(double found, double expected, double allowed, std::size_t place) {
  note_distance(std::abs(found - expected), allowed);
  EXPECT_NEAR(found, expected, allowed) << "at " << place;
}

}  // namespace thalweg::test
