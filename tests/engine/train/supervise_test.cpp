// The parts of the supervisor of users' programs, without one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <random>
#include <tuple>

#include "engine/train/supervise/event_files.h"
#include "engine/train/supervise/placement.h"
#include "engine/train/supervise/recorder.h"
#include "engine/train/supervise/reports.h"
#include "jobspec/value.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Points = std::vector<std::tuple<std::string, std::int64_t, double>>;

const std::string kEvents =
    std::string(THALWEG_SOURCE_DIR) + "/tests/end_to_end/data/own/events.out.tfevents.tensorboardX";

struct Reader {
  explicit Reader(const std::filesystem::path& folder) : files(folder) {}
  Points read() {
    Points points;
    files.read([&](const std::string& tag, std::int64_t step,
                   double value) { points.emplace_back(tag, step, value); },
               [&](const std::string& text) { troubles.push_back(text); });
    return points;
  }
  EventFiles files;
  std::vector<std::string> troubles;
};

// Written by tensorboardX 2.6.5: val/loss = 1/i at steps 1 to 5, a histogram and a text.
TEST(EventFiles, ReadsWhatTensorboardXWrote) {
  test::TempDir folder;
  Reader reader(folder.path());
  std::filesystem::create_directories(folder.path() / "run");
  std::filesystem::copy(kEvents, folder.path() / "run" / "events.out.tfevents.1");
  const Points points = reader.read();
  ASSERT_EQ(points.size(), 5u);
  for (int i = 1; i <= 5; ++i)
    EXPECT_EQ(points[static_cast<std::size_t>(i - 1)],
              std::tuple("run/val/loss", i, static_cast<double>(1.0F / static_cast<float>(i))));
  EXPECT_TRUE(reader.troubles.empty());
  EXPECT_TRUE(reader.read().empty()) << "each once";
}

TEST(EventFiles, GrowByBytesWithoutLossAndPassOverWhatWasThere) {
  test::TempDir folder;
  std::filesystem::copy(kEvents, folder.path() / "old.tfevents");
  Reader reader(folder.path());
  const std::string bytes = test::read_file(kEvents);
  std::ofstream out(folder.path() / "new.tfevents", std::ios::binary);
  Points all;
  for (const char c : bytes) {
    out << c << std::flush;
    for (const auto& point : reader.read())
      all.push_back(point);
  }
  EXPECT_EQ(all.size(), 5u);
  EXPECT_TRUE(reader.troubles.empty());
}

TEST(EventFiles, DamageIsToldOnceWhateverByteItIs) {
  const std::string bytes = test::read_file(kEvents);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    test::TempDir folder;
    Reader reader(folder.path());
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    test::write_file(folder.path() / "x.tfevents", damaged);
    EXPECT_LE(reader.read().size(), 5u);
    reader.read();
    ASSERT_EQ(reader.troubles.size(), 1u) << "byte " << at;
    EXPECT_THAT(reader.troubles[0], HasSubstr("is damaged after byte"));
  }
}

TEST(Reports, EveryKind) {
  const Report metrics = parse_report(R"({"metrics": {"a": 1, "b": "-inf"}, "step": 3})");
  EXPECT_EQ(metrics.step, 3);
  EXPECT_THAT(metrics.values, ElementsAre(std::pair<std::string, double>("a", 1),
                                          std::pair<std::string, double>("b", -INFINITY)));
  EXPECT_EQ(parse_report(R"({"checkpoint": "/x", "seconds": 2})").seconds, 2);
  EXPECT_EQ(parse_report(R"({"stopping": true})").kind, Report::Kind::stopping);
  for (const char* bad : {"", "{", "[]", "{}", R"({"metrics": 1})", R"({"metrics": {"a": null}})",
                          R"({"metrics": {}, "step": 1.5})", R"({"metrics": {}, "step": 1e30})",
                          R"({"checkpoint": 3})", "\xff"})
    EXPECT_THROW(parse_report(bad), std::invalid_argument) << bad;
}

/// Points of `name` in the journal of `folder`.
int points_in_journal(const std::filesystem::path& folder, const std::string& name) {
  const std::string text = test::read_file(folder / "journal.jsonl");
  int count = 0;
  for (std::size_t at = 0; (at = text.find("[\"" + name + "\"", at)) != text.npos; ++at)
    ++count;
  return count;
}

TEST(Recorder, AFullDiskLosesNothingThatHasComeMeanwhile) {
  test::TempDir folder;
  jobspec::Trial trial;
  trial.program = jobspec::Program{};
  Record record(trial, folder.path(), true);
  Recorder recorder(record, trial, folder.path(), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full{100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const auto now = Recorder::Clock::now();
  for (int step = 1; step <= 50; ++step)
    recorder.metric("loss", step, step);
  EXPECT_NO_THROW(recorder.flush(now)) << "it waits";
  EXPECT_NO_THROW(recorder.flush(now + std::chrono::seconds(30)));
  EXPECT_THROW(recorder.flush(now + std::chrono::seconds(90)), std::system_error) << "no longer";
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  recorder.flush(now + std::chrono::seconds(91));
  EXPECT_EQ(points_in_journal(folder.path(), "loss"), 50);
}

TEST(Recorder, KeepsTheLastOfWhatComesTooFast) {
  test::TempDir folder;
  jobspec::Trial trial;
  trial.program = jobspec::Program{};
  {
    Record record(trial, folder.path(), true);
    Recorder recorder(record, trial, folder.path(), 0);
    for (int step = 1; step <= 100'000; ++step)
      recorder.metric("loss", step, step);
    for (int i = 0; i < 2000; ++i)
      recorder.metric("m" + std::to_string(i), 1, 1);
    recorder.flush(Recorder::Clock::now(), true);
    EXPECT_EQ(recorder.last_step(), 100'000);
  }
  const int kept = points_in_journal(folder.path(), "loss");
  EXPECT_GE(kept, 2000);
  EXPECT_LT(kept, 20'000);
  EXPECT_NE(test::read_file(folder.path() / "journal.jsonl").find("[\"loss\",100000,"),
            std::string::npos);
  EXPECT_EQ(points_in_journal(folder.path(), "m998"), 1);
  EXPECT_EQ(points_in_journal(folder.path(), "m1500"), 0) << "1000 metrics at most";
}

TEST(Recorder, KeepsTheExtremesOfWhatComesTooFast) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u}) {
    test::TempDir folder;
    jobspec::Trial trial;
    trial.program = jobspec::Program{};
    trial.metric.name = "other";
    std::mt19937_64 random(seed);
    double least = 1e9, most = -1e9;
    {
      Record record(trial, folder.path(), true);
      Recorder recorder(record, trial, folder.path(), 0);
      for (int step = 1; step <= 20'000; ++step) {
        const double value = static_cast<double>(random() % 1'000'000'000) / 1000;
        recorder.metric("loss", step, step % 100 == 0 ? std::nan("") : value);
        if (step % 100 == 0) continue;
        least = std::min(least, value);
        most = std::max(most, value);
      }
      recorder.flush(Recorder::Clock::now(), true);
    }
    EXPECT_LT(points_in_journal(folder.path(), "loss"), 10'000);
    const std::string journal = test::read_file(folder.path() / "journal.jsonl");
    for (const double value : {least, most})
      EXPECT_NE(journal.find("," + jobspec::Value(value).to_json() + "]"), std::string::npos)
          << value << " with seed " << seed;
  }
}

std::string stop_reason(jobspec::Program program, const std::vector<double>& values) {
  test::TempDir folder;
  jobspec::Trial trial;
  trial.metric.name = "loss";
  trial.metric.targets = {0.1};
  trial.program = std::move(program);
  Record record(trial, folder.path(), true);
  Recorder recorder(record, trial, folder.path(), 0);
  for (std::size_t i = 0; i < values.size(); ++i)
    recorder.metric("loss", static_cast<std::int64_t>(i + 1), values[i]);
  return recorder.stop_reason();
}

TEST(Recorder, AsksToStopOnceTheMetricIsNoFiniteNumber) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  jobspec::Program program;
  for (const double value : {nan, inf, -inf}) {
    EXPECT_NE(stop_reason(program, {2, value}).find("at step 2: it has diverged"),
              std::string::npos);
    EXPECT_EQ(stop_reason(program, {value, value, 2}), "") << "before there was a value";
    EXPECT_NE(stop_reason(program, {value, value, value}), "");
    program.stop_at_nan = false;
    EXPECT_EQ(stop_reason(program, {2, value, value, value}), "");
    program.stop_at_nan = true;
  }
  program.stop_at_target = true;
  program.stop_at_nan = false;
  EXPECT_EQ(stop_reason(program, {-inf}), "") << "no target is reached by it";
  EXPECT_NE(stop_reason(program, {0.1}), "");
}

TEST(Placement, NodeListsOfSlurm) {
  EXPECT_THAT(expand_node_list("n[1-3,07],m"), ElementsAre("n1", "n2", "n3", "n07", "m"));
  EXPECT_THAT(expand_node_list("a[08-10]b[1-2]"),
              ElementsAre("a08b1", "a08b2", "a09b1", "a09b2", "a10b1", "a10b2"));
  EXPECT_THAT(expand_node_list("host-1.example.org"), ElementsAre("host-1.example.org"));
  EXPECT_TRUE(expand_node_list("").empty());
  EXPECT_LE(expand_node_list("n[1-999999999]").size(), 100'000u);
  EXPECT_THAT(expand_node_list("n[1-2"), ElementsAre("n[1-2"));
}

}  // namespace
}  // namespace thalweg::engine
