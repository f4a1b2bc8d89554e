// POST /v1/share: who else may look at a sweep. A group is looked up at each question, so joining
// and leaving it count at once.
#include <fmt/format.h>
#include <grp.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/machine.h"
#include "daemon/api/sweep_messages.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"

namespace thalweg::daemon {

namespace {

/// As chgrp has it: nobody shares with a group that he is not in, but for operators.
void check_group(const App& app, const Request& request, const std::string& name) {
  if (getgrnam(name.c_str()) == nullptr)
    throw HttpError(400, fmt::format("there is no group '{}' on {}", name.substr(0, 100),
                                     "the controller's machine"));
  if (!is_operator(app.config, request.user) && !is_in_group(request.user, name))
    throw HttpError(403, fmt::format("you are not in the group '{}'", name));
}

}  // namespace

boost::asio::awaitable<Response> post_share(App& app, const Request& request) {
  const auto asked = body_of<api::ShareRequest>(request);
  const jobspec::Id id = parse_id(asked.id);
  if (id.trial != 0) throw HttpError(400, asked.id + " is not the id of a sweep");
  const SweepState& sweep = known_sweep(app, request, id.sweep);
  if (!app.config.site.enabled)
    throw HttpError(409,
                    "this controller answers its own user only: sweeps are shared where one "
                    "controller serves a site (thalwegd --site)");
  std::set<std::string> groups(sweep.groups.begin(), sweep.groups.end());
  for (const std::string& group : asked.remove_groups)
    if (groups.erase(group) == 0)
      throw HttpError(409, fmt::format("sweep {} is not shared with '{}'", id.sweep, group));
  for (const std::string& group : asked.add_groups) {
    check_group(app, request, group);
    groups.insert(group);
  }
  const std::vector<std::string> now(groups.begin(), groups.end());
  if (now != sweep.groups) app.controller.share(id.sweep, now, user_name(request.user));
  co_return json_response(api::to_json(api::ShareAnswer{id.to_string(), now}));
}

}  // namespace thalweg::daemon
