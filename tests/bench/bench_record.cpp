// How long the commands take that people wait for, on a large record: 30,000 trials with 100
// parameters and 100 metrics each, 10 million points.
//   bench_record [TRIALS] [FOLDER]
// The record is made by the store, the commands are the real ones with a real controller; medians
// of seven calls, with start and end of the command's process. Before each call something is
// written, so that nothing that the controller has read for the last one is still kept; `again` is
// without that. FOLDER keeps the record for more calls.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "daemon/api/client.h"
#include "daemon/controller/imported.h"
#include "daemon/state/events.h"
#include "db/store.h"
#include "tests/support/process.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;

constexpr int kParameters = 100, kMetrics = 100, kSeeds = 5;
constexpr int kShort = 3, kLong = 36;  ///< points of a metric, and of the one that is ranked by
constexpr const char* kMetric = "val/error";

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Six optimizers, ten rates, 100 more values of other parameters; five seeds each.
std::string parameters_of(int configuration) {
  std::string text = fmt::format(R"({{"optimizer.name":"o{}","optimizer.lr":{})", configuration % 6,
                                 1e-3 * (1 + configuration / 6 % 10));
  for (int p = 2; p < kParameters; ++p)
    text += fmt::format(R"(,"group.p{}":{})", p, p < 4 ? configuration / 60 % 100 : p);
  return text + "}";
}

std::vector<db::Point> points_of(int trial) {
  std::vector<db::Point> points;
  for (int m = 0; m < kMetrics; ++m) {
    const bool ranked = m == 0;
    const std::string name = ranked ? kMetric : fmt::format("group/m{}", m);
    for (int s = 1; s <= (ranked ? kLong : kShort); ++s)
      points.push_back({name, 100 * s, 0.5 / s + 1e-4 * (trial % 13 + trial % 6), 1.7e9 + 10 * s});
  }
  return points;
}

void make_record(const fs::path& file, int trials) {
  db::Store store(file);
  daemon::Import import;
  import.name = "large";
  import.source = "bench";
  import.metric.name = kMetric;
  import.metric.targets = {0.05};
  db::SweepRow sweep;
  sweep.name = import.name;
  sweep.owner = "bench";
  sweep.backend = "imported";
  sweep.text = daemon::imported_text(import);
  sweep.metric = kMetric;
  sweep.target = 0.05;
  sweep.targets = {0.05};
  sweep.state = db::SweepPhase::finished;
  sweep.submitted = sweep.ended = 1.7e9;
  sweep.notes = "[]";
  const std::int64_t id = store.insert_sweep(sweep);
  constexpr int kAtOnce = 500;
  for (int first = 1; first <= trials; first += kAtOnce)
    store.transaction([&] {
      std::vector<db::TrialRow> rows;
      const int end = std::min(first + kAtOnce, trials + 1);
      for (int t = first; t < end; ++t) {
        db::TrialRow row;
        row.id = {id, t, 0};
        row.configuration = 1 + (t - 1) / kSeeds;
        row.seed = static_cast<std::uint64_t>(1 + (t - 1) % kSeeds);
        row.state = db::TrialPhase::finished;
        row.train = "{}";
        row.parameters = parameters_of((t - 1) / kSeeds);
        row.resources = R"({"nodes":1,"ranks_per_node":1})";
        row.attempts = 1;
        row.ended = 1.7e9 + 400;
        rows.push_back(std::move(row));
      }
      store.insert_trials(rows);
      for (const db::TrialRow& row : rows) {
        db::AttemptRow attempt;
        attempt.id = {id, row.id.trial, 1};
        attempt.token = "bench-" + row.id.to_string();
        attempt.state = db::AttemptState::finished;
        attempt.backend = "imported";
        attempt.launched = attempt.started = 1.7e9;
        attempt.ended = 1.7e9 + 400;
        attempt.nodes = attempt.ranks = 1;
        store.insert_attempt(attempt);
        store.add_points(attempt.id, 1, 1, points_of(static_cast<int>(row.id.trial)));
      }
    });
  store.append_event(daemon::new_event(
      1.7e9, {id, 0, 0}, daemon::event::Imported{import.metric, trials, "bench", {}}));
}

struct Row {
  const char* what;
  std::vector<std::string> words;
  double bar_s;
};

constexpr int calls = 7;

/// Seconds.
double call(const std::vector<std::string>& words, const test::RunOptions& options) {
  const double start = now();
  const test::Outcome outcome = test::run(words, options);
  const double took = now() - start;
  if (outcome.code != 0) throw std::runtime_error(outcome.err);
  return took;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run(int count, char** arguments) {
  const int trials = count > 1 ? std::stoi(arguments[1]) : 30'000;
  const test::TempDir own;
  const daemon::api::Home home{count > 2 ? fs::path(arguments[2]) : own.path() / "home"};
  fs::create_directories(home.directory);
  fs::permissions(home.directory, fs::perms::owner_all);
  if (!fs::exists(home.database())) {
    const double start = now();
    make_record(home.database(), trials);
    fmt::print(
        "{} trials, {} parameters, {} metrics, {:.1f} million points: {:.0f} MB in {:.0f} s\n",
        trials, kParameters, kMetrics, 1e-6 * trials * (kLong + (kMetrics - 1) * kShort),
        1e-6 * static_cast<double>(fs::file_size(home.database())), now() - start);
  }
  test::write_file(home.config(), "backend: local\n");
  test::RunOptions options;
  options.env["THALWEG_HOME"] = home.directory;
  options.deadline = test::milliseconds(300'000);
  const fs::path page = own.path() / "report.html";
  const std::vector<Row> rows = {
      {"ls", {"ls"}, 0.05},
      {"curve", {"curve", "1.123", kMetric}, 0.05},
      {"compare --by optimizer.name", {"compare", "1", "--by", "optimizer.name"}, 0.5},
      {"compare (6,000 rows)", {"compare", "1", "--top", "20"}, 0.5},
      {"report", {"report", "1", "-o", page}, 3},
  };
  test::run({"thalweg", "ls"}, options);  // starts the controller
  for (const Row& row : rows) {
    std::vector<std::string> words = row.words;
    words.insert(words.begin(), "thalweg");
    std::vector<double> written, again;
    for (int i = 0; i < calls; ++i) {
      call({"thalweg", "tag", "1", fmt::format("call-{}", i)}, options);
      fs::remove(page);
      written.push_back(call(words, options));
      fs::remove(page);
      again.push_back(call(words, options));
    }
    const double median = median_of(written);
    fmt::print("{:<32}{:10.1f} ms   again {:8.1f} ms   bar {:6.0f} ms   {}\n", row.what,
               1e3 * median, 1e3 * median_of(again), 1e3 * row.bar_s,
               median < row.bar_s ? "holds" : "missed");
    std::fflush(stdout);
  }
  test::run({"thalweg", "daemon", "stop"}, options);
  return 0;
}

}  // namespace
}  // namespace thalweg

int main(int count, char** arguments) {
  try {
    return thalweg::run(count, arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_record: {}\n", error.what());
    return 1;
  }
}
