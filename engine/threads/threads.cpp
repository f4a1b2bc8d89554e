// A world's actors never run at once: a lock there is a flag, and what waits is told by its place.
#include "engine/threads/threads.h"

#include <utility>

namespace thalweg::engine::threads {
namespace {

thread_local World* the_world = nullptr;

}  // namespace

World* world() {
  return the_world;
}
void set_world(World* world) {
  the_world = world;
}

Time now() {
  return the_world != nullptr ? the_world->now() : Clock::now();
}

void sleep_for(Clock::duration duration) {
  if (the_world == nullptr) return std::this_thread::sleep_for(duration);
  the_world->sleep_until(the_world->now() + duration);
}

void Mutex::lock() {
  if (the_world == nullptr) return real_.lock();
  while (held_)
    the_world->wait(this);
  held_ = true;
}

void Mutex::unlock() {
  if (the_world == nullptr) return real_.unlock();
  held_ = false;
  the_world->wake(this);
}

void Condition::notify_all() {
  if (the_world == nullptr) return real_.notify_all();
  the_world->wake(this);
}

void Condition::wait_once(std::unique_lock<Mutex>& lock, Time end) {
  if (the_world != nullptr) {
    lock.unlock();
    the_world->wait(this, end);
    return lock.lock();
  }
  std::unique_lock<std::mutex> real(lock.mutex()->real_, std::adopt_lock);
  if (end == Time::max())
    real_.wait(real);
  else
    real_.wait_until(real, end);
  real.release();
}

Thread::Thread(std::function<void()> body) {
  if (the_world == nullptr) {
    real_ = std::thread(std::move(body));
    return;
  }
  ended_ = std::make_shared<bool>(false);
  the_world->start([ended = ended_, body = std::move(body)] {
    body();
    *ended = true;
    the_world->wake(ended.get());
  });
}

void Thread::join() {
  if (!ended_) return real_.join();
  while (!*ended_)
    the_world->wait(ended_.get());
}

}  // namespace thalweg::engine::threads
