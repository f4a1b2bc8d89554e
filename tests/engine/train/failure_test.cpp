#include "engine/attempt/failure.h"

#include <gtest/gtest.h>

#include "engine/comm/group.h"
#include "engine/data/dataset.h"
#include "engine/train/describe_failure.h"
#include "jobspec/diagnostic.h"
#include "jobspec/value.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

template <class E>
Failure described(const E& e) {
  return describe_failure(std::make_exception_ptr(e), 2, "n2");
}

TEST(Failure, TellsBadInputFromBadLuck) {
  EXPECT_EQ(described(std::invalid_argument("x")).code, ExitCode::bad_input);
  EXPECT_EQ(described(DataError("file", 3, "x")).code, ExitCode::bad_input);
  EXPECT_EQ(described(jobspec::InputError({})).code, ExitCode::bad_input);
  EXPECT_EQ(described(std::runtime_error("x")).code, ExitCode::failed);
  EXPECT_EQ(described(std::bad_alloc()).reason, "out of memory");
  EXPECT_EQ(described(PeerFailed(ExitCode::bad_input, 1, "n1")).code, ExitCode::bad_input);
}

TEST(Failure, NamesTheLostRankNotTheReporter) {
  const Failure lost = described(comm::CommError("rank 5 is gone", 5, "n5"));
  EXPECT_EQ(lost.rank, 5);
  EXPECT_EQ(lost.node, "n5");
  EXPECT_EQ(lost.code, ExitCode::failed);
  EXPECT_EQ(described(std::runtime_error("x")).rank, 2);
  EXPECT_EQ(described(PeerFailed(ExitCode::failed, 1, "n1")).rank, 1);

  const test::TempDir folder;
  write_failure(folder.path(), 2, lost);
  const jobspec::Value file = jobspec::read_yaml(
      test::read_file(folder.path() / "failure.rank2.json"), "failure.rank2.json");
  EXPECT_EQ(file.find("rank")->as_int(), 5);
  EXPECT_EQ(file.find("node")->as_string(), "n5");
  EXPECT_EQ(file.find("reason")->as_string(), "rank 5 is gone");
  EXPECT_EQ(file.find("reporter")->as_string(), "rank2");
  EXPECT_GT(file.find("time")->as_double(), 1.7e9);
}

TEST(Failure, AFolderThatIsGoneIsNoSecondError) {
  write_failure("/nonexistent", 0, described(std::runtime_error("x")));
}

}  // namespace
}  // namespace thalweg::engine
