// The cluster that a program's suites share. It is the environment of GoogleTest that takes it
// down, so that it outlives every suite and ends before the process does.
#include "tests/end_to_end/shared_cluster.h"

#include <errno.h>

namespace thalweg::test {

namespace {

/// One of each program's own. Dead nodes are noticed soon: cases switch some off.
class SharedCluster : public testing::Environment {
 public:
  Cluster cluster{program_invocation_short_name, {{"THALWEG_CLUSTER_SLURMD_TIMEOUT", "10"}}};
  void TearDown() override { cluster.down(); }
};

SharedCluster& shared() {
  static auto* const environment =
      static_cast<SharedCluster*>(testing::AddGlobalTestEnvironment(new SharedCluster));
  return *environment;
}

// Before GoogleTest starts, so that it knows of it.
[[maybe_unused]] const SharedCluster& registered = shared();

}  // namespace

Cluster& OnSharedCluster::cluster() {
  return shared().cluster;
}

void OnSharedCluster::SetUp() {
  static const std::string reason = cluster().unavailable();
  if (!reason.empty()) GTEST_SKIP() << reason;
  ASSERT_TRUE(cluster().up(nodes_)) << cluster().complaint();
}

}  // namespace thalweg::test
