// A user who is served goes behind all others who wait.
#include "daemon/server/turns.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <map>
#include <optional>

#include "daemon/backend/timer.h"

namespace thalweg::daemon {

namespace {

std::int64_t steady_ns() {
  return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
}

}  // namespace

bool Turns::Time::over() const {
  const std::int64_t end = end_.load(std::memory_order_relaxed);
  return end != 0 && steady_ns() >= end;
}

void Turns::Time::others_wait() {
  std::int64_t nobody = 0;
  end_.compare_exchange_strong(nobody, steady_ns() + static_cast<std::int64_t>(slice_s_ * 1e9));
}

struct Turns::Line : std::enable_shared_from_this<Turns::Line> {
  Line(boost::asio::any_io_executor with, double slice)
      : executor(std::move(with)), slice_s(slice) {}

  struct Waiter {
    explicit Waiter(const boost::asio::any_io_executor& executor)
        : comes(executor, Timer::time_point::max()) {}
    Timer comes;  ///< cancelled when the turn is there
    std::shared_ptr<Turn> turn;
  };

  std::shared_ptr<Turn> begin(uid_t user) {
    ++begun;
    running = user;
    time = std::make_shared<Time>(slice_s);
    if (!order.empty() && (order.size() > 1 || order.front() != user)) time->others_wait();
    return std::make_shared<Turn>(weak_from_this(), time);
  }
  std::shared_ptr<Waiter> join(uid_t user) {
    auto& queue = queues[user];
    if (queue.empty()) order.push_back(user);
    if (user != *running) time->others_wait();
    return queue.emplace_back(std::make_shared<Waiter>(executor));
  }
  void next() {
    running.reset();
    if (order.empty()) return;
    const uid_t user = order.front();
    order.pop_front();
    const auto queue = queues.find(user);
    const std::shared_ptr<Waiter> waiter = std::move(queue->second.front());
    queue->second.pop_front();
    if (queue->second.empty())
      queues.erase(queue);
    else
      order.push_back(user);
    waiter->turn = begin(user);
    waiter->comes.cancel();
  }

  boost::asio::any_io_executor executor;
  double slice_s;
  std::int64_t begun = 0;
  std::optional<uid_t> running;
  std::shared_ptr<Time> time;  ///< of who runs
  std::deque<uid_t> order;     ///< who wait
  std::map<uid_t, std::deque<std::shared_ptr<Waiter>>> queues;
};

Turns::Turn::~Turn() {
  if (const auto line = line_.lock()) line->next();
}

Turns::Turns(boost::asio::any_io_executor executor, double slice)
    : line_(std::make_shared<Line>(std::move(executor), slice)) {}

boost::asio::awaitable<std::shared_ptr<Turns::Turn>> Turns::take(uid_t user) {
  if (!line_->running) co_return line_->begin(user);
  const std::shared_ptr<Line::Waiter> waiter = line_->join(user);
  boost::system::error_code cancelled;
  co_await waiter->comes.async_wait(
      boost::asio::redirect_error(boost::asio::use_awaitable, cancelled));
  co_return std::move(waiter->turn);
}

std::int64_t Turns::begun() const {
  return line_->begun;
}

std::size_t Turns::waiting() const {
  std::size_t count = 0;
  for (const auto& [user, queue] : line_->queues)
    count += queue.size();
  return count;
}

}  // namespace thalweg::daemon
