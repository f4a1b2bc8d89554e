#include "base/time_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>

#include "tests/support/fuzz.h"

namespace thalweg {
namespace {

TEST(TimeText, IsReadInAllItsForms) {
  constexpr double ten_past_two = 1792894200;  // date -u -d '2026-10-25 02:10' +%s
  for (const char* text :
       {"2026-10-25T02:10:00Z", "2026-10-25 02:10:00+00:00", "2026-10-25T02:10Z",
        "2026-10-25 02:10:00", "2026-10-25T03:10:00+01:00", "2026-10-25T03:10:00+0100",
        "2026-10-25 03:10:00+01", "2026-10-25 03:10:00 +0100", "2026-10-24T20:40:00.000-05:30",
        "2026-10-25 02:10:00 UTC", "2026-10-25t02:10:00z", " 2026-10-25  02:10:00,0 "})
    EXPECT_EQ(read_time(text), ten_past_two) << text;
  EXPECT_EQ(read_time("2026-10-25"), 1792886400);
  EXPECT_EQ(read_time("1970-01-02T00:00:01.250Z"), 86401.25);
  EXPECT_EQ(read_time("2024-02-29T00:00:00Z"), 1709164800);
}

TEST(TimeText, IsLocalWithoutAnOffsetWhereAskedFor) {
  const std::string before = std::getenv("TZ") != nullptr ? std::getenv("TZ") : "";
  setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
  tzset();
  EXPECT_EQ(read_local_time("2026-07-01T12:00"), read_time("2026-07-01T10:00Z"));
  EXPECT_EQ(read_local_time("2026-12-01 12:00:30.5"), read_time("2026-12-01T11:00:30.5Z"));
  EXPECT_EQ(read_local_time("2026-12-01"), read_time("2026-11-30T23:00Z"));
  EXPECT_EQ(read_local_time("2026-12-01T12:00Z"), read_time("2026-12-01T12:00Z"));
  EXPECT_EQ(read_local_time("2026-12-01T12:00-05:00"), read_time("2026-12-01T17:00Z"));
  EXPECT_EQ(read_local_time("tomorrow"), std::nullopt);
  before.empty() ? unsetenv("TZ") : setenv("TZ", before.c_str(), 1);
  tzset();
}

TEST(TimeText, WhatIsLeftOverOrDoesNotExistIsNoTime) {
  for (const char* text : {"",
                           " ",
                           "noon",
                           "12:00",
                           "2026",
                           "2026-10",
                           "2026-13-01",
                           "2026-02-30",
                           "2026-00-10",
                           "2026-10-25T",
                           "2026-10-25 25:00",
                           "2026-10-25 12:60",
                           "2026-10-25 12:00:61",
                           "2026-10-25T02:10:00ZZ",
                           "2026-10-25T02:10:00+1",
                           "2026-10-25T02:10:00+01:",
                           "2026-10-25T02:10:00 CET",
                           "2026-10-25T02:10:00.",
                           "25/10/2026",
                           "2026/10/25",
                           "2026-10-25T02:10:00+24:00",
                           "1969-12-31T23:59:59Z",
                           "1970-01-01T00:30:00+01:00",
                           "2026-10-25T02:10:00 yesterday",
                           "26-10-25T02:10:00Z",
                           "20261-10-25",
                           "-026-10-25"})
    EXPECT_EQ(read_time(text), std::nullopt) << text;
}

/// A time in a form that is drawn, with the truth that it was made from.
struct Written {
  std::string text;
  double time = 0;
};

Written written(std::mt19937& random) {
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n); };
  const std::int64_t seconds = 86400 + below(4'000'000'000);
  const std::int64_t offset = (below(2) == 0 ? 1 : -1) * (below(15) * 60 + below(4) * 15);
  const bool zone = below(4) != 0;
  const std::time_t local = seconds + (zone ? offset * 60 : 0);
  std::tm parts{};
  gmtime_r(&local, &parts);
  char buffer[64];
  std::strftime(buffer, sizeof buffer, below(2) == 0 ? "%Y-%m-%dT%H:%M:%S" : "%Y-%m-%d %H:%M:%S",
                &parts);
  Written result{buffer, static_cast<double>(seconds)};
  if (below(2) == 0) {
    const std::int64_t digits = 1 + below(9);
    std::string fraction = ".";
    for (std::int64_t i = 0; i < digits; ++i)
      fraction += static_cast<char>('0' + below(10));
    result.text += fraction;
    result.time += std::stod("0" + fraction);
  }
  if (!zone) return result;
  const auto minutes = std::abs(static_cast<int>(offset));
  static constexpr const char* forms[] = {"%c%02d:%02d", "%c%02d%02d", " %c%02d:%02d"};
  std::snprintf(buffer, sizeof buffer, forms[below(3)], offset < 0 ? '-' : '+', minutes / 60,
                minutes % 60);
  if (offset == 0 && below(2) == 0) std::snprintf(buffer, sizeof buffer, "Z");
  if (minutes % 60 == 0 && below(4) == 0)
    std::snprintf(buffer, sizeof buffer, "%c%02d", offset < 0 ? '-' : '+', minutes / 60);
  result.text += buffer;
  return result;
}

TEST(TimeText, RandomTimesAreReadAsTheyWereMeant) {
  test::fuzz(20'000, [](int, std::mt19937& random) {
    const Written one = written(random);
    const auto read = read_time(one.text);
    ASSERT_TRUE(read) << one.text;
    EXPECT_NEAR(*read, one.time, 1e-6) << one.text;
    EXPECT_EQ(read_time(one.text + " or so"), std::nullopt) << one.text;
    EXPECT_EQ(read_time("at " + one.text), std::nullopt) << one.text;
  });
}

}  // namespace
}  // namespace thalweg
