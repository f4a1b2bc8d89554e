// What may happen to a running sweep on a Slurm cluster: each kind is a row of one table.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/end_to_end/cluster.h"
#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {

/// Where it happens, and what it is drawn with.
struct Scene {
  Cluster& cluster;
  SweepHome& home;
  std::mt19937& random;

  /// One of `pids`; 0 where there is none.
  pid_t any(const std::vector<pid_t>& pids);
  int any_node();
  /// The number of one of our jobs that squeue shows in `states`; empty where there is none.
  std::string any_job(const std::string& states);
};

struct Disturbance {
  std::string_view name;
  /// Does it, and undoes what does not mend itself (a stopped process, a cut link, a drained node).
  /// False: there was nothing to disturb.
  bool (*happen)(Scene& scene);
  bool by_person = false;  ///< a person's wish: it may end a trial for good
};

const std::vector<Disturbance>& disturbances();
/// Those whose name holds this text.
std::vector<const Disturbance*> disturbances_named(std::string_view text);

/// Every kind once in random order, then again.
class Deck {
 public:
  Deck(std::mt19937& random, std::vector<const Disturbance*> kinds)
      : random_(random), kinds_(std::move(kinds)) {}
  bool empty() const { return kinds_.empty(); }
  const Disturbance& draw();

 private:
  std::mt19937& random_;
  std::vector<const Disturbance*> kinds_, left_;
};

}  // namespace thalweg::test
