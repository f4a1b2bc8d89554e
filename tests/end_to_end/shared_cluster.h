// Suites on one Slurm cluster of network namespaces (tests/cluster), which starts once for all of a
// program's cases.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/end_to_end/cluster.h"

namespace thalweg::test {

/// A suite whose cases need a cluster. The first case of the program brings it up, every other one
/// finds it repaired, with all nodes ready; it goes down at the program's end. Skips where none can
/// run. Other suites' jobs are still remembered by Slurm: ask for those of the case's own folder.
class OnSharedCluster : public testing::Test {
 protected:
  explicit OnSharedCluster(int nodes = 8) : nodes_(nodes) {}

  void SetUp() override;

  /// The same cluster for all suites of the program; one of another size starts afresh.
  static Cluster& cluster();

  const int nodes_;
};

}  // namespace thalweg::test
