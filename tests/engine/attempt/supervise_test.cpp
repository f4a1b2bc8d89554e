// The parts of the supervisor of users' programs, without one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <tuple>

#include "base/text.h"
#include "engine/attempt/supervise/event_files.h"
#include "engine/attempt/supervise/placement.h"
#include "engine/attempt/supervise/reason.h"
#include "engine/attempt/supervise/recorder.h"
#include "engine/attempt/supervise/reports.h"
#include "engine/attempt/supervise/twins.h"
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
  for (const char* bad :
       {"", "{", "[]", "{}", R"({"metrics": 1})", R"({"metrics": {}, "step": 1.5})",
        R"({"metrics": {}, "step": 1e30})", R"({"checkpoint": 3})", "\xff"})
    EXPECT_THROW(parse_report(bad), std::invalid_argument) << bad;
}

TEST(Reports, OneBadMetricDoesNotCostTheOthers) {
  const Report report =
      parse_report(R"({"metrics": {"a": null, "b": 2, "c": "red", "d": {"e": 1}}, "step": 3})");
  EXPECT_THAT(report.values, ElementsAre(std::pair<std::string, double>("b", 2)));
  EXPECT_THAT(report.left_out, ElementsAre("the metric a is no number", "the metric c is no number",
                                           "the metric d is no number"));
}

TEST(Reports, NoLineOfAFileIsPassedOverInSilence) {
  test::TempDir folder;
  GrowingLines lines(folder.path() / "reports");
  std::vector<std::string> seen;
  const auto each = [&](std::string_view line) { seen.emplace_back(line); };
  test::write_file(folder.path() / "reports",
                   "one\n" + std::string(3 << 20, 'x') + "\n\ntwo\nhalf");
  while (lines.read(each)) {
  }
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[1], std::string(1024, 'x')) << "too long to be a report, but there";
  EXPECT_EQ(seen[2], "two");
  lines.finish(each);
  EXPECT_EQ(seen.back(), "half");
}

/// What costs a program nothing to write must not take hours to read.
TEST(Reports, FilesWithoutAnEndAreNotReadToIt) {
  test::TempDir folder;
  const auto file = folder.path() / "reports";
  GrowingLines lines(file);
  std::vector<std::string> seen;
  const auto each = [&](std::string_view line) { seen.emplace_back(line); };
  test::write_file(file, "one\n");
  std::filesystem::resize_file(file, std::uintmax_t{1} << 40);
  std::ofstream(file, std::ios::app) << "\ntwo\n";
  while (lines.read(each)) {
  }
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[1], std::string(1024, '\0')) << "too long to be a report, but there";
  EXPECT_EQ(seen[2], "two");
  std::filesystem::create_symlink("/dev/zero", folder.path() / "endless");
  GrowingLines endless(folder.path() / "endless");
  EXPECT_FALSE(endless.read(each));
}

TEST(Twins, ALineOnBothStreamsCountsOnce) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    std::mt19937_64 random(seed);
    Twins twins;
    // Stream 0 has a to z in order, stream 1 most of them; which comes first is chance.
    std::size_t at[2] = {0, 0}, counted = 0;
    std::vector<std::string> of[2];
    for (int i = 0; i < 500; ++i) {
      of[0].push_back(std::to_string(i));
      if (random() % 5 != 0) of[1].push_back(std::to_string(i));
    }
    while (at[0] < of[0].size() || at[1] < of[1].size()) {
      int stream = static_cast<int>(random() % 2);
      if (at[stream] == of[stream].size()) stream = 1 - stream;
      counted += twins.is_second(stream, of[stream][at[stream]++]) ? 0 : 1;
    }
    EXPECT_EQ(counted, 500u) << seed;
  }
  Twins repeated;
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(repeated.is_second(0, "same")) << "of one stream each counts";
}

TEST(Reason, IsTheLineThatHasTheError) {
  const std::pair<const char*, const char*> cases[] = {
      {"Traceback (most recent call last):\n  File \"a.py\", line 3\nValueError: no such set\n",
       "ValueError: no such set"},
      {"[rank0]: torch.OutOfMemoryError: CUDA out of memory.\nE1127 api.py:874] failed (exitcode: "
       "1)\n"
       "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
       "============================================================\ntrain.py FAILED\n"
       "------------------------------------------------------------\n"
       "  traceback : To enable traceback see: https://x\n"
       "============================================================\n",
       "[rank0]: torch.OutOfMemoryError: CUDA out of memory."},
      {"Error executing job with overrides: ['x=1']\nomegaconf.errors.ConfigKeyError: Key 'x'\n\n"
       "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.\n",
       "omegaconf.errors.ConfigKeyError: Key 'x'"},
      {"Could not override 'x'.\nTo append to your config use +x=1\n\n"
       "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.\n",
       "Could not override 'x'."},
      {"mismatched input '=' expecting <EOF>\nSee https://hydra.cc/docs/x for details\n\n"
       "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.\n",
       "mismatched input '=' expecting <EOF>"},
      {"Ambiguous value for argument 'x=1,2'\n1. To use it as a list, use key=[value1,value2]\n"
       "3. To sweep over it, add --multirun to your command line\n",
       "Ambiguous value for argument 'x=1,2'"},
      {"usage: a.py [-h]\na.py: error: unrecognized arguments: --lr=1\n",
       "a.py: error: unrecognized arguments: --lr=1"},
      {"terminate called after throwing an instance of 'std::runtime_error'\n  what():  broken\n"
       "Aborted (core dumped)\n",
       "what():  broken"},
      // As mpirun of Open MPI 4.1.4 says it, and before it another rank of what it saw.
      {"Primary job  terminated normally, but 1 process returned\na non-zero exit code.\n-----\n"
       "  Message:    connect() to 10.213.1.11:1024 failed\n"
       "  Error:      Operation now in progress (115)\n-----\n"
       "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 6 (Aborted).\n"
       "-----\n  Error:      Connection refused (111)\n-----\n",
       "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 6 (Aborted)."},
      {"ValueError: no such set\n-----\nMPI_ABORT was invoked on rank 1 in communicator\n",
       "ValueError: no such set"},
      {"step 1 val/error 0.3\nno disk left on /data\nstep 2\r\n\n   \n---\n", "step 2"},
      {"\x1b[31mRuntimeError: red\x1b[0m\nbye\n", "RuntimeError: red"},
      {"AssertionError\n", "AssertionError"},
      {"a.py:3: UserWarning: this Error: is none\n  number = float(value)\n",
       "number = float(value)"},
      {"", ""},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(reason_in(text), expected) << text;
  EXPECT_EQ(reason_in("a.py:3: UserWarning: none\n  number = float(value)\n", true), "")
      << "of a program that a signal ended";
  EXPECT_EQ(reason_in("slurmstepd: error: Detected 1 oom-kill event\nbye\n", true),
            "slurmstepd: error: Detected 1 oom-kill event");
}

TEST(Reason, IsCutAtCharactersAndAlwaysValid) {
  std::string wide = "ValueError: ";
  for (int i = 0; i < 200; ++i)
    wide += "ä→";
  const std::string reason = reason_in(wide);
  EXPECT_LE(reason.size(), 300u);
  EXPECT_GE(reason.size(), 297u);
  EXPECT_EQ(valid_utf8(reason), reason);
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    std::string bytes;
    for (std::uint64_t i = 0, size = random() % 900; i < size; ++i)
      bytes += static_cast<char>(random() % 256);
    const std::string any = reason_in(bytes);
    EXPECT_EQ(valid_utf8(any), any);
    EXPECT_LE(any.size(), 300u);
  }
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

/// The last `count` that the journal has of a loss; 0 where it tells of none.
std::int64_t lost_in_journal(const std::filesystem::path& folder, const std::string& kind) {
  const std::string text = test::read_file(folder / "journal.jsonl");
  const std::size_t at = text.rfind("\"lost\":\"" + kind + "\",\"count\":");
  return at == text.npos ? 0 : std::stoll(text.substr(text.find("count", at) + 7));
}

TEST(Recorder, TellsHowManyNumbersAreLost) {
  test::TempDir folder;
  jobspec::Trial trial;
  trial.program = jobspec::Program{};
  {
    Record record(trial, folder.path(), true);
    record.start({});
    Recorder recorder(record, trial, folder.path(), 0);
    for (int step = 1; step <= 30'000; ++step)
      recorder.metric("loss", step, step % 7);
    for (int i = 0; i < 25; ++i)
      recorder.metric("a\nb", 1, 1);
    for (int i = 0; i < 3; ++i)
      recorder.lose("reports", 1, "no JSON \xff");
    EXPECT_EQ(lost_in_journal(folder.path(), "names"), 10) << "told at 1, at 10, ...";
    recorder.flush(Recorder::Clock::now(), true);
    recorder.tell_losses();
  }
  EXPECT_EQ(lost_in_journal(folder.path(), "names"), 25);
  EXPECT_EQ(lost_in_journal(folder.path(), "reports"), 3);
  EXPECT_EQ(lost_in_journal(folder.path(), "points"),
            30'000 - points_in_journal(folder.path(), "loss"));
  const std::string journal = test::read_file(folder.path() / "journal.jsonl");
  EXPECT_EQ(valid_utf8(journal), journal);
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

// Steps that are reported again take the place of what was reported before, the smallest value too.
TEST(Recorder, AStepThatIsReportedAgainHasItsLastValue) {
  test::TempDir folder;
  jobspec::Trial trial;
  trial.program = jobspec::Program{};
  std::map<std::int64_t, double> truth, kept;
  {
    Record record(trial, folder.path(), true);
    Recorder recorder(record, trial, folder.path(), 0);
    std::mt19937_64 random(9);
    for (int i = 1; i <= 30'000; ++i) {
      const auto step = static_cast<std::int64_t>(i - static_cast<int>(random() % 3));
      const double value = i < 20 ? -1e6 : static_cast<double>(random() % 1'000'000);
      recorder.metric("loss", i < 40 ? i % 20 : step, i < 20 ? value : value + 1);
      truth[i < 40 ? i % 20 : step] = i < 20 ? value : value + 1;
    }
    recorder.flush(Recorder::Clock::now(), true);
  }
  std::istringstream journal(test::read_file(folder.path() / "journal.jsonl"));
  for (std::string line; std::getline(journal, line);) {
    const auto points = nlohmann::json::parse(line).value("points", nlohmann::json::array());
    for (const auto& point : points)
      kept[point[1].get<std::int64_t>()] = point[2].get<double>();
  }
  const auto least = [](const auto& points) {
    return std::min_element(points.begin(), points.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->second;
  };
  EXPECT_LT(kept.size(), 10'000u);
  EXPECT_EQ(kept.rbegin()->first, truth.rbegin()->first);
  EXPECT_GE(least(kept), 0) << "the first 20 were reported again";
  EXPECT_LE(least(kept), 2000) << "the best of what counts, or one that is hardly larger";
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
