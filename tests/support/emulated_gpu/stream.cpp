#include "tests/support/emulated_gpu/stream.h"
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

/// What an event and the streams that know it have in common; it may go before them.
class EventState {
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
    refuse_while_capturing("an event is asked for");
    return state_->done();
  }
  void wait() const override {
    refuse_while_capturing("an event is waited for");
    ++counters_.waits;
    state_->wait_for(state_->announced());
    (void)state_->done();
  }
  double ms_since(const Event& earlier) const override {
    const auto& from = static_cast<const EmulatedEvent&>(earlier);
    if (!timed_ || !from.timed_)
      throw GpuError("the time between two events of which one has none");
    return std::chrono::duration<double, std::milli>(state_->at() - from.state_->at()).count();
  }
  const std::shared_ptr<EventState>& state() const { return state_; }

 private:
  EmulatedCounters& counters_;
  const bool timed_;
  const std::shared_ptr<EventState> state_ = std::make_shared<EventState>();
};

/// Work, or an event that is recorded or waited for.
struct Step {
  Work work;
  std::shared_ptr<EventState> record, await;
  std::uint64_t time = 0;  ///< of the event
};

struct EmulatedGraph final : CapturedGraph {
  std::vector<Step> steps;
};

class EmulatedStream : public Stream {
 public:
  EmulatedStream(EmulatedCounters& counters, const MemoryRanges& device, const MemoryRanges& pinned)
      : counters_(counters), device_(device), pinned_(pinned) {}
  ~EmulatedStream() override {
    if (capturing_ != nullptr) capture_ends();
  }

  bool emulated() const override { return true; }
  void* native() const override { return nullptr; }
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
    put({{}, static_cast<const EmulatedEvent&>(event).state(), nullptr});
  }
  void wait_for(const Event& event) override {
    put({{}, nullptr, static_cast<const EmulatedEvent&>(event).state()});
  }
  void wait() override {
    if (capturing_ != nullptr) throw GpuError("a wait for a stream that is being captured");
    ++counters_.waits;
    drain();
  }

  void begin_capture() override {
    if (capturing_ != nullptr) throw GpuError("a capture begins in a capture");
    capturing_ = std::make_unique<EmulatedGraph>();
    capture_begins();
  }
  std::unique_ptr<CapturedGraph> end_capture() override {
    if (capturing_ == nullptr) throw GpuError("a capture ends that never began");
    capture_ends();
    return std::move(capturing_);
  }
  void launch(const CapturedGraph& graph) override {
    if (capturing_ != nullptr) throw GpuError("a graph is launched in a capture");
    for (const Step& step : static_cast<const EmulatedGraph&>(graph).steps)
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
    if (capturing_ != nullptr) {
      capturing_->steps.push_back(std::move(step));
      return;
    }
    if (step.record != nullptr) step.time = step.record->announce();
    if (step.await != nullptr) step.time = step.await->announced();
    take(std::move(step));
  }

  EmulatedCounters& counters_;
  const MemoryRanges& device_;
  const MemoryRanges& pinned_;
  std::unique_ptr<EmulatedGraph> capturing_;
};

class InlineStream final : public EmulatedStream {
 public:
  using EmulatedStream::EmulatedStream;

 private:
  void take(Step step) override {
    if (step.record != nullptr) return step.record->reach(step.time, nullptr);
    if (step.await != nullptr) return step.await->wait_for(step.time);
    step.work();
  }
  void drain() override {}
};

class ThreadedStream final : public EmulatedStream {
 public:
  ThreadedStream(EmulatedCounters& counters, const MemoryRanges& device, const MemoryRanges& pinned)
      : EmulatedStream(counters, device, pinned), thread_([this] { serve(); }) {}
  ~ThreadedStream() override {
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
      inject_jitter();
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

  /// Now and then, so that what does not wait for this stream is too early.
  void inject_jitter() {
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

std::unique_ptr<Stream> emulated_stream(EmulatedCounters& counters, const MemoryRanges& device,
                                        const MemoryRanges& pinned, bool own_thread) {
  if (own_thread) return std::make_unique<ThreadedStream>(counters, device, pinned);
  return std::make_unique<InlineStream>(counters, device, pinned);
}

}  // namespace thalweg::engine::gpu
