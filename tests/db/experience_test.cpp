// What earlier runs tell advice: which of them count, and their newest numbers.
#include "db/analysis/experience.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/db/fixture.h"

namespace thalweg::db::analysis {
namespace {

using jobspec::advise::PastRun;

class ExperienceTest : public StoreTest {
 protected:
  ExperienceTest() { sweep_ = store.insert_sweep(sample_sweep()); }

  /// A trial with one attempt that ran for 100 s on `nodes` nodes after `wait` s in the queue.
  Id add(const std::string& model, int nodes, double wait = 5, const std::string& more = "") {
    store.insert_trials({sample_trial(sweep_, ++trials_)});
    return attempt(trials_, 1, model, nodes, wait, more);
  }
  Id attempt(std::int64_t trial, std::int64_t number, const std::string& model, int nodes,
             double wait, const std::string& more = "") {
    AttemptRow row = sample_attempt(sweep_, trial, number);
    row.backend = "slurm";
    row.nodes = nodes;
    row.launched = 1000;
    row.started = row.launched + wait;
    row.ended = row.started + 100;
    row.state = AttemptState::finished;
    store.insert_attempt(row);
    store.put_start(
        row.id, R"({"ranks":)" + std::to_string(2 * nodes) +
                    R"(,"device":"cpu","threads":3,"parameters":1000,"transport":["tcp/eth0"],)"
                    R"("machines":[{"memory_gib":192},{"memory_gib":96}],)"
                    R"("config":{"model":{"name":")" +
                    model + R"("},"data":{"name":"shapes"},"batch":{"global":64})" + more + "}}");
    return row.id;
  }
  /// Points of the noise scale, one each ten steps.
  void report_noise(const Id& attempt, const std::vector<double>& scales) {
    std::vector<Point> points;
    for (const double scale : scales)
      points.push_back(
          {"noise/b_simple", 10 * static_cast<std::int64_t>(points.size() + 1), scale, 1050});
    ++lines_;
    store.add_points(attempt, lines_, lines_, points);
  }
  void report(const Id& attempt, const std::string& metric, double value) {
    ++lines_;
    store.add_points(attempt, lines_, lines_, {{metric, 10, value, 1050}});
  }
  Experience read() { return read_experience(store, {"mlp", "lenet"}, {"shapes"}); }

  std::int64_t sweep_ = 0, trials_ = 0, lines_ = 0;
};

TEST_F(ExperienceTest, NothingOfAnEmptyRecord) {
  EXPECT_EQ(read(), Experience{});
}

TEST_F(ExperienceTest, ARunWithItsNewestNumbers) {
  const Id id = add("mlp", 2, 5,
                    R"(,"precision":"bf16","sync":{"mode":"lag"},"augment":{"flip":0.50,"crop":2},)"
                    R"("noise":{"beta":0.9,"every":1})");
  for (const auto& [metric, value] :
       {std::pair{"perf/samples_per_s", 500.0}, std::pair{"perf/compute_ms", 20.0},
        std::pair{"perf/comm_exposed_ms", 3.0}, std::pair{"perf/data_ms", 1.0},
        std::pair{"perf/checkpoint_ms", 1500.0}, std::pair{"train/loss", 9.0}})
    report(id, metric, value);
  report_noise(id, {1000, 60, 80, 75, 80});
  const Experience known = read();
  PastRun wanted;
  wanted.trial = "1.1";
  wanted.model = "mlp";
  wanted.data = "shapes";
  wanted.parameters = 1000;
  wanted.device = "cpu";
  wanted.nodes = 2;
  wanted.ranks = 4;
  wanted.batch = 64;
  wanted.samples_per_s = 500;
  wanted.compute_ms = 20;
  wanted.exposed_ms = 3;
  wanted.data_ms = 1;
  wanted.precision = "bf16";
  wanted.augmentation = jobspec::read_yaml("{crop: 2, flip: 0.5}", "augment").canonical();
  wanted.mode = "lag";
  wanted.threads = 3;
  wanted.noise_scale = known.runs.at(0).noise_scale;
  wanted.checkpoint_s = 1.5;
  wanted.transport = {"tcp/eth0"};
  EXPECT_EQ(known.runs, std::vector{wanted});
  EXPECT_NEAR(wanted.noise_scale, std::cbrt(80.0 * 75 * 80), 1e-9) << "of the later half";
  EXPECT_EQ(known.node_memory_gib, 96);
  EXPECT_EQ(known.node_seconds, 200);
}

TEST_F(ExperienceTest, ANoiseScaleThatHasNotSettledIsNone) {
  report_noise(add("mlp", 1, 5, R"(,"noise":{"beta":0.99,"every":1})"), {30, 40, 50});
  lines_ = 0;  // each attempt counts its own
  report_noise(add("mlp", 1, 5, R"(,"noise":{"beta":0.99,"every":1})"), std::vector(30, 50.0));
  const Experience known = read();
  EXPECT_NEAR(known.runs.at(1).noise_scale, 50, 1e-9);
  EXPECT_FALSE(known.runs.at(1).noise_unsettled);
  EXPECT_EQ(known.runs.at(0).noise_scale, 0);
  EXPECT_TRUE(known.runs.at(0).noise_unsettled);
}

TEST_F(ExperienceTest, OfOtherModelsAndOfEmulatedRanksOnlyTheCost) {
  add("resnet", 1);
  add("mlp", 1, 5, R"(,"emulate":{"preset":"compute"})");
  const Experience known = read();
  EXPECT_TRUE(known.runs.empty());
  EXPECT_EQ(known.node_seconds, 200);
}

TEST_F(ExperienceTest, OfSeveralAttemptsTheNewest) {
  add("mlp", 4);
  attempt(1, 2, "mlp", 1, 5);
  add("lenet", 3);
  const Experience known = read();
  ASSERT_EQ(known.runs.size(), 2u);
  EXPECT_EQ(known.runs[0].model, "mlp");
  EXPECT_EQ(known.runs[0].nodes, 1);
  EXPECT_EQ(known.runs[1].nodes, 3);
}

TEST_F(ExperienceTest, WaitsByNodes) {
  for (const double wait : {10.0, 30.0, 20.0})
    add("mlp", 2, wait);
  add("mlp", 8, 4000);
  const Experience known = read();
  ASSERT_EQ(known.waits.size(), 2u);
  EXPECT_EQ(known.waits[0], (jobspec::advise::QueueWait{2, 3, 20}));
  EXPECT_EQ(known.waits[1], (jobspec::advise::QueueWait{8, 1, 4000}));
}

TEST_F(ExperienceTest, LostNodesCount) {
  for (const char* reason : {"node failure: n3", "preempted: by another job", "exit code 1"}) {
    AttemptRow row = sample_attempt(sweep_, 0, 0);
    store.insert_trials({sample_trial(sweep_, ++trials_)});
    row.id = {sweep_, trials_, 1};
    row.token += reason;
    row.state = AttemptState::failed;
    row.reason = reason;
    store.insert_attempt(row);
  }
  EXPECT_EQ(read().lost_nodes, 2);
  EXPECT_EQ(lost_nodes(store, {{sweep_}}).attempts, 2);
  EXPECT_EQ(lost_nodes(store, {{sweep_ + 1}}).attempts, 0);
}

}  // namespace
}  // namespace thalweg::db::analysis
