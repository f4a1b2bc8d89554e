// What studies print of a record that never changes: text, CSV, JSON, and their sections of the
// report, next to files of data/studies. THALWEG_RECORD=1 writes the files anew; look at the
// difference before you commit it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "db/store.h"
#include "tests/db/fixture.h"
#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kRecorded = fs::path(THALWEG_SOURCE_DIR) / "tests/end_to_end/data/studies";

struct Optimizer {
  const char* name;
  double rate, steps, critical_batch;
};
constexpr Optimizer optimizers[] = {
    {"adamw", 0.001, 100, 300}, {"lion", 0.0002, 120, 500}, {"sgd", 0.1, 260, 150}};

class RecordedStudies : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(home.home());
    fs::permissions(home.home(), fs::perms::owner_all);
    write_file(home.home() / "config.yaml", "prices: {node_hour: 2.5, currency: EUR}\n");
    db::Store store(home.home() / "thalweg.db");
    store.transaction([&] {
      add_sweep(store, 1);
      add_sweep(store, 2.5);
    });
  }

  /// Three optimizers, batches and numbers of nodes, two seeds. `harder`: times the steps.
  void add_sweep(db::Store& store, double harder) {
    db::SweepRow row = db::sample_sweep(harder > 1 ? "harder" : "easy");
    row.target = 0.1;
    row.targets = {0.1, 0.2};
    row.state = db::SweepPhase::finished;
    sweep_ = store.insert_sweep(row);
    trial_ = 0;
    std::int64_t configuration = 0;
    for (const Optimizer& optimizer : optimizers)
      for (const int batch : {64, 256, 1024})
        for (const int nodes : {1, 2, 4}) {
          ++configuration;
          for (int seed = 1; seed <= 2; ++seed)
            add_trial(store, configuration, seed, optimizer, batch, nodes, harder);
        }
    db::Event imported;
    imported.time = row.submitted;
    imported.id = {sweep_, 0, 0};
    imported.kind = "imported";
    imported.data = json{
        {"metric",
         {{"name", row.metric}, {"goal", "minimize"}, {"target", 0.1}, {"targets", {0.1, 0.2}}}},
        {"trials",
         trial_}}.dump();
    store.append_event(imported);
  }

  void add_trial(db::Store& store, std::int64_t configuration, int seed, const Optimizer& optimizer,
                 int batch, int nodes, double harder) {
    const double wobble = 1 + 0.02 * seed + 0.01 * static_cast<double>(trial_ % 5);
    const double steps =
        std::round(harder * wobble * optimizer.steps * (1 + optimizer.critical_batch / batch));
    const double per_second = std::round(1000 * std::pow(nodes, batch == 64 ? 0.4 : 0.9) / wobble);
    db::TrialRow trial = db::sample_trial(sweep_, ++trial_, static_cast<std::uint64_t>(seed));
    trial.configuration = configuration;
    trial.state = db::TrialPhase::finished;
    trial.parameters = json{
        {"batch.global", batch},
        {"optimizer.lr", optimizer.rate},
        {"optimizer.name", optimizer.name},
        {"resources.nodes",
         nodes}}.dump();
    store.insert_trials({trial});
    db::AttemptRow attempt = db::sample_attempt(sweep_, trial_);
    attempt.nodes = attempt.ranks = nodes;
    attempt.state = db::AttemptState::finished;
    attempt.ended = attempt.started + std::round(1.5 * steps * batch / per_second);
    store.insert_attempt(attempt);
    store.put_start(attempt.id, json{{"ranks", nodes},
                                     {"flops_per_sample", 2e9},
                                     {"config", {{"batch", {{"global", batch}}}}}}
                                    .dump());
    // sgd misses the target with the largest batch.
    const bool misses = batch == 1024 && optimizer.name == std::string("sgd");
    std::vector<db::Point> points;
    const auto add = [&](const char* metric, double part, double value) {
      const double at = std::round(part * steps);
      points.push_back({metric, static_cast<std::int64_t>(at), value,
                        attempt.started + std::round(at * batch / per_second)});
    };
    add("perf/samples_per_s", 0.25, per_second);
    for (const double part : {0.25, 0.5, 1.0, 1.25})
      add("noise/b_simple", part, std::round(optimizer.critical_batch / 2 * wobble));
    add("val/error", 0.25, 0.4);
    add("val/error", 0.5, 0.19);
    add("val/error", 1, misses ? 0.15 : 0.0995);
    add("val/error", 1.25, (misses ? 0.14 : 0.06) + 0.001 * wobble * std::log2(batch));
    store.add_points(attempt.id, 1, 1, points);
  }

  std::string said(const std::string& words) {
    const Outcome outcome = home.shell("thalweg " + words);
    return "$ thalweg " + words + "\n" + outcome.out + outcome.err +
           (outcome.code == 0 ? "" : "exit code " + std::to_string(outcome.code) + "\n");
  }

  void expect_recorded(const std::string& name, const std::vector<std::string>& lines) {
    std::string found;
    for (const std::string& words : lines)
      found += said(words) + "\n";
    compare(name, found);
  }

  static void compare(const std::string& name, const std::string& found) {
    const fs::path file = kRecorded / name;
    if (std::getenv("THALWEG_RECORD") != nullptr)
      write_file(file, found);
    else
      EXPECT_EQ(read_file(file), found) << file;
  }

  SweepHome home;
  std::int64_t sweep_ = 0, trial_ = 0;
};

TEST_F(RecordedStudies, PrintWhatTheyDid) {
  expect_recorded("pareto.txt", {"pareto 1", "pareto 1 2 --all", "pareto 1 --money --target 0.2",
                                 "pareto 1 --csv", "pareto 1 --target 0.2 --json",
                                 "pareto 1 --target 0.01", "pareto 1.1", "pareto 9"});
  expect_recorded("importance.txt",
                  {"importance 1", "importance 1 --best 0.5", "importance 1 --csv",
                   "importance 1 --json", "importance 1 --metric noise/b_simple",
                   "importance 1 --best 2", "importance 1.1", "importance 1 --metric no/such"});
  expect_recorded("tuneability.txt",
                  {"tuneability 1 --by optimizer.name", "tuneability 1 --by optimizer.name --csv",
                   "tuneability 1 --by name --settings", "tuneability 1 --by optimizer.name --json",
                   "tuneability 1 --by optimizer.name --settings --csv", "tuneability 1"});
  expect_recorded("rcp.txt",
                  {"rcp 1 --by optimizer.name", "rcp 1 --by optimizer.name --reference lion",
                   "rcp 1 --by optimizer.name --reference lion --csv --steps",
                   "rcp 1 --by optimizer.name --reference lion --json --target 0.2",
                   "rcp 1 2 --by sweep --reference 1", "rcp 1 --by optimizer.name --reference x"});
  expect_recorded("profile.txt",
                  {"profile 1 2 --by optimizer.name", "profile 1 2 --by optimizer.name --csv",
                   "profile 1 --by optimizer.name --best-over batch.global --steps --compat --json",
                   "profile 1 2 --by optimizer.name --held-out 2=easy",
                   "profile 1 --by optimizer.name --held-out 2", "profile 1"});
  expect_recorded("batch.txt", {"batch 1", "batch 1 2 --target 0.2", "batch 1 --by optimizer.name",
                                "batch 1 --csv", "batch 1 --by optimizer.name --csv",
                                "batch 1 --json", "batch 1 --by name --target 0.01", "batch 1.1"});
  expect_recorded("scaling.txt",
                  {"scaling 1", "scaling 1 2", "scaling 1 --csv", "scaling 2 --json"});
  expect_recorded("timeline.txt",
                  {"timeline 1.1 2.3", "timeline 1.1.1 --csv", "timeline 1.4 --json",
                   "timeline 1.1 --svg -", "timeline 1", "timeline 1.1.2", "timeline 1.999"});
  ASSERT_EQ(home.shell("printf 'mb,s,note\\n1,3.1,a\\n2,5.2,\\n3,6.9,\\nx,1,\\n5,11,\\n8,17.2,\\n"
                       "13,26.9,\\n21,43,\\n34,69.5,\\n' > times.csv")
                .code,
            0);
  expect_recorded(
      "predict.txt",
      {"predict times.csv --at 10,60", "predict times.csv --x s --y mb --at 10 --json",
       "predict times.csv --x no", "predict --of step --at 100,500", "predict --device cuda",
       "predict --of checkpoint", "predict 1 --nodes 1,2,4,8 --no-simulation",
       "predict 1.1 --nodes 1,2 --hours 0.01 --revocations 0.05 --no-simulation",
       "predict 1.1 --nodes 1,3 --no-simulation --json", "predict 1 --nodes 1 --money 5",
       "predict 1.1", "predict 9 --nodes 1", "predict 1 --nodes 0 --no-simulation"});
  expect_recorded("figure.txt", {"figure 2 1 --csv", "figure 3 1 2 --csv", "figure 4 1 --csv"});
}

/// From a heading of the second level to the next; the footnotes, too.
std::string sections_of(const std::string& page, const std::vector<std::string>& titles) {
  std::string found;
  for (const std::string& title : titles) {
    const auto heading = page.find(">" + title + "</h2>");
    if (heading == page.npos) continue;
    const auto from = page.rfind("<h2", heading);
    const auto to = std::min(page.find("<h2", heading), page.find("</main>", heading));
    found += page.substr(from, to - from);
  }
  return found;
}

TEST_F(RecordedStudies, HaveTheSectionsTheyHad) {
  const Outcome outcome = home.thalweg({"report", "1", "--also", "2", "-o", "-"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  compare("report.html",
          sections_of(outcome.out, {"Performance profiles", "Time against cost", "Scaling",
                                    "Batch size", "Which parameters matter",
                                    "Best of k configurations", "How each number was computed"}));
  // Data of the charts, one to a line.
  const std::string before = "id=\"data\">";
  const auto at = outcome.out.find(before);
  ASSERT_NE(at, outcome.out.npos);
  const auto from = at + before.size();
  const json data =
      json::parse(outcome.out.substr(from, outcome.out.find("</script>", from) - from));
  std::string charts;
  for (const json& chart : data.at("charts"))
    for (const char* study : {"profile", "pareto", "scaling", "batch", "importance"})
      if (chart.at("id") == study) charts += chart.dump() + "\n";
  compare("charts.jsonl", charts);
}

}  // namespace
}  // namespace thalweg::test
