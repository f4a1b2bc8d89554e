// The parts of thalweg-slurm-agent that need no cluster.
#include <gmock/gmock.h>

#include <set>

#include "daemon/slurm_agent/checks.h"
#include "daemon/slurm_agent/compat.h"
#include "daemon/slurm_agent/errors.h"
#include "daemon/slurm_agent/names.h"
#include "tests/support/process.h"

namespace thalweg::slurm_agent {
namespace {

using testing::HasSubstr;

TEST(SlurmErrors, EveryCodeOnceAndInWords) {
  std::size_t rows = 0;
  const ErrorRow* table = error_table(rows);
  std::set<int> codes;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string sentence = table[i].sentence;
    EXPECT_TRUE(codes.insert(table[i].code).second) << table[i].code;
    EXPECT_GT(sentence.size(), 10u) << table[i].code;
    EXPECT_NE(sentence.back(), '.') << sentence;
  }
  EXPECT_GE(rows, 50u);
}

TEST(SlurmErrors, Outcomes) {
  struct Row {
    int code;
    Outcome outcome;
  };
  // The numbers themselves, as users see them and as slurm_errno.h has had them for years.
  for (const Row& row : {Row{2000, Outcome::refused},
                         {2002, Outcome::refused},
                         {2015, Outcome::refused},
                         {2045, Outcome::refused},
                         {2050, Outcome::retry_later},
                         {2105, Outcome::retry_later},
                         {1007, Outcome::retry_later},
                         {1800, Outcome::unknown},
                         {5004, Outcome::unknown},
                         {2017, Outcome::missing},
                         {2021, Outcome::finished},
                         {11, Outcome::retry_later}}) {
    EXPECT_EQ(explain(row.code).outcome, row.outcome) << row.code;
  }
}

TEST(SlurmErrors, UnlistedCodesGoByTheirGroup) {
  EXPECT_EQ(explain(2089).outcome, Outcome::refused);      // the controller said something new
  EXPECT_EQ(explain(111).outcome, Outcome::unknown);       // ECONNREFUSED, wherever it came from
  EXPECT_EQ(explain(5005).outcome, Outcome::unknown);      // socket
  EXPECT_EQ(explain(6005).outcome, Outcome::retry_later);  // authentication
  EXPECT_THAT(explain(2089).message, HasSubstr("(Slurm error 2089)"));
}

TEST(SlurmNames, StatesAndReasons) {
  EXPECT_EQ(state_name(JOB_RUNNING | JOB_COMPLETING), "RUNNING");
  EXPECT_EQ(state_name(JOB_OOM), "OUT_OF_MEMORY");
  EXPECT_EQ(state_name(77), "STATE 77");
  EXPECT_EQ(reason_name(WAIT_RESOURCES), "Resources");
  EXPECT_EQ(reason_name(WAIT_NO_REASON), "");
  EXPECT_EQ(reason_name(9999), "Reason 9999");
}

TEST(SlurmChecks, WhatSbatchWouldHaveChecked) {
  test::TempDir folder;
  const std::string here = folder.path().string();
  const std::string good = "#!/bin/sh\ntrue\n";
  EXPECT_FALSE(script_mistake(good, here, {here + "/out", ""}));
  EXPECT_THAT(*script_mistake("true\n", here, {}), HasSubstr("#!"));
  EXPECT_THAT(*script_mistake("#!/bin/sh\r\ntrue\r\n", here, {}), HasSubstr("DOS"));
  EXPECT_THAT(*script_mistake(good + std::string(1, '\0'), here, {}), HasSubstr("NUL"));
  EXPECT_THAT(*script_mistake(good, here + "/no", {}), HasSubstr("does not exist"));
  EXPECT_THAT(*script_mistake(good, "tmp", {}), HasSubstr("absolute"));
  EXPECT_THAT(*script_mistake(good, here, {here + "/no/out"}), HasSubstr("no/out"));
}

TEST(SlurmChecks, OutputPathsAreMeantLiterally) {
  EXPECT_EQ(plain_path("/a/50%%j/x"), "/a/50%j/x");
  EXPECT_EQ(plain_path("/a/%%%%"), "/a/%%");
  EXPECT_FALSE(plain_path("/a\\b"));
}

std::vector<Partition> partitions() {
  Partition main{"main", true, true, true, 0, 0, 0, {}};
  for (int i = 0; i < 70; ++i)
    main.nodes.push_back({i < 10 ? 64 : 16, 256000});
  Partition small{"small", false, true, true, 2, 4, 60, {{16, 64000}, {16, 64000}, {16, 64000}}};
  return {main, small};
}

Shape shape(std::int64_t nodes, const std::string& partition = "") {
  Shape s;
  s.partition = partition;
  s.nodes = nodes;
  s.minutes = 30;
  return s;
}

std::string reason(const Shape& s) {
  return impossible(s, partitions()).value_or("");
}

TEST(SlurmChecks, PossibleShapesHaveNoReason) {
  EXPECT_EQ(reason(shape(64)), "");
  EXPECT_EQ(reason(shape(3, "small")), "");
  EXPECT_EQ(reason(shape(20, "small,main")), "");  // one of them is enough
}

TEST(SlurmChecks, ImpossibleShapesNameBothNumbers) {
  EXPECT_EQ(reason(shape(71)), "asks for 71 nodes, partition 'main' has 70");
  EXPECT_EQ(reason(shape(5, "small")),
            "asks for 5 nodes, partition 'small' allows at most 4 per job");
  EXPECT_EQ(reason(shape(1, "small")),
            "asks for 1 node, partition 'small' requires at least 2 per job");
  EXPECT_EQ(reason(shape(4, "small")), "asks for 4 nodes, partition 'small' has 3");
  EXPECT_EQ(reason(shape(1, "nix")),
            "there is no partition 'nix'; this cluster has main (default), small");
  Shape s = shape(2, "small");
  s.minutes = 90;
  EXPECT_EQ(reason(s), "asks for 90 minutes, partition 'small' allows at most 60");
  s = shape(20);
  s.tasks_per_node = 8;
  s.cpus_per_task = 8;
  EXPECT_EQ(reason(s), "asks for 20 nodes with 64 CPUs each, partition 'main' has 10 of that size");
  s = shape(2, "small");
  s.memory_mib = 100000;
  EXPECT_EQ(
      reason(s),
      "asks for 2 nodes with 1 CPU and 100000 MiB each, partition 'small' has 0 of that size");
}

TEST(SlurmChecks, WithoutADefaultPartition) {
  auto list = partitions();
  list[0].is_default = false;
  EXPECT_THAT(*impossible(shape(1), list), HasSubstr("no default partition; it has main, small"));
}

}  // namespace
}  // namespace thalweg::slurm_agent
