// Calls of a backend on behalf of users, where one controller serves many. Each user's go one after
// the other, those of different users side by side: a user can keep a call of his own waiting (by
// stopping the process that works as him), and nobody else's. An attempt is one user's, so that at
// most one call about it is under way.
#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <set>

#include "daemon/controller/backend_context.h"
#include "daemon/controller/controller.h"

namespace thalweg::daemon {

bool Controller::is_calling(const BackendContext& context,
                            const std::optional<Identity>& identity) {
  if (!identity) return false;
  const auto it = context.calls.find(identity->uid);
  return it != context.calls.end() && it->second.under_way;
}

/// A user's call goes with his others of this round; false: it is to be made now, for the
/// controller's own user. Where those of an earlier round are under way still it is left out: the
/// next look finds again what there is to do.
bool Controller::waits_its_turn(BackendContext& context, const std::optional<Identity>& identity,
                                const Call& call) {
  if (!identity) return false;
  if (!is_calling(context, identity)) context.calls[identity->uid].wanted.push_back(call);
  return true;
}

Awaitable<void> Controller::cancel_in_turn(BackendContext& context, const Id& attempt,
                                           const Backend::TrackedJob& job) {
  const Call now = [this, &context, attempt, job]() -> Awaitable<void> {
    co_await cancel(context, attempt, job);
  };
  if (!waits_its_turn(context, job.identity, now)) co_await now();
}

/// Begins the calls of each user who has none under way, and waits for them, but not long.
Awaitable<void> Controller::call_for_users(BackendContext& context) {
  std::set<std::uint32_t> users;
  for (const auto& [id, sweep] : state_.sweeps)
    if (sweep.backend == context.name && sweep.owner && !sweep.live.empty())
      users.insert(sweep.owner->uid);
  for (const std::uint32_t user : users)
    context.calls.try_emplace(user);
  std::erase_if(context.calls, [&](const auto& one) {
    return !one.second.under_way && one.second.wanted.empty() && !users.contains(one.first);
  });
  std::vector<const BackendContext::UserCalls*> begun;
  for (auto& [user, calls] : context.calls) {
    if (std::exchange(calls.under_way, true)) continue;
    begun.push_back(&calls);
    run(calls_of(context, user));
  }
  const std::chrono::duration<double> patience(options_.calls_s);
  context.calls_timer.expires_after(std::chrono::duration_cast<Clock::duration>(patience));
  const auto waiting = [&] {
    return std::any_of(begun.begin(), begun.end(),
                       [](const auto* calls) { return calls->under_way; });
  };
  boost::system::error_code woken;
  while (waiting()) {
    co_await context.calls_timer.async_wait(
        boost::asio::redirect_error(boost::asio::use_awaitable, woken));
    if (!woken) break;
  }
}

Awaitable<void> Controller::calls_of(BackendContext& context, std::uint32_t user) {
  BackendContext::UserCalls& calls = context.calls.at(user);
  try {
    const auto wanted = std::exchange(calls.wanted, {});
    for (const Call& call : wanted)
      co_await call();
    co_await submit_all(context, user);
    co_await release_all(context, user);
    co_await cancel_all(context, user);
  } catch (const db::CannotWrite& error) {
    cannot_write(error);
  } catch (const DiskHangs&) {
    note_disk();  // the next round tries again
  } catch (const std::exception&) {
    contain("backend " + context.name);
  }
  calls.under_way = false;
  context.calls_timer.cancel();
}

}  // namespace thalweg::daemon
