// While one is made the others who want it wait for it.
#include "daemon/server/snapshots.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

#include "daemon/backend/timer.h"

namespace thalweg::daemon {

namespace {

double steady_seconds() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

}  // namespace

struct Snapshots::Shared {
  Snapshot latest;
  double next = 0;                ///< by the clock: not before
  std::shared_ptr<Timer> making;  ///< cancelled when it is there
};

Snapshots::Snapshots(boost::asio::any_io_executor executor, Clock clock)
    : executor_(std::move(executor)), clock_(clock ? std::move(clock) : Clock(steady_seconds)) {}

std::shared_ptr<Snapshots::Shared> Snapshots::watch(std::int64_t sweep) {
  std::erase_if(watched_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Shared>& known = watched_[sweep];
  std::shared_ptr<Shared> watched = known.lock();
  if (!watched) known = watched = std::make_shared<Shared>();
  return watched;
}

boost::asio::awaitable<Snapshots::Snapshot> Snapshots::latest(std::shared_ptr<Shared> watched,
                                                              std::uint64_t version, bool ended,
                                                              Make make) {
  while (const auto making = watched->making) {
    boost::system::error_code cancelled;
    co_await making->async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, cancelled));
    // Where it failed the first of those who waited makes it, and the others wait again.
    if (watched->latest.text && watched->latest.version >= version) co_return watched->latest;
  }
  const bool is_new = watched->latest.text && watched->latest.version == version;
  const bool too_soon = watched->latest.text && !ended && clock_() < watched->next;
  if (is_new || too_soon) co_return watched->latest;
  watched->making = std::make_shared<Timer>(executor_, Timer::time_point::max());
  std::exception_ptr thrown;
  try {
    watched->latest = co_await make();
    ++made_;
    watched->next = clock_() + std::min(times_cost * watched->latest.cost_s, max_pause_s);
  } catch (...) {
    thrown = std::current_exception();
  }
  std::exchange(watched->making, nullptr)->cancel();
  if (thrown) std::rethrow_exception(thrown);
  co_return watched->latest;
}

}  // namespace thalweg::daemon
