// Trials that share jobs of Slurm (slurm.pack), on a real cluster of network namespaces.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "tests/end_to_end/shared_cluster.h"
#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {
namespace {

class PackedSweep : public OnSharedCluster {
 protected:
  PackedSweep() : OnSharedCluster(2) {}

  /// The sweep's jobs, ended ones included.
  static std::size_t jobs_of(const SweepHome& home) {
    return cluster().job_names("all", home.folder()).size();
  }
  /// Twelve trials of this shell script, four at once.
  static std::string twelve(const std::string& line) {
    return "command: [bash, -c, '" + line +
           "']\nmethod: grid\nmetric: {name: loss}\nmetric_pattern: \"loss=(?<loss>[0-9.]+)\"\n"
           "parameters: {x: {values: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}}\n"
           "resources: {nodes: 1, time: \"00:05:00\"}\nslurm: {pack: 4}\n";
  }
};

TEST_F(PackedSweep, AKilledStepAndAKilledControllerLoseAndDoubleNothing) {
  SweepHome home(cluster().env());
  const std::string id =
      home.submit(twelve("echo loss=1; if [ ! -e " + (home.folder() / "go").string() +
                         " ]; then touch " + (home.folder() / "began").string() +
                         "; exec -a waits_in_pack sleep 600; fi; sleep 1; echo loss=0.5"),
                  "slurm");
  ASSERT_FALSE(id.empty());
  // Four wait for an end from outside: one gets it, and its neighbours do not.
  const auto waiting = [] {
    std::vector<pid_t> found = cluster().processes("waits_in_pack");
    return found;
  };
  ASSERT_TRUE(eventually([&] { return waiting().size() == 4; }, milliseconds(120000)));
  const std::vector<pid_t> first = waiting();
  write_file(home.folder() / "go", "");
  ::kill(first[0], SIGKILL);
  ASSERT_TRUE(eventually([&] { return waiting().size() == 3; }));
  const pid_t controller = home.controller();
  ASSERT_GT(controller, 0);
  ::kill(controller, SIGKILL);
  const auto after = waiting();
  EXPECT_EQ(after.size(), 3u);
  for (const pid_t pid : after)
    ::kill(pid, SIGKILL);
  ASSERT_TRUE(home.wait_for_end(id, milliseconds(240000)));
  home.expect_nothing_lost_or_doubled(id);
  const auto attempts = home.query("SELECT attempts, count(*) FROM trials GROUP BY attempts");
  EXPECT_EQ(attempts["rows"].dump(), "[[1,8],[2,4]]");
  EXPECT_LE(jobs_of(home), 3u);
  EXPECT_GE(jobs_of(home), 1u);
}

TEST_F(PackedSweep, OneIsCancelledAndItsNeighboursGoOn) {
  SweepHome home(cluster().env());
  const std::string here = home.folder().string();
  const std::string id = home.submit(
      twelve("trap \"touch " + here + "/asked.$$; exit 75\" TERM; touch " + here +
             "/began.$$; while [ ! -e " + here + "/go ]; do sleep 0.1; done; echo loss=0.5"),
      "slurm");
  ASSERT_FALSE(id.empty());
  const auto marks = [&](const std::string& what) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(here))
      if (entry.path().stem() == what) ++count;
    return count;
  };
  ASSERT_TRUE(eventually([&] { return marks("began") == 4; }, milliseconds(120000)));
  const auto shown = [&] { return home.thalweg({"show", id + ".1.1"}).out; };
  EXPECT_TRUE(eventually([&] { return shown().find("job_step=") != std::string::npos; }))
      << shown();
  home.thalweg({"cancel", id + ".1"});
  home.thalweg({"cancel", id + ".12"});  // in the queue
  ASSERT_TRUE(eventually([&] { return marks("asked") == 1; }, milliseconds(60000)));
  write_file(home.folder() / "go", "");
  ASSERT_TRUE(home.wait_for_end(id, milliseconds(240000)));
  const auto states =
      home.query("SELECT state, count(*) FROM trials GROUP BY state ORDER BY state");
  EXPECT_EQ(states["rows"].dump(), R"([["cancelled",2],["finished",10]])");
  EXPECT_EQ(marks("asked"), 1);
  EXPECT_LE(jobs_of(home), 2u);
  home.expect_record_is_the_journals(id);
}

}  // namespace
}  // namespace thalweg::test
