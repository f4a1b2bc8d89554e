// Names of users and groups are looked up at each question, so that who was put into a group, or
// taken out of it, need not wait for a restart.
#include "daemon/server/access.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>

#include "base/machine.h"
#include "daemon/controller/log.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"

namespace thalweg::daemon {

namespace {

bool is_user(uid_t user, const std::string& name) {
  const passwd* const entry = getpwnam(name.c_str());
  return entry != nullptr && entry->pw_uid == user;
}

}  // namespace

bool is_in_group(uid_t user, const std::string& name) {
  const group* const entry = getgrnam(name.c_str());
  if (entry == nullptr) return false;
  const gid_t wanted = entry->gr_gid;
  const passwd* const account = getpwuid(user);
  if (account == nullptr) return false;
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (getgrouplist(account->pw_name, account->pw_gid, groups.data(), &count) < 0)
    groups.resize(static_cast<std::size_t>(count));
  groups.resize(static_cast<std::size_t>(count));
  return std::find(groups.begin(), groups.end(), wanted) != groups.end();
}

bool is_operator(const Config& config, uid_t user) {
  if (user == 0 || user == geteuid()) return true;
  const SiteSettings& site = config.site;
  const auto named = [user](const std::string& name) { return is_user(user, name); };
  const auto grouped = [user](const std::string& name) { return is_in_group(user, name); };
  return site.enabled &&
         (std::any_of(site.operator_users.begin(), site.operator_users.end(), named) ||
          std::any_of(site.operator_groups.begin(), site.operator_groups.end(), grouped));
}

bool may_ask(const Config& config, uid_t user) {
  return config.site.enabled || user == 0 || user == geteuid();
}

Sight::Sight(const App& app, const Request& request)
    : all_(is_operator(app.config, request.user)),
      site_(app.config.site.enabled),
      user_(request.user),
      name_(user_name(request.user)) {}

bool Sight::is_shared_with(const SweepState& sweep) const {
  return site_ && std::any_of(sweep.groups.begin(), sweep.groups.end(), [&](const auto& group) {
           const auto [known, is_new] = groups_.try_emplace(group, false);
           if (is_new) known->second = is_in_group(user_, group);
           return known->second;
         });
}

namespace {

std::optional<std::vector<std::int64_t>> sweeps_of(const App& app, const Request& request,
                                                   bool (Sight::*which)(const SweepState&) const) {
  const Sight sight(app, request);
  if (sight.all()) return {};
  std::vector<std::int64_t> sweeps;
  for (const auto& [id, sweep] : app.controller.state().sweeps)
    if (!sweep.removing && (sight.*which)(sweep)) sweeps.push_back(id);
  return sweeps;
}

}  // namespace

std::optional<std::vector<std::int64_t>> visible_sweeps(const App& app, const Request& request) {
  return sweeps_of(app, request, &Sight::of);
}

std::optional<std::vector<std::int64_t>> own_sweeps(const App& app, const Request& request) {
  return sweeps_of(app, request, &Sight::changes);
}

void require_audience(const App& app, const Endpoint& endpoint, const Request& request) {
  if (endpoint.audience != Audience::operators || is_operator(app.config, request.user)) return;
  log::refused(
      fmt::format("uid {} at {}", request.user, endpoint.pattern),
      fmt::format("{} of uid {} asked for {} {}, which is for operators", user_name(request.user),
                  request.user, endpoint.method, endpoint.pattern));
  throw HttpError(403, fmt::format("{} {} is for the operators of this controller", endpoint.method,
                                   endpoint.pattern));
}

}  // namespace thalweg::daemon
