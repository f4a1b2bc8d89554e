// Random programs of collectives: blocking and not, many under way, over groups split from groups,
// by any algorithm. All ranks draw the same program from the seed, and each compares its results
// with what it works out alone.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "tests/engine/comm/fuzz_call.h"

namespace thalweg::engine::comm {

class Fuzz {
 public:
  /// `most`: elements of the longest vector.
  Fuzz(Group& world, unsigned seed, std::size_t most);

  /// Throws std::runtime_error that says what is wrong.
  void run(int steps);

 private:
  /// The group of this rank out of one split; nullptr: none. `members` as the world counts them.
  struct Family {
    Group* group;
    std::unique_ptr<Group> owned;
    std::vector<int> members;
  };

  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(plan_() % n); }
  std::size_t mine(std::size_t n) { return static_cast<std::size_t>(mine_() % n); }
  void split();
  std::size_t draw_count();
  void one_call();
  void finish_one();

  unsigned seed_;
  std::size_t max_;
  std::mt19937 plan_;  ///< the same on all ranks
  std::mt19937 mine_;
  int step_ = 0;
  std::size_t limit_ = 6;  ///< of operations under way
  std::vector<Family> families_;
  std::vector<std::unique_ptr<FuzzCall>> open_;
};

}  // namespace thalweg::engine::comm
