// What the groups over one transport share: the wait loop, and the operations under way.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/algorithms/link.h"
#include "engine/comm/patience.h"
#include "engine/comm/scratch.h"
#include "engine/comm/task.h"
#include "engine/comm/transport.h"

namespace thalweg::engine::comm {

/// A collective under way. Not moved, since its task refers to its link.
struct Operation {
  Operation(std::string text, const Link& its_link) : what(std::move(text)), link(its_link) {}
  std::string what;  ///< for messages: "allreduce of bucket 2 (fc1.weight)"
  Link link;
  std::unique_ptr<Strand> strand;
};

/// Used by one thread at a time.
class Progress {
 public:
  Progress(std::unique_ptr<Transport> transport, std::chrono::milliseconds stall)
      : transport_(std::move(transport)), patience_(*transport_, stall) {}

  Transport& transport() { return *transport_; }
  Scratch& scratch() { return scratch_; }
  /// Something went wrong; the rest of what is under way will not come to its end.
  bool failed() const { return failed_; }
  /// The next number that tells a group's messages apart from those of others (see Group::split).
  int next_context = 1;

  /// Runs as far as it goes at once. True when done.
  bool begin(Operation& operation);
  /// Until it is done, advancing all others: a peer may need them before it can join this one.
  void finish(Operation& operation);
  /// One look at everything.
  void poll();
  /// Operations that poll() and finish() advance.
  void add(Operation& operation) { open_.push_back(&operation); }
  void remove(Operation& operation) { std::erase(open_, &operation); }

 private:
  void advance_all();
  template <class F>
  auto noting_failure(F&& f);

  std::unique_ptr<Transport> transport_;
  Patience patience_;
  Scratch scratch_;
  std::vector<Operation*> open_;
  bool failed_ = false;
};

}  // namespace thalweg::engine::comm
