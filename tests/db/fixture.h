// A store in a folder of its own, and rows to put in it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "db/sqlite/connection.h"
#include "db/store.h"
#include "tests/support/process.h"

namespace thalweg::db {

inline SweepRow sample_sweep(const std::string& name = "demo") {
  SweepRow row;
  row.name = name;
  row.owner = "ada";
  row.backend = "local";
  row.file_name = "demo.yaml";
  row.text = "name: demo\n";
  row.metric = "val/error";
  row.goal = jobspec::Goal::minimize;
  row.target = 0.12;
  row.state = SweepPhase::active;
  row.submitted = 1700000000.25;
  row.notes = "[]";
  return row;
}

inline TrialRow sample_trial(std::int64_t sweep, std::int64_t number, std::uint64_t seed = 1) {
  TrialRow row;
  row.id = {sweep, number, 0};
  row.configuration = number;
  row.seed = seed;
  row.hash = "hash" + std::to_string(number);
  row.state = TrialPhase::pending;
  row.train =
      R"({"model":{"name":"mlp","hidden":[512,256]},"optimizer":{"name":"adamw","lr":0.001,)"
      R"("weight_decay":0},"epochs":5})";
  row.parameters = R"({"optimizer.name":"adamw","optimizer.lr":0.001})";
  row.resources = R"({"nodes":2,"ranks_per_node":1})";
  return row;
}

inline AttemptRow sample_attempt(std::int64_t sweep, std::int64_t trial, std::int64_t number = 1) {
  AttemptRow row;
  row.id = {sweep, trial, number};
  row.token = "token-" + row.id.to_string();
  row.state = AttemptState::running;
  row.backend = "local";
  row.handle = "pid:1:2";
  row.folder = "/runs/" + row.id.to_string();
  row.launched = 1700000001;
  row.started = 1700000002;
  row.nodes = 2;
  row.ranks = 2;
  row.node_list = "n1,n2";
  return row;
}

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() : store(folder.path() / "thalweg.db") {}

  /// A sweep with one trial and one running attempt.
  Id running_attempt() {
    const std::int64_t sweep = store.insert_sweep(sample_sweep());
    store.insert_trials({sample_trial(sweep, 1)});
    store.insert_attempt(sample_attempt(sweep, 1));
    return {sweep, 1, 1};
  }

  test::TempDir folder;
  Store store;
};

}  // namespace thalweg::db
