// What the groups over one transport share: the wait loop, and the operations under way.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/algorithms/scratch.h"
#include "engine/comm/algorithms/shared/common_memory.h"
#include "engine/comm/group/operation.h"
#include "engine/comm/liveness/wait_policy.h"
#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

/// Used by one thread at a time.
class Progress {
 public:
  Progress(std::shared_ptr<Transport> transport, std::chrono::milliseconds stall,
           WaitPolicy::Warn warn);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  Transport& transport() { return *transport_; }
  Scratch& scratch() { return scratch_; }
  WaitPolicy& wait_policy() { return wait_policy_; }
  Regions& regions() { return regions_; }
  /// Something went wrong; the rest of what is under way will not come to its end.
  bool failed() const { return failed_; }
  /// The next number that tells a group's messages apart from those of others (see Group::split).
  int next_context = 1;

  /// For the answers to peers that ask: this call has been made.
  void note(CallNumber number, const Call& call, std::string_view label);

  template <class F>
  auto noting_failure(F&& f) {
    try {
      return f();
    } catch (...) {
      failed_ = true;
      throw;
    }
  }
  /// Runs as far as it goes at once. True when done.
  bool begin(Operation& operation);
  /// Until it is done, advancing all others: a peer may need them before it can join this one.
  void finish(Operation& operation);
  /// Until it holds, which is what `operation` waits for, without a task of its own.
  void wait(const Operation& operation, const std::function<bool()>& done);
  bool idle() const { return open_.empty(); }
  /// One look at everything.
  void poll();
  /// Operations that poll() and finish() advance.
  void add(Operation& operation) { open_.push_back(&operation); }
  void remove(Operation& operation) { std::erase(open_, &operation); }

 private:
  /// The last call of a group.
  struct Made {
    std::uint32_t number;
    Call call;
    std::string label;
  };
  void advance_all();
  std::string answer(const std::string& question) const;

  std::shared_ptr<Transport> transport_;
  WaitPolicy wait_policy_;
  Scratch scratch_;
  Regions regions_;
  std::vector<Operation*> open_;
  const Operation* waiting_ = nullptr;     ///< what finish() waits for
  std::vector<std::optional<Made>> made_;  ///< by context
  bool failed_ = false;
};

}  // namespace thalweg::engine::comm
