// Days are whole so that what was used is one number a day, however many attempts there were.
#include "daemon/state/quotas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "daemon/state/state.h"

namespace thalweg::daemon {

namespace {

constexpr double seconds_per_day = 86400;

std::int64_t day_of(double time) {
  return static_cast<std::int64_t>(std::floor(time / seconds_per_day));
}

QuotaOf quota_of(const Quota& each, const std::map<std::string, Quota>& named, const char* what,
                 const std::string& name) {
  const auto own = named.find(name);
  const std::string setting = fmt::format("site.quotas.{}", what);
  return own == named.end() ? QuotaOf{name, setting, each}
                            : QuotaOf{name, setting + "s." + name, own->second};
}

std::string user_of(const SweepState& sweep) {
  return sweep.owner ? sweep.owner->user : std::string();
}

}  // namespace

QuotaOf quota_of_user(const Quotas& quotas, const std::string& user) {
  return quota_of(quotas.user, quotas.users, "user", user);
}

QuotaOf quota_of_account(const Quotas& quotas, const std::string& account) {
  QuotaOf of = quota_of(quotas.account, quotas.accounts, "account", account);
  of.name = "account " + account;
  return of;
}

void Usage::add(double started, double ended, double node_seconds) {
  if (!(node_seconds > 0)) return;
  if (!(ended > started)) {
    days_[day_of(ended)] += node_seconds;
    return;
  }
  for (std::int64_t day = day_of(started); day <= day_of(ended); ++day) {
    const double begin = std::max(started, static_cast<double>(day) * seconds_per_day);
    const double end = std::min(ended, static_cast<double>(day + 1) * seconds_per_day);
    if (end > begin) days_[day] += node_seconds * (end - begin) / (ended - started);
  }
}

double Usage::node_seconds(double now, int days) const {
  double sum = 0;
  for (auto day = days_.upper_bound(day_of(now) - days); day != days_.end(); ++day)
    sum += day->second;
  return sum;
}

Ledger::Ledger(const State& state, const Quotas& quotas, double now)
    : state_(state), quotas_(quotas), now_(now) {
  for (const auto& [id, sweep] : state.sweeps) {
    double running_s = 0;
    for (const auto& [number, attempt] : sweep.live)
      running_s += attempt.nodes * attempt.ran_s(now);
    const auto add = [&](Entry& entry) {
      entry.nodes += sweep.nodes_in_flight;
      entry.trials += sweep.open;
      entry.running_s += running_s;
    };
    add(users_[user_of(sweep)]);
    if (sweep.owner) add(accounts_[sweep.account()]);
  }
}

std::int64_t Ledger::nodes_of_user(const SweepState& sweep) const {
  return entry(users_, user_of(sweep)).nodes;
}

void Ledger::take(const SweepState& sweep, std::int64_t nodes) {
  users_[user_of(sweep)].nodes += nodes;
  if (sweep.owner) accounts_[sweep.account()].nodes += nodes;
}

const Ledger::Entry& Ledger::entry(const std::map<std::string, Entry>& entries,
                                   const std::string& name) const {
  static const Entry nothing;
  const auto found = entries.find(name);
  return found == entries.end() ? nothing : found->second;
}

double Ledger::node_hours(const std::map<std::string, Usage>& used,
                          const std::map<std::string, Entry>& entries,
                          const std::string& name) const {
  const auto found = used.find(name);
  const double ended = found == used.end() ? 0 : found->second.node_seconds(now_, quotas_.days);
  return (ended + entry(entries, name).running_s) / kSecondsPerHour;
}

double Ledger::node_hours_of_user(const std::string& user) const {
  return node_hours(state_.usage.users, users_, user);
}

Ledger::Left Ledger::left(const SweepState& sweep) const {
  Left least;
  const auto limit = [&](const QuotaOf& of, std::int64_t nodes, double used_hours) {
    const auto at_most = [&](std::int64_t more, std::string reason) {
      if (!least.nodes || more < *least.nodes) least = {std::max<std::int64_t>(more, 0), reason};
    };
    const Quota& quota = of.quota;
    if (quota.max_nodes > 0)
      at_most(quota.max_nodes - nodes, fmt::format("{} nodes of {} in flight ({}.max_nodes = {})",
                                                   nodes, of.name, of.setting, quota.max_nodes));
    if (quota.node_hours > 0 && used_hours >= quota.node_hours)
      at_most(0, fmt::format("{} has used {:.1f} node-hours in {} days ({}.node_hours = {})",
                             of.name, used_hours, quotas_.days, of.setting, quota.node_hours));
  };
  if (!sweep.owner) return least;
  const std::string& user = sweep.owner->user;
  limit(quota_of_user(quotas_, user), entry(users_, user).nodes, node_hours_of_user(user));
  if (const std::string account = sweep.account(); !account.empty())
    limit(quota_of_account(quotas_, account), entry(accounts_, account).nodes,
          node_hours(state_.usage.accounts, accounts_, account));
  return least;
}

}  // namespace thalweg::daemon
