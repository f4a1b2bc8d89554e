// Elastic trials through the real programs: nodes and cores go and come back, the curve stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/end_to_end/shared_cluster.h"
#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int checkpoint_steps = 50;

/// One trial; `shards` where the ranks alone would give others.
std::string sweep_text(const std::string& nodes, int steps, const std::string& shards = "") {
  return "name: elastic\nmethod: grid\nmetric: {name: val/error, goal: minimize}\n"
         "parameters: {optimizer.name: {values: [adamw]}}\n"
         "train:\n"
         "  model: {name: mlp, hidden: [32]}\n"
         "  data: {name: fashion-mnist}\n"
         "  batch: {global: 64" +
         (shards.empty() ? "" : ", shards: " + shards) + "}\n  steps: " + std::to_string(steps) +
         "\n  log: {every: 5}\n  checkpoint: {every: " + std::to_string(checkpoint_steps) +
         "}\n"
         "resources: {nodes: " +
         nodes + ", time: \"00:10:00\"}\nlimits: {max_retries: 6}\n";
}

/// Steps of the checkpoints in the attempt's folder; 0 = none.
std::int64_t newest_checkpoint(SweepHome& home, const std::string& attempt) {
  const auto found = home.query(
      "SELECT ifnull(max(step), 0) FROM metrics WHERE sweep = 1 AND attempt = " + attempt +
      " AND metric = 'perf/checkpoint_ms'");
  return found["rows"][0][0].get<std::int64_t>();
}

/// Waits until attempt `number` has written two checkpoints of its own.
bool gets_further(SweepHome& home, int number) {
  std::int64_t first = 0;
  return eventually(
      [&] {
        const std::int64_t step = newest_checkpoint(home, std::to_string(number));
        if (first == 0) first = step;
        return first > 0 && step > first;
      },
      milliseconds(180000));
}

/// [nodes or ranks, state, reason for the size] of every attempt.
nlohmann::json attempts(SweepHome& home, const std::string& count) {
  return home.query("SELECT " + count +
                    ", state, size_reason, reason FROM attempts WHERE sweep = 1 "
                    "ORDER BY attempt")["rows"];
}

/// What lay between the last checkpoint and the end is trained again, and no more. The end: the
/// last step of all earlier attempts, since one that lost a node at its start has reported none.
void expect_little_lost(SweepHome& home) {
  const auto starts = home.query(
      "SELECT a.attempt, ifnull(s.resumed_step, 0), (SELECT max(m.step) FROM metrics "
      "AS m WHERE m.attempt < a.attempt AND m.sweep = 1 AND m.metric = 'train/loss') FROM "
      "attempts AS a JOIN starts AS s ON s.id = a.id WHERE a.sweep = 1 AND a.attempt > 1");
  EXPECT_FALSE(starts["rows"].empty());
  for (const auto& row : starts["rows"])
    EXPECT_LE(row[2].get<std::int64_t>() - row[1].get<std::int64_t>(), 2 * checkpoint_steps)
        << row.dump();
}

TEST(ElasticSweep, TakesTheCoresThatAreThereAndKeepsItsCurve) {
  constexpr int steps = 40'000;  // twenty seconds where /tmp is in memory: to be killed twice
  SweepHome home;
  const auto with_cores = [&](int cores) {
    write_file(home.home() / "config.yaml", "local: {cores: " + std::to_string(cores) + "}\n");
    if (const pid_t controller = home.controller()) kill(controller, SIGKILL);
  };
  fs::create_directories(home.home());
  with_cores(4);
  ASSERT_EQ(home.submit(sweep_text("{min: 2, max: 4}", steps), "local"), "1");
  for (const int cores : {3, 2}) {
    ASSERT_TRUE(gets_further(home, cores == 3 ? 1 : 2));
    with_cores(cores);
    const std::vector<pid_t> ranks = home.engines("1");
    ASSERT_FALSE(ranks.empty());
    ASSERT_EQ(kill(ranks.back(), SIGKILL), 0);
  }
  ASSERT_TRUE(home.wait_for_end("1"));
  home.expect_nothing_lost_or_doubled("1");
  const auto rows = attempts(home, "ranks");
  ASSERT_EQ(rows.size(), 3u) << rows.dump(2);
  for (const int number : {0, 1, 2})
    EXPECT_EQ(rows[number][0], 4 - number) << rows.dump(2);
  EXPECT_THAT(rows[1][2].get<std::string>(),
              HasSubstr("4 -> 3 nodes: the attempt before has failed"));
  EXPECT_THAT(rows[2][2].get<std::string>(), HasSubstr("room for 2 of 2 to 4"));
  EXPECT_THAT(home.thalweg({"show", "1.1"}).out, HasSubstr("4 -> 3 nodes: "));
  expect_little_lost(home);
  const std::string whole = home.submit(sweep_text("1", steps), "local");
  ASSERT_TRUE(home.wait_for_end(whole));
  EXPECT_GT(home.curves(whole).size(), 800u);
  EXPECT_EQ(home.curves("1"), home.curves(whole));
}

class ElasticOnSlurm : public OnSharedCluster {};

/// Another job takes five of eight nodes: told to stop, it writes a checkpoint and goes on with the
/// others.
TEST_F(ElasticOnSlurm, GoesOnWithTheNodesThatPreemptionLeaves) {
  SweepHome home(cluster().env());
  constexpr int steps = 4000;
  ASSERT_EQ(home.submit(sweep_text("{min: 2, max: 8}", steps), "slurm"), "1");
  ASSERT_TRUE(gets_further(home, 1));
  const Outcome urgent =
      cluster().slurm({"sbatch", "--parsable", "-p", "urgent", "-N5", "--exclusive", "-o",
                       "/dev/null", "--chdir", "/", "--wrap", "sleep 600"});
  ASSERT_EQ(urgent.code, 0) << urgent.err;
  ASSERT_TRUE(home.wait_for_end("1", milliseconds(400000)));
  cluster().slurm({"scancel", urgent.out.substr(0, urgent.out.find('\n'))});
  home.expect_nothing_lost_or_doubled("1");
  const auto rows = attempts(home, "nodes");
  ASSERT_EQ(rows.size(), 2u) << rows.dump(2);
  EXPECT_EQ(rows[0][0], 8) << rows.dump(2);
  EXPECT_EQ(rows[1][0], 3) << rows.dump(2);
  EXPECT_THAT(rows[1][2].get<std::string>(),
              HasSubstr("8 -> 3 nodes: the attempt before was stopped (preempted); the backend "
                        "gave 3 of 2 to 8"));
  const std::string whole = home.submit(sweep_text("1", steps, "8"), "local");
  ASSERT_TRUE(home.wait_for_end(whole));
  EXPECT_EQ(home.curves("1"), home.curves(whole));
}

/// Eight nodes, of which five lose power; four of them come back, and one of the others goes.
TEST_F(ElasticOnSlurm, LosesNodesAndTakesThoseThatComeBack) {
  SweepHome home(cluster().env());
  const auto power = [&](const char* what, std::initializer_list<int> nodes) {
    for (const int node : nodes)
      EXPECT_EQ(cluster().command({what, std::to_string(node)}).code, 0) << what << " " << node;
  };
  constexpr int steps = 6000;
  ASSERT_EQ(home.submit(sweep_text("{min: 2, max: 8}", steps), "slurm"), "1");
  ASSERT_TRUE(gets_further(home, 1));
  power("kill-node", {4, 5, 6, 7, 8});
  ASSERT_TRUE(eventually([&] { return attempts(home, "nodes").size() > 1; }, milliseconds(120000)));
  ASSERT_TRUE(gets_further(home, static_cast<int>(attempts(home, "nodes").size())));
  power("start-node", {4, 5, 6, 7});
  const auto idle = [&] {
    const Outcome found = cluster().slurm({"sinfo", "-h", "-p", "main", "-t", "idle", "-o", "%D"});
    return found.out.substr(0, found.out.find('\n')) == "4";
  };
  ASSERT_TRUE(eventually(idle, milliseconds(120000)));
  power("kill-node", {3});
  ASSERT_TRUE(home.wait_for_end("1", milliseconds(400000)));
  home.expect_nothing_lost_or_doubled("1");
  expect_little_lost(home);

  const auto rows = attempts(home, "nodes");
  std::vector<int> sizes;
  for (const auto& row : rows) {
    const int size = row[0].get<int>();
    if (sizes.empty() || sizes.back() != size) sizes.push_back(size);
  }
  EXPECT_EQ(sizes, (std::vector<int>{8, 3, 6})) << rows.dump(2);
  int changes = 0;
  for (const auto& row : rows)
    for (const char* change :
         {"8 -> 3 nodes: the attempt before ", "3 -> 6 nodes: the attempt before "})
      changes += row[2].get<std::string>().find(change) == 0 ? 1 : 0;
  EXPECT_EQ(changes, 2) << rows.dump(2);

  const std::string whole = home.submit(sweep_text("1", steps, "8"), "local");
  ASSERT_TRUE(home.wait_for_end(whole));
  EXPECT_GT(home.curves(whole).size(), 1200u);
  EXPECT_EQ(home.curves("1"), home.curves(whole));
}

}  // namespace
}  // namespace thalweg::test
