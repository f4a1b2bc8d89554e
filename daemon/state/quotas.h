// What users and accounts of a site may have at once and use up, and what they have used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace thalweg::daemon {

inline constexpr double kSecondsPerHour = 3600;

struct SweepState;
struct State;

/// Of one user or one account.
struct Quota {
  std::int64_t max_nodes = 0;  ///< of attempts that wait or run; 0 = no limit
  double node_hours = 0;       ///< in the last Quotas::days; 0 = no limit
  std::int64_t trials = 0;     ///< of users only: not over, of all their sweeps; 0 = no limit
};

/// Each open trial takes 1 KB of the controller's memory, and half of it of the record.
inline constexpr std::int64_t kUsualTrials = 100'000;

struct Quotas {
  int days = 30;  ///< that node-hours count for, today among them; days begin at 0:00 UTC
  Quota user{0, 0, kUsualTrials}, account;       ///< of each
  std::map<std::string, Quota> users, accounts;  ///< by name: instead
};

/// Who a quota is of, and the setting that it comes from.
struct QuotaOf {
  std::string name;     ///< "alice", "account hep"
  std::string setting;  ///< "site.quotas.user"
  Quota quota;
};
QuotaOf quota_of_user(const Quotas& quotas, const std::string& user);
QuotaOf quota_of_account(const Quotas& quotas, const std::string& account);

/// Node-seconds by day since 1970. Sweeps that were removed count as long as others.
class Usage {
 public:
  /// `node_seconds` were used evenly from `started` to `ended` (Unix seconds).
  void add(double started, double ended, double node_seconds);
  /// In the last `days`, that of `now` among them.
  double node_seconds(double now, int days) const;

 private:
  std::map<std::int64_t, double> days_;
};

/// Of ended attempts. "" is no account: what it used is not counted.
struct UsageOfAll {
  std::map<std::string, Usage> users, accounts;
};

/// What all have in flight and have used, with what a round of launches adds.
class Ledger {
 public:
  /// The references must outlive it.
  Ledger(const State& state, const Quotas& quotas, double now);

  /// Nodes in flight of the sweep's user. Sweeps without an owner are all one user's.
  std::int64_t nodes_of_user(const SweepState& sweep) const;
  std::int64_t nodes_of_user(const std::string& user) const { return entry(users_, user).nodes; }
  /// Trials of all his sweeps that are not over.
  std::int64_t trials_of_user(const std::string& user) const { return entry(users_, user).trials; }
  /// Nodes that the sweep's user and account may still start; nothing = no limit.
  struct Left {
    std::optional<std::int64_t> nodes;
    std::string reason;  ///< why they are not more
  };
  Left left(const SweepState& sweep) const;
  void take(const SweepState& sweep, std::int64_t nodes);
  /// Node-hours of ended and running attempts.
  double node_hours_of_user(const std::string& user) const;

 private:
  struct Entry {
    std::int64_t nodes = 0, trials = 0;
    double running_s = 0;  ///< node-seconds of running attempts
  };
  const Entry& entry(const std::map<std::string, Entry>& entries, const std::string& name) const;
  double node_hours(const std::map<std::string, Usage>& used,
                    const std::map<std::string, Entry>& entries, const std::string& name) const;

  const State& state_;
  const Quotas& quotas_;
  double now_;
  std::map<std::string, Entry> users_, accounts_;  ///< users: "" = no owner
};

}  // namespace thalweg::daemon
