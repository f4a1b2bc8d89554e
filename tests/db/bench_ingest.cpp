// Prints how fast the store takes and gives points. usage: bench_db [MILLIONS of points, default 1]
// [FOLDER]
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "db/analysis/compare.h"
#include "db/sqlite/connection.h"
#include "db/store.h"
#include "tests/db/fixture.h"

namespace thalweg::db {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// User and system time of this process: steadier than the clock on a busy machine.
double cpu() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

template <class F>
void timed(const char* what, int times, F work) {
  std::vector<double> took;
  const double start_cpu = cpu();
  for (int i = 0; i < times; ++i) {
    const double start = now();
    work(i);
    took.push_back(now() - start);
  }
  const double took_cpu = (cpu() - start_cpu) / times;
  std::sort(took.begin(), took.end());
  fmt::print("  {:<56} {:10.3f} ms, CPU {:10.3f} ms\n", what, took[took.size() / 2] * 1e3,
             took_cpu * 1e3);
  std::fflush(stdout);
}

constexpr int kTrials = 64;
constexpr int kMetrics = 16;

/// Every trial reports `steps` steps of every metric a commit, one transaction for all of them, as
/// the controller does.
void ingest(const std::filesystem::path& folder, std::int64_t points, std::int64_t steps) {
  const auto file = folder / "bench.db";
  for (const char* suffix : {"", "-wal", "-shm"})
    std::filesystem::remove(file.string() + suffix);
  Store store(file);
  const auto sweep = store.insert_sweep(sample_sweep());
  for (int trial = 1; trial <= kTrials; ++trial) {
    store.insert_trials({sample_trial(sweep, trial)});
    store.insert_attempt(sample_attempt(sweep, trial));
  }
  std::vector<std::string> names;
  for (int m = 0; m < kMetrics; ++m)
    names.push_back("group/metric" + std::to_string(m));
  std::vector<double> commits;
  const double start = now(), start_cpu = cpu();
  std::int64_t done = 0, step = 0, line = 0;
  for (; done < points; step += steps) {
    ++line;
    const double before = now();
    store.transaction([&] {
      for (int trial = 1; trial <= kTrials; ++trial) {
        std::vector<Point> batch;
        for (std::int64_t s = step; s < step + steps; ++s) {
          for (int m = 0; m < kMetrics; ++m) {
            batch.push_back({names[static_cast<std::size_t>(m)], 10 * s,
                             std::exp(-1e-4 * static_cast<double>(s)) +
                                 0.01 * std::sin(static_cast<double>(s * m + trial)),
                             1700000000 + 0.125 * static_cast<double>(s)});
          }
        }
        store.add_points({sweep, trial, 1}, line, line, batch);
        done += static_cast<std::int64_t>(batch.size());
      }
    });
    commits.push_back(now() - before);
  }
  const double took = now() - start, took_cpu = cpu() - start_cpu;
  std::sort(commits.begin(), commits.end());
  store.connection().script("checkpoint", "PRAGMA wal_checkpoint(TRUNCATE)");
  fmt::print(
      "{} points, {} a commit: {:.0f} points/s, commit median {:.1f} ms, p99 {:.1f} ms, {:.1f} "
      "bytes/point, {:.2f} us CPU/point\n",
      done, kTrials * kMetrics * steps, static_cast<double>(done) / took,
      commits[commits.size() / 2] * 1e3, commits[commits.size() * 99 / 100] * 1e3,
      static_cast<double>(std::filesystem::file_size(file)) / static_cast<double>(done),
      took_cpu * 1e6 / static_cast<double>(done));
  timed("latest of all 1,024 series", 5, [&](int) { store.latest(sweep); });
  timed("one curve, all points", 9, [&](int i) { store.curve({sweep, 1 + i, 0}, names[3]); });
  timed("one curve, thinned to 500", 9, [&](int i) {
    store.curve({sweep, 1 + i, 0}, names[4], 500);
  });
  timed("64 curves of one metric, thinned to 500", 3, [&](int) {
    for (int t = 1; t <= kTrials; ++t)
      store.curve({sweep, t, 0}, names[5], 500);
  });
  timed("SQL: mean of one curve", 5, [&](int) {
    store.query(
        "SELECT avg(value) FROM metrics WHERE sweep = 1 AND trial = 7 AND metric = 'group/metric3'",
        1, 600);
  });
  timed("SQL: mean of one metric over 64 trials", 3, [&](int) {
    store.query(
        "SELECT trial, avg(value) FROM metrics WHERE sweep = 1 AND metric = 'group/metric3' GROUP "
        "BY trial",
        100, 600);
  });
  timed("SQL: max over all points", 1,
        [&](int) { store.query("SELECT max(step), max(value) FROM metrics", 1, 600); });
}

void many_trials(const std::filesystem::path& folder) {
  const auto file = folder / "trials.db";
  for (const char* suffix : {"", "-wal", "-shm"})
    std::filesystem::remove(file.string() + suffix);
  Store store(file);
  std::vector<TrialRow> trials;
  const auto big = store.insert_sweep(sample_sweep("big"));
  for (int i = 1; i <= 100'000; ++i)
    trials.push_back(sample_trial(big, i));
  timed("insert 100,000 trials", 1, [&](int) { store.insert_trials(trials); });
  timed("read 100,000 trials", 3, [&](int) { store.trials(big); });

  const auto sweep = store.insert_sweep(sample_sweep("compared"));
  trials.clear();
  for (int i = 1; i <= 30'000; ++i) {
    TrialRow row = sample_trial(sweep, i, static_cast<std::uint64_t>(i % 5));
    row.state = TrialPhase::finished;
    row.parameters =
        fmt::format(R"({{"optimizer.name":"o{}","optimizer.lr":{}}})", i % 6, 1e-3 * (i % 10));
    trials.push_back(row);
  }
  store.transaction([&] {
    store.insert_trials(trials);
    for (int i = 1; i <= 30'000; ++i) {
      AttemptRow attempt = sample_attempt(sweep, i);
      attempt.ended = attempt.started + 100;
      store.insert_attempt(attempt);
      std::vector<Point> points;
      for (int s = 1; s <= 5; ++s) {
        points.push_back({"val/error", 100 * s, 0.5 / s + 1e-4 * (i % 13), attempt.started + s});
        points.push_back({"perf/samples_per_s", 100 * s, 1000.0 + i % 17, attempt.started + s});
      }
      store.add_points(attempt.id, 1, 1, points);
    }
  });
  timed("compare 30,000 trials in 30 groups, to target", 3,
        [&](int) { analysis::compare(store, sweep); });
}

}  // namespace
}  // namespace thalweg::db

int main(int argc, char** argv) {
  const double millions = argc > 1 ? std::stod(argv[1]) : 1;
  thalweg::test::TempDir own;
  const std::filesystem::path folder = argc > 2 ? argv[2] : own.path();
  const auto points = static_cast<std::int64_t>(millions * 1e6);
  // One point of each series a commit is the slowest way: a million of them are enough.
  for (const std::int64_t steps : {1, 10, 100}) {
    thalweg::db::ingest(folder, std::min(points, 1'000'000 * steps), steps);
  }
  thalweg::db::many_trials(folder);
}
