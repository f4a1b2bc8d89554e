// Recorded points against those of another run: random records with random changes, in the order in
// which a run reports; and capsules that cannot be read.
#include "cli/commands/reproduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/process.h"

namespace thalweg::cli {
namespace {

using testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Reported {
  std::string metric;
  std::int64_t step = 0;
  double value = 0;
};

class RandomRecord {
 public:
  explicit RandomRecord(unsigned seed) : random_(seed) {
    for (const char* metric : {"train/loss", "val/error", "lr"})
      for (std::int64_t step = 1; step <= 40; ++step)
        if (random_() % 3 == 0) add(metric, step);
    add("val/error", 41);
  }

  const Capsule& capsule() const { return capsule_; }
  std::vector<Reported> run() const {
    std::vector<Reported> all;
    for (const auto& [metric, points] : capsule_.curves)
      for (const CapsulePoint& point : points)
        all.push_back({metric, point.step, point.value});
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.step < b.step; });
    return all;
  }
  std::size_t draw(std::size_t below) { return random_() % below; }

 private:
  void add(const char* metric, std::int64_t step) {
    const double values[] = {0.1 + static_cast<double>(random_() % 1000) / 7, 0.0, -0.0, kNaN,
                             std::numeric_limits<double>::infinity()};
    capsule_.curves[metric].push_back({step, values[random_() % 5]});
  }

  std::mt19937 random_;
  Capsule capsule_;
};

/// Another value, if only in its last bit or its sign.
double changed(double value) {
  if (std::isnan(value)) return 1;
  if (value == 0) return -value;
  return std::nextafter(value, 0.0);
}

TEST(PointCheck, TheSameBitsAreTheSameWhateverElseIsReported) {
  for (unsigned seed = 1; seed <= 500; ++seed) {
    RandomRecord record(seed);
    PointCheck check(record.capsule());
    for (const Reported& point : record.run()) {
      check.take("noise/trace", point.step, 3);  // the record lacks it
      check.take(point.metric, point.step, point.value);
    }
    check.end();
    EXPECT_FALSE(check.difference()) << seed;
    EXPECT_EQ(check.equal(), check.recorded());
    EXPECT_EQ(check.last_step(), 41);
  }
}

TEST(PointCheck, TheFirstStepThatDiffersIsNamed) {
  for (unsigned seed = 1; seed <= 2000; ++seed) {
    RandomRecord record(seed);
    auto run = record.run();
    std::int64_t first = 100;
    for (int changes = 0; changes < 3; ++changes) {
      Reported& victim = run[record.draw(run.size())];
      victim.value = changed(victim.value);
    }
    const auto before = record.run();
    for (std::size_t i = 0; i < run.size(); ++i)
      if (std::bit_cast<std::uint64_t>(run[i].value) !=
          std::bit_cast<std::uint64_t>(before[i].value))
        first = std::min(first, run[i].step);
    PointCheck check(record.capsule());
    for (const Reported& point : run)
      check.take(point.metric, point.step, point.value);
    check.end();
    ASSERT_EQ(check.difference().has_value(), first < 100) << seed;
    if (first == 100) continue;  // changed twice: as it was
    EXPECT_EQ(check.difference()->step, first) << seed;
    EXPECT_TRUE(check.difference()->here);
    EXPECT_LT(check.equal(), check.recorded());
  }
}

TEST(PointCheck, AValueThatDoesNotComeDiffers) {
  for (unsigned seed = 1; seed <= 500; ++seed) {
    RandomRecord record(seed);
    auto run = record.run();
    const auto gone = run.begin() + static_cast<std::ptrdiff_t>(record.draw(run.size()));
    const Reported missing = *gone;
    run.erase(gone);
    PointCheck check(record.capsule());
    for (const Reported& point : run)
      check.take(point.metric, point.step, point.value);
    EXPECT_FALSE(check.difference()) << "it may yet come";
    check.end();
    ASSERT_TRUE(check.difference()) << seed;
    EXPECT_EQ(check.difference()->step, missing.step);
    EXPECT_EQ(check.difference()->metric, missing.metric);
    EXPECT_FALSE(check.difference()->here);
  }
}

/// A trial that was extended had been evaluated where it ended before.
TEST(PointCheck, WhatOnlyAnEarlierEndReportedNeedNotCome) {
  for (unsigned seed = 1; seed <= 500; ++seed) {
    RandomRecord record(seed);
    Capsule capsule = record.capsule();
    const auto run = record.run();
    const std::int64_t end = run[record.draw(run.size() - 1)].step;
    const bool comes = seed % 2 == 0;
    for (const bool said : {false, true}) {
      if (said) capsule.earlier_ends = {end};
      PointCheck check(capsule);
      std::int64_t expected = check.recorded();
      for (const Reported& point : run) {
        if (point.step == end && !comes) --expected;
        if (point.step != end || comes) check.take(point.metric, point.step, point.value);
      }
      check.end();
      EXPECT_EQ(check.difference().has_value(), !comes && !said) << seed;
      if (said) {
        EXPECT_EQ(check.recorded(), expected) << seed;
      }
    }
    capsule.earlier_ends = {end};
    PointCheck other(capsule);
    for (const Reported& point : run)
      other.take(point.metric, point.step, point.step == end ? changed(point.value) : point.value);
    other.end();
    EXPECT_TRUE(other.difference()) << "it came, and differs";
  }
}

TEST(ChangedFacts, NameVersionsAndMachines) {
  const Json recorded = {{"version", "0.1.0"},
                         {"ranks", 4},
                         {"device_name", "A"},
                         {"libraries", {{"oneDNN", "2.6.3"}, {"UCX", "1.13.1"}}}};
  Json here = recorded;
  EXPECT_TRUE(changed_facts(recorded, here).empty());
  here["ranks"] = 1;
  here["libraries"] = {{"oneDNN", "3.2"}};
  const auto changed = changed_facts(recorded, here);
  ASSERT_EQ(changed.size(), 3u);
  EXPECT_EQ(changed[0].what + changed[0].recorded + changed[0].here, "ranks41");
  EXPECT_EQ(changed[1].what + changed[1].recorded + changed[1].here, "UCX1.13.1");
  EXPECT_EQ(changed[2].what + changed[2].recorded + changed[2].here, "oneDNN2.6.33.2");
}

TEST(Capsules, ReadBackAsWritten) {
  RandomRecord record(7);
  Capsule capsule = record.capsule();
  capsule.id = "3.1";
  capsule.trial = "train: {}\n";
  capsule.start = {{"ranks", 2}};
  capsule.weights = WeightsHash{41, {{"fc.weight", {2, 3}, "0123456789abcdef"}}};
  const test::TempDir folder;
  const auto file = folder.path() / "capsules";
  const std::string line = daemon::api::to_json(capsule).dump();
  test::write_file(file, line + "\n\n" + line);
  const auto read = read_capsules(file);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(daemon::api::to_json(read[1]).dump(), line);
}

TEST(Capsules, WhatIsNoneIsNamedWithItsLine) {
  const test::TempDir folder;
  const auto file = folder.path() / "capsules";
  const auto says = [&](const std::string& text) -> std::string {
    test::write_file(file, text);
    try {
      read_capsules(file);
    } catch (const CommandError& error) {
      EXPECT_EQ(error.code(), exit_bad_input);
      return error.what();
    }
    return "nothing";
  };
  Capsule good;
  good.start = Json::object();
  good.curves["lr"] = {{1, 0.1}};
  const std::string line = daemon::api::to_json(good).dump() + "\n";
  EXPECT_THAT(says(""), HasSubstr("is empty"));
  EXPECT_THAT(says(line + "{\"capsule\":1"), HasSubstr("capsules:2: no capsule"));
  EXPECT_THAT(says("{\"capsule\":1}"), HasSubstr("\"id\" is missing"));
  good.capsule = 2;
  EXPECT_THAT(says(daemon::api::to_json(good).dump()), HasSubstr("found format 2, expected 1"));
  good.capsule = Capsule::kFormat;
  EXPECT_EQ(says(daemon::api::to_json(good).dump()), "nothing");
  good.curves.clear();
  EXPECT_THAT(says(daemon::api::to_json(good).dump()), HasSubstr("curves: found none"));
}

}  // namespace
}  // namespace thalweg::cli
