#include "tests/support/emulated_gpu/queue.h"
#include "tests/support/emulated_gpu/library.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "engine/gpu/capture_guard.h"

namespace thalweg::engine::gpu {
namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<void()>;

/// What an event and the queues that know it have in common; it may go before them.
class Moment {
 public:
  /// It will be recorded once more. Returns which time that is, from 1.
  std::uint64_t announce() {
    const std::lock_guard lock(mutex_);
    return ++announced_;
  }
  std::uint64_t announced() const {
    const std::lock_guard lock(mutex_);
    return announced_;
  }
  /// It has been recorded that time; `failure`: of the work before it.
  void reach(std::uint64_t time, const std::exception_ptr& failure) {
    {
      const std::lock_guard lock(mutex_);
      reached_ = time;
      failure_ = failure;
      at_ = Clock::now();
    }
    changed_.notify_all();
  }
  void wait_for(std::uint64_t time) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_ >= time; });
  }
  bool done() const {
    const std::lock_guard lock(mutex_);
    if (reached_ < announced_) return false;
    if (failure_) std::rethrow_exception(failure_);
    return true;
  }
  Clock::time_point at() const {
    const std::lock_guard lock(mutex_);
    if (announced_ == 0)
      throw GpuError("the time between two events of which one was never recorded");
    if (reached_ < announced_)
      throw GpuError("the time between two events of which one is not done");
    return at_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t announced_ = 0, reached_ = 0;
  std::exception_ptr failure_;
  Clock::time_point at_;
};

class EmulatedEvent final : public Event {
 public:
  EmulatedEvent(EmulatedCounters& counters, bool timed) : counters_(counters), timed_(timed) {}
  bool done() const override {
    refuse_while_recording("an event is asked for");
    return moment_->done();
  }
  void wait() const override {
    refuse_while_recording("an event is waited for");
    ++counters_.waits;
    moment_->wait_for(moment_->announced());
    (void)moment_->done();
  }
  double ms_since(const Event& earlier) const override {
    const auto& from = static_cast<const EmulatedEvent&>(earlier);
    if (!timed_ || !from.timed_)
      throw GpuError("the time between two events of which one has none");
    return std::chrono::duration<double, std::milli>(moment_->at() - from.moment_->at()).count();
  }
  const std::shared_ptr<Moment>& moment() const { return moment_; }

 private:
  EmulatedCounters& counters_;
  const bool timed_;
  const std::shared_ptr<Moment> moment_ = std::make_shared<Moment>();
};

/// Work, or an event that is recorded or waited for.
struct Step {
  Work work;
  std::shared_ptr<Moment> record, await;
  std::uint64_t time = 0;  ///< of the event
};

struct EmulatedGraph final : CapturedGraph {
  std::vector<Step> steps;
};

class EmulatedQueue : public Queue {
 public:
  EmulatedQueue(EmulatedCounters& counters, const MemoryRanges& device, const MemoryRanges& pinned)
      : counters_(counters), device_(device), pinned_(pinned) {}
  ~EmulatedQueue() override {
    if (recording_ != nullptr) recording_ends();
  }

  bool emulated() const override { return true; }
  void* stream() const override { return nullptr; }
  const Library& library() const override { return emulated_library(); }

  void copy(void* to, const void* from, std::size_t bytes) override {
    const auto ours = [&](const void* at) {
      return device_.holds(at, bytes) || pinned_.holds(at, bytes);
    };
    if (!ours(to) || !ours(from)) ++counters_.pageable_copies;
    on_host([=] {
      if (bytes > 0) std::memmove(to, from, bytes);
    });
  }
  void zero(void* at, std::size_t bytes) override {
    on_host([=] {
      if (bytes > 0) std::memset(at, 0, bytes);
    });
  }
  void record(Event& event) override {
    put({{}, static_cast<const EmulatedEvent&>(event).moment(), nullptr});
  }
  void wait_for(const Event& event) override {
    put({{}, nullptr, static_cast<const EmulatedEvent&>(event).moment()});
  }
  void wait() override {
    if (recording_ != nullptr) throw GpuError("a wait for a queue that is being recorded");
    ++counters_.waits;
    drain();
  }

  void begin_recording() override {
    if (recording_ != nullptr) throw GpuError("a recording begins in a recording");
    recording_ = std::make_unique<EmulatedGraph>();
    recording_begins();
  }
  std::unique_ptr<CapturedGraph> end_recording() override {
    if (recording_ == nullptr) throw GpuError("a recording ends that never began");
    recording_ends();
    return std::move(recording_);
  }
  void launch(const CapturedGraph& recording) override {
    if (recording_ != nullptr) throw GpuError("a recording is launched in a recording");
    for (const Step& step : static_cast<const EmulatedGraph&>(recording).steps)
      put(step);
  }
  void on_host(Work work) override { put({std::move(work), nullptr, nullptr}); }

 protected:
  /// In its turn.
  virtual void take(Step step) = 0;
  /// Until all is done.
  virtual void drain() = 0;

 private:
  void put(Step step) {
    if (recording_ != nullptr) {
      recording_->steps.push_back(std::move(step));
      return;
    }
    if (step.record != nullptr) step.time = step.record->announce();
    if (step.await != nullptr) step.time = step.await->announced();
    take(std::move(step));
  }

  EmulatedCounters& counters_;
  const MemoryRanges& device_;
  const MemoryRanges& pinned_;
  std::unique_ptr<EmulatedGraph> recording_;
};

class QueueAtOnce final : public EmulatedQueue {
 public:
  using EmulatedQueue::EmulatedQueue;

 private:
  void take(Step step) override {
    if (step.record != nullptr) return step.record->reach(step.time, nullptr);
    if (step.await != nullptr) return step.await->wait_for(step.time);
    step.work();
  }
  void drain() override {}
};

class QueueOfItsThread final : public EmulatedQueue {
 public:
  QueueOfItsThread(EmulatedCounters& counters, const MemoryRanges& device,
                   const MemoryRanges& pinned)
      : EmulatedQueue(counters, device, pinned), thread_([this] { serve(); }) {}
  ~QueueOfItsThread() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void take(Step step) override {
    {
      const std::lock_guard lock(mutex_);
      steps_.push_back(std::move(step));
    }
    changed_.notify_all();
  }
  void drain() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return steps_.empty(); });
    if (failure_) std::rethrow_exception(failure_);
  }

  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ending_ || !steps_.empty(); });
      if (steps_.empty()) return;
      Step& step = steps_.front();  // stays where it is: others are only added behind
      lock.unlock();
      be_late();
      perform(step);
      lock.lock();
      steps_.pop_front();
      if (steps_.empty()) changed_.notify_all();
    }
  }

  /// After a failure nothing is done any more, but nobody is left waiting, as on a GPU.
  void perform(const Step& step) {
    if (step.record != nullptr) return step.record->reach(step.time, failure_);
    if (step.await != nullptr) return step.await->wait_for(step.time);
    if (failure_) return;
    try {
      step.work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
  }

  /// Now and then, so that what does not wait for this queue is too early.
  void be_late() {
    constexpr unsigned often = 8;
    random_ = random_ * 1664525U + 1013904223U;  // Numerical Recipes' generator
    if ((random_ >> 16U) % often == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(50 + (random_ >> 24U)));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Step> steps_;  ///< the first one is being done
  std::exception_ptr failure_;
  bool ending_ = false;
  std::uint32_t random_ = 1;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace

std::unique_ptr<Event> emulated_event(EmulatedCounters& counters, bool timed) {
  return std::make_unique<EmulatedEvent>(counters, timed);
}

std::unique_ptr<Queue> emulated_queue(EmulatedCounters& counters, const MemoryRanges& device,
                                      const MemoryRanges& pinned, bool own_thread) {
  if (own_thread) return std::make_unique<QueueOfItsThread>(counters, device, pinned);
  return std::make_unique<QueueAtOnce>(counters, device, pinned);
}

}  // namespace thalweg::engine::gpu
