// Requests are counted by a token bucket: `site.requests_per_second` go in, and as many as ten
// seconds bring are kept for a burst, since commands ask several times at once.
#include "daemon/server/user_limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/machine.h"
#include "daemon/controller/log.h"
#include "daemon/server/params.h"

namespace thalweg::daemon {

namespace {

constexpr double burst_s = 10, told_again_s = 10;
constexpr int too_many = 429;

double steady_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

UserLimits::UserLimits(const Config& config, Clock clock)
    : config_(config), clock_(clock ? std::move(clock) : Clock(steady_now)) {}

bool UserLimits::limited(uid_t user) const {
  return config_.site.enabled && user != 0 && user != geteuid();
}

UserLimits::User& UserLimits::of(uid_t user) {
  const double rate = config_.site.requests_per_s;
  User& entry =
      users_.try_emplace(user, User{0, rate * burst_s, clock_(), rate, {}, 0}).first->second;
  entry.rate = rate;
  fill(entry);
  return entry;
}

void UserLimits::fill(User& user) const {
  const double now = clock_();
  user.tokens = std::min(user.rate * burst_s, user.tokens + user.rate * (now - user.filled));
  user.filled = now;
}

void UserLimits::tell(uid_t user, User& entry) const {
  if (entry.told && clock_() < *entry.told + told_again_s) {
    ++entry.untold;
    return;
  }
  log::warning(fmt::format(
      "refused: a connection of {} (uid {}), who has {}{}", user_name(user), user,
      entry.connections, entry.untold > 0 ? fmt::format("; {} more before it", entry.untold) : ""));
  entry.told = clock_();
  entry.untold = 0;
}

UserLimits::Connection UserLimits::connect(std::optional<uid_t> user) {
  if (!user || !limited(*user)) return {true, {}};
  User& entry = of(*user);
  if (entry.connections >= config_.site.max_connections) {
    tell(*user, entry);
    return {false, {}};
  }
  ++entry.connections;
  return {true, [this, user] {
            // At the controller's end the last ones leave when config_ is gone already.
            const auto it = users_.find(*user);
            User& left = it->second;
            --left.connections;
            fill(left);
            // Forgotten once his bucket would be full anyhow.
            if (left.connections == 0 && left.tokens >= left.rate * burst_s) users_.erase(it);
          }};
}

std::optional<Response> UserLimits::too_many_requests(uid_t user) {
  if (!limited(user)) return {};
  User& entry = of(user);
  if (entry.tokens >= 1) {
    entry.tokens -= 1;
    return {};
  }
  const double wait_s = std::ceil((1 - entry.tokens) / config_.site.requests_per_s);
  Response answer = error_response(
      too_many,
      fmt::format("too many requests of {}: try again in {:g} s", user_name(user), wait_s));
  answer.headers["Retry-After"] = fmt::format("{:g}", wait_s);
  return answer;
}

}  // namespace thalweg::daemon
