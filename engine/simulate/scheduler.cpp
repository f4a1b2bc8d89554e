// A heap of what is due, and a list for each place of who waits there. Who was woken or has timed
// out leaves the other entry behind; the number of its turn tells that it is old.
#include "engine/simulate/scheduler.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/simulate/fiber_context.h"

namespace thalweg::engine::simulate {
namespace {

// A rank builds a model on its stack; what is not touched takes no memory.
constexpr std::size_t kStackBytes = 1 << 20;
// Events between two questions whether to stop.
constexpr std::uint64_t kAskEvery = 64;

}  // namespace

struct Scheduler::Context : FiberContext {};

struct Scheduler::Fiber {
  explicit Fiber(std::function<void()> what) : body(std::move(what)), stack(kStackBytes) {
    context.stack = stack.data();
    context.stack_bytes = stack.bytes();
  }
  std::function<void()> body;
  Stack stack;
  FiberContext context;
  std::uint64_t turn = 0;
  bool ended = false;
};

Scheduler::Scheduler() : home_(std::make_unique<Context>()) {}

Scheduler::~Scheduler() {
  for (; !due_.empty(); due_.pop())
    delete due_.top().happening;
}

double Scheduler::seconds() const {
  return std::chrono::duration<double>(now_.time_since_epoch()).count();
}

Scheduler::Waiter Scheduler::self() const {
  return {current_, fibers_[current_]->turn};
}

void Scheduler::start(std::function<void()> body) {
  Fiber& fiber = *fibers_.emplace_back(std::make_unique<Fiber>(std::move(body)));
  ++alive_;
  ucontext_t& registers = fiber.context.registers;
  getcontext(&registers);
  registers.uc_stack.ss_sp = fiber.stack.data();
  registers.uc_stack.ss_size = fiber.stack.bytes();
  registers.uc_link = nullptr;
  // makecontext passes ints: the scheduler's address goes in two.
  const auto here = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&registers, reinterpret_cast<void (*)()>(&Scheduler::enter), 2,
              static_cast<unsigned>(here >> 32U), static_cast<unsigned>(here));
  due_.push({now_, numbers_++, {fibers_.size() - 1, 0}, nullptr});
}

void Scheduler::enter(unsigned high, unsigned low) {
  auto* const here = reinterpret_cast<Scheduler*>(static_cast<std::uintptr_t>(high) << 32U | low);
  entered(*here->home_);
  here->live();
}

/// Never returns.
void Scheduler::live() {
  Fiber& fiber = *fibers_[current_];
  try {
    fiber.body();
  } catch (...) {
    if (!error_) error_ = std::current_exception();
  }
  fiber.body = nullptr;
  fiber.ended = true;
  switch_context(fiber.context, *home_, true);
}

void Scheduler::resume(const Waiter& waiter) {
  std::unique_ptr<Fiber>& fiber = fibers_[waiter.fiber];
  if (!fiber || fiber->turn != waiter.turn) return;
  ++fiber->turn;
  current_ = waiter.fiber;
  switch_context(*home_, fiber->context);
  // Others may have been started meanwhile.
  std::unique_ptr<Fiber>& same = fibers_[waiter.fiber];
  if (!same->ended) return;
  same.reset();
  --alive_;
}

void Scheduler::leave() {
  switch_context(fibers_[current_]->context, *home_);
}

void Scheduler::sleep_until(threads::Time time) {
  if (time <= now_) return;
  due_.push({time, numbers_++, self(), nullptr});
  leave();
}

void Scheduler::wait(const void* place, threads::Time time) {
  const Waiter me = self();
  waiting_[place].push_back(me);
  if (time != threads::Time::max()) due_.push({std::max(time, now_), numbers_++, me, nullptr});
  leave();
  const auto found = waiting_.find(place);
  if (time == threads::Time::max() || found == waiting_.end()) return;
  std::erase_if(found->second, [&](const Waiter& other) { return other.fiber == me.fiber; });
  if (found->second.empty()) waiting_.erase(found);
}

void Scheduler::wake(const void* place) {
  const auto found = waiting_.find(place);
  if (found == waiting_.end()) return;
  for (const Waiter& waiter : found->second)
    due_.push({now_, numbers_++, waiter, nullptr});
  waiting_.erase(found);
}

void Scheduler::at(threads::Time time, std::unique_ptr<Happening> happening) {
  due_.push({std::max(time, now_), numbers_++, {}, happening.release()});
}

bool Scheduler::run(const std::function<bool()>& stops) {
  struct Inside {
    explicit Inside(World* world) { threads::set_world(world); }
    ~Inside() { threads::set_world(before); }
    World* const before = threads::world();
  } const inside(this);
  while (alive_ > 0) {
    if (due_.empty()) give_up();
    const Event event = due_.top();
    due_.pop();
    now_ = event.time;
    if (event.happening != nullptr) {
      const std::unique_ptr<Happening> happening(event.happening);
      happening->happen();
    } else {
      resume(event.waiter);
    }
    if (++events_ % kAskEvery == 0 && stops && stops()) return false;
  }
  if (error_) std::rethrow_exception(error_);
  return true;
}

void Scheduler::give_up() const {
  if (error_) std::rethrow_exception(error_);
  char at[32];
  std::snprintf(at, sizeof at, "%.6f s", seconds());
  throw std::runtime_error("the simulation is stuck at " + std::string(at) + ": " +
                           std::to_string(alive_) + " actors wait for each other");
}

}  // namespace thalweg::engine::simulate
