// kill -9 in the middle of writing: the file stays whole, and what was reported as committed is
// there, once.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include "tests/db/fixture.h"

namespace thalweg::db {
namespace {

constexpr std::int64_t kSweep = 1;
const Id kAttempt{kSweep, 1, 1};

/// Line n has 1 + n % 7 points of each of two metrics; their steps tell which line they are of.
std::vector<Point> points_of_line(std::int64_t line) {
  std::vector<Point> points;
  for (std::int64_t i = 0; i <= line % 7; ++i) {
    const std::int64_t step = 10 * line + i;
    points.push_back(
        {"a", step, static_cast<double>(step) / 3, 1700000000.0 + static_cast<double>(line)});
    points.push_back(
        {"b", step, -static_cast<double>(step), 1700000000.0 + static_cast<double>(line)});
  }
  return points;
}

/// Goes on from where the file stands, one line and its event a transaction, and reports each after
/// its commit; never returns.
[[noreturn]] void write_until_killed(const std::filesystem::path& file, int report) {
  Store store(file);
  for (std::int64_t line = store.attempt(kAttempt)->journal_lines + 1;; ++line) {
    store.transaction([&] {
      store.append_event({0, 1700000000, "line", kAttempt, "{\"n\":" + std::to_string(line) + "}"});
      if (!store.add_points(kAttempt, line, line, points_of_line(line))) _exit(3);
    });
    if (::write(report, &line, sizeof line) != sizeof line) _exit(4);
  }
}

/// Starts a writer, kills it `after` it has reported some lines; the last line that it reported as
/// committed.
std::int64_t write_and_kill(const std::filesystem::path& file, int lines,
                            std::chrono::microseconds after) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe");
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    try {
      write_until_killed(file, ends[1]);
    } catch (...) {
      _exit(5);
    }
  }
  close(ends[1]);
  std::int64_t line = 0, last = 0;
  const auto read_one = [&] { return ::read(ends[0], &line, sizeof line) == sizeof line; };
  while (lines-- > 0 && read_one())
    last = line;
  std::this_thread::sleep_for(after);
  kill(child, SIGKILL);
  while (read_one())
    last = line;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself: " << WEXITSTATUS(status);
  return last;
}

void expect_whole(Store& store, std::int64_t reported) {
  static const sqlite::Sql kCheck{"check", "PRAGMA integrity_check"};
  sqlite::Run check(store.connection(), kCheck);
  ASSERT_TRUE(check.row());
  EXPECT_EQ(check.text(0), "ok");
  const std::int64_t lines = store.attempt(kAttempt)->journal_lines;
  EXPECT_GE(lines, reported);      // nothing that was reported is lost
  EXPECT_LE(lines, reported + 1);  // one may have been committed and not yet reported
  EXPECT_EQ(store.events_of(kAttempt).size(), static_cast<std::size_t>(lines));
  std::vector<Point> expected;
  for (std::int64_t line = 1; line <= lines; ++line) {
    for (const Point& point : points_of_line(line)) {
      if (point.metric == "a") expected.push_back(point);
    }
  }
  const auto curve = store.curve(kAttempt, "a");
  ASSERT_EQ(curve.size(), expected.size());
  for (std::size_t i = 0; i < curve.size(); ++i) {
    ASSERT_EQ(curve[i].step, expected[i].step);
    ASSERT_EQ(curve[i].value, expected[i].value);
  }
  // The curve drops doubles; the rows do not.
  const auto rows =
      store
          .query("SELECT metric, count(*), count(DISTINCT step) FROM metrics GROUP BY metric", 10,
                 60)
          .rows;
  for (const auto& row : rows) {
    EXPECT_EQ(row[1].as_int(), static_cast<std::int64_t>(expected.size()));
    EXPECT_EQ(row[2].as_int(), static_cast<std::int64_t>(expected.size()));
  }
}

TEST(Crash, KilledWritersLoseAndDoubleNothing) {
  test::TempDir folder;
  const auto file = folder.path() / "thalweg.db";
  {
    Store store(file);
    ASSERT_EQ(store.insert_sweep(sample_sweep()), kSweep);
    store.insert_trials({sample_trial(kSweep, 1)});
    store.insert_attempt(sample_attempt(kSweep, 1));
  }
  std::mt19937 random(5);
  std::uniform_int_distribution<int> lines(1, 5), pause(0, 30'000);
  std::int64_t before = 0;
  for (int round = 0; round < 25; ++round) {
    const int at_least = lines(random);
    const std::int64_t reported =
        write_and_kill(file, at_least, std::chrono::microseconds(pause(random)));
    EXPECT_GT(reported, before);
    Store store(file);
    expect_whole(store, reported);
    if (HasFatalFailure()) return;
    before = store.attempt(kAttempt)->journal_lines;
  }
  EXPECT_GT(before, 25);
}

}  // namespace
}  // namespace thalweg::db
