#include "daemon/server/endpoints.h"

#include <nlohmann/json.hpp>

namespace thalweg::daemon {

const std::vector<Endpoint>& endpoints() {
  static const std::vector<Endpoint> table = {
      {"GET", "/v1", "this list", Audience::everybody, get_index},
      {"GET", "/v1/ping", "who answers, since when, with which backends", Audience::everybody,
       get_ping},
      {"GET", "/v1/schema", "what `train:` of a sweep file may contain", Audience::everybody,
       get_schema},
      {"POST", "/v1/sweeps", "submit a sweep file, or only check it (dry_run)", Audience::owners,
       post_sweep},
      {"POST", "/v1/extend", "add the trials that a changed sweep file gives in addition",
       Audience::owners, post_extend},
      {"POST", "/v1/import", "take in runs of other programs", Audience::everybody, post_import},
      {"GET", "/v1/sweeps", "sweeps, newest first", Audience::readers, get_sweeps},
      {"GET", "/v1/resolve", "the id that is meant by a sweep's name", Audience::readers,
       get_resolve},
      {"GET", "/v1/sweeps/{id}", "a sweep with its trials", Audience::readers, get_sweep},
      {"GET", "/v1/sweeps/{id}/compare", "which configuration reached the target first",
       Audience::readers, get_comparison},
      {"GET", "/v1/sweeps/{id}/curves", "a metric over steps, of all its trials or of some",
       Audience::readers, get_curves},
      {"GET", "/v1/sparklines", "how the best trials of sweeps went, in a few points",
       Audience::readers, get_sparklines},
      {"GET", "/v1/warnings", "what the numbers of sweeps need beside them", Audience::readers,
       get_warnings},
      {"GET", "/v1/trials/{id}", "a trial with its attempts and metrics", Audience::readers,
       get_trial},
      {"GET", "/v1/trials/{id}/curve", "a metric over steps", Audience::readers, get_curve},
      {"GET", "/v1/attempts/{id}", "an attempt with its events", Audience::readers, get_attempt},
      {"GET", "/v1/attempts/{id}/log", "its stdout, stderr or journal from an offset on",
       Audience::readers, get_log},
      {"GET", "/v1/experience", "what earlier runs measured, for advice about the next ones",
       Audience::readers, get_experience},
      {"GET", "/metrics", "counts of sweeps, trials and nodes, for Prometheus", Audience::readers,
       get_metrics_page},
      {"GET", "/v1/studies", "the studies that are rows of db/studies", Audience::everybody,
       get_studies},
      {"GET", "/v1/studies/{name}", "a study's answer as a table", Audience::readers, get_study},
      {"GET", "/v1/measurements", "sizes and times of earlier runs' steps or checkpoints",
       Audience::readers, get_measurements},
      {"POST", "/v1/cancel", "end a sweep or a trial", Audience::owners, post_cancel},
      {"POST", "/v1/retry", "run ended trials again", Audience::owners, post_retry},
      {"POST", "/v1/label", "a sweep's name, tags and comment", Audience::owners, post_label},
      {"POST", "/v1/share", "groups whose members may look at a sweep", Audience::owners,
       post_share},
      {"GET", "/v1/sweeps/{id}/size", "what its run folders take on disk", Audience::readers,
       get_size},
      {"POST", "/v1/sizes", "the same of several sweeps", Audience::readers, post_sizes},
      {"POST", "/v1/archive", "put a sweep away, or take it out again", Audience::owners,
       post_archive},
      {"POST", "/v1/prune", "remove checkpoints of ended trials", Audience::owners, post_prune},
      {"POST", "/v1/remove", "remove a sweep that has ended, with its folders", Audience::owners,
       post_remove},
      {"POST", "/v1/relocate", "run folders that were moved", Audience::operators, post_relocate},
      {"GET", "/v1/homes", "records that have the same run folders, and where they are",
       Audience::operators, get_homes},
      {"POST", "/v1/backup", "copy the record into a file", Audience::operators, post_backup},
      {"POST", "/v1/query", "your own SQL on the documented views", Audience::readers, post_query},
      {"GET", "/v1/watch", "server-sent events: the sweep whenever it changes", Audience::readers,
       nullptr, watch_sweep},
      {"POST", "/v1/push", "journal lines from an engine", Audience::attempts, post_push, nullptr,
       true},
      {"POST", "/v1/shutdown", "stop the controller; running attempts continue",
       Audience::operators, post_shutdown},
  };
  return table;
}

namespace {

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const auto end = path.find('/', 1);
    parts.push_back(path.substr(1, end == std::string_view::npos ? end : end - 1));
    path.remove_prefix(end == std::string_view::npos ? path.size() : end);
  }
  return parts;
}

bool matches(std::string_view pattern, std::string_view path,
             std::map<std::string, std::string>& values) {
  const auto wanted = split(pattern), found = split(path);
  if (wanted.size() != found.size()) return false;
  values.clear();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].empty() && wanted[i].front() == '{')
      values[std::string(wanted[i].substr(1, wanted[i].size() - 2))] = found[i];
    else if (wanted[i] != found[i])
      return false;
  }
  return true;
}

}  // namespace

const Endpoint& find_endpoint(Request& request, bool over_tcp) {
  bool path_known = false;
  for (const Endpoint& endpoint : endpoints()) {
    if (over_tcp && !endpoint.over_tcp) continue;
    if (!matches(endpoint.pattern, request.path, request.parts)) continue;
    path_known = true;
    if (endpoint.method != request.method) continue;
    request.read_only = endpoint.audience == Audience::readers;
    return endpoint;
  }
  if (path_known) throw HttpError(405, request.method + " is not for " + request.path);
  throw HttpError(
      404, "there is nothing at " + request.path.substr(0, 200) + "; GET /v1 lists the endpoints");
}

boost::asio::awaitable<Response> get_index(App&, const Request&) {
  nlohmann::json list = nlohmann::json::array();
  for (const Endpoint& e : endpoints())
    list.push_back({{"method", e.method}, {"path", e.pattern}, {"doc", e.doc}});
  co_return json_response({{"endpoints", list}});
}

}  // namespace thalweg::daemon
