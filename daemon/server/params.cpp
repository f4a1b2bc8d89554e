#include "daemon/server/params.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api/messages.h"
#include "daemon/server/access.h"

namespace thalweg::daemon {

using nlohmann::json;

Response given_up_response() {
  json body = api::error_json("the attempt has ended, or was told to end itself");
  body["fenced"] = true;
  constexpr int gone = 410;
  return json_response(body, gone);
}

Response json_response(const json& body, int status) {
  return {status, api::json_text(body), "application/json", {}};
}

Response error_response(int status, const std::string& message,
                        const std::vector<jobspec::Diagnostic>& diagnostics) {
  return json_response(api::error_json(message, diagnostics), status);
}

jobspec::Id parse_id(const std::string& text) {
  if (const auto id = jobspec::Id::parse(text)) return *id;
  throw HttpError(
      400, "'" + text + "' is not an id: expected 12 (sweep), 12.3 (trial) or 12.3.1 (attempt)");
}

jobspec::Id path_id(const Request& request, IdKind kind) {
  const jobspec::Id id = parse_id(request.parts.at("id"));
  const bool right =
      (id.trial != 0) == (kind != IdKind::sweep) && (id.attempt != 0) == (kind == IdKind::attempt);
  static constexpr const char* expected[] = {"a sweep (12)", "a trial (12.3)",
                                             "an attempt (12.3.1)"};
  if (!right)
    throw HttpError(400, fmt::format("{} is not the id of {}", id.to_string(),
                                     expected[static_cast<int>(kind)]));
  return id;
}

const SweepState& known_sweep(const App& app, const Request& request, std::int64_t id) {
  const auto& sweeps = app.controller.state().sweeps;
  const auto it = sweeps.find(id);
  const Sight sight(app, request);
  if (it == sweeps.end() || !sight.of(it->second))
    throw HttpError(404, "there is no sweep " + std::to_string(id));
  if (!request.read_only && !sight.changes(it->second))
    throw HttpError(403, fmt::format("sweep {} is shared with you to look at: {} changes it", id,
                                     it->second.owner->user));
  if (it->second.removing) throw HttpError(404, fmt::format("sweep {} is being removed", id));
  return it->second;
}

void require_runnable(const SweepState& sweep, std::string_view what) {
  if (sweep.imported())
    throw HttpError(
        409, fmt::format("sweep {} is imported: its trials are runs of other programs and cannot "
                         "be {}; import later runs of these programs as another sweep",
                         sweep.id, what));
}

/// As in a sweep file.
void check_name(const std::string& name) {
  constexpr std::size_t max_length = 200;
  const bool one_line =
      std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20; });
  if (name.empty() || name.size() > max_length || !one_line)
    throw HttpError(400, fmt::format("a name is one line of at most {} characters", max_length));
  if (jobspec::Id::parse(name))
    throw HttpError(
        400, fmt::format("'{}' would be taken for an id: choose a name with a letter", name));
}

void check_trial(const App& app, const Request& request, const Id& id) {
  const SweepState& sweep = known_sweep(app, request, id.sweep);
  if (app.controller.state().trial(id) == nullptr)
    throw HttpError(404, "sweep " + std::to_string(id.sweep) + " has trials 1 to " +
                             std::to_string(sweep.trials.size()) + ", not " +
                             std::to_string(id.trial));
}

json body_object(const Request& request) {
  json body = json::parse(request.body, nullptr, false);
  if (!body.is_object()) throw HttpError(400, "the body must be a JSON object");
  return body;
}

std::string text_of(const json& body, const char* key) {
  const auto it = body.find(key);
  if (it == body.end() || !it->is_string())
    throw HttpError(400, fmt::format("the body needs \"{}\" as text", key));
  return *it;
}

std::string text_of(const json& body, const char* key, const std::string& fallback) {
  return body.contains(key) ? text_of(body, key) : fallback;
}

std::string query_text(const Request& request, const std::string& key,
                       const std::string& fallback) {
  const auto it = request.query.find(key);
  return it == request.query.end() ? fallback : it->second;
}

std::vector<std::string> query_names(const Request& request, const std::string& key) {
  std::vector<std::string> names = split_at_commas(query_text(request, key));
  std::erase(names, "");
  return names;
}

std::vector<std::int64_t> query_sweeps(const App& app, const Request& request,
                                       const std::string& key) {
  std::vector<std::int64_t> sweeps;
  for (const std::string& name : query_names(request, key)) {
    const jobspec::Id id = parse_id(name);
    if (id.trial != 0) throw HttpError(400, key + "=" + name + ": expected numbers of sweeps");
    known_sweep(app, request, id.sweep);
    if (std::find(sweeps.begin(), sweeps.end(), id.sweep) == sweeps.end())
      sweeps.push_back(id.sweep);
  }
  return sweeps;
}

std::string partition_of(const SweepState& sweep) {
  return sweep.backend == "slurm" ? sweep.slurm.option("partition") : "";
}

std::map<std::int64_t, double> prices_of(const App& app, const std::vector<std::int64_t>& sweeps) {
  std::map<std::int64_t, double> prices;
  for (const std::int64_t id : sweeps) {
    const auto found = app.controller.state().sweeps.find(id);
    if (found == app.controller.state().sweeps.end()) continue;
    if (const auto price = app.config.prices.of(partition_of(found->second))) prices[id] = *price;
  }
  return prices;
}

std::int64_t query_int(const Request& request, const std::string& key, std::int64_t fallback,
                       std::int64_t min, std::int64_t max) {
  const std::string text = query_text(request, key);
  if (text.empty()) return fallback;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < min || value > max)
    throw HttpError(400,
                    fmt::format("{}={}: expected an integer from {} to {}", key, text, min, max));
  return value;
}

}  // namespace thalweg::daemon
