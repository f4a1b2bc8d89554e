// Reading what a request says, with an HttpError 400 or 404 that names the mistake.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/api/fields.h"
#include "daemon/server/app.h"
#include "daemon/server/http.h"
#include "jobspec/id.h"

namespace thalweg::daemon {

enum class IdKind { sweep, trial, attempt };

/// The id in `{id}` of the path, or in text; must be of this kind.
jobspec::Id path_id(const Request& request, IdKind kind);
jobspec::Id parse_id(const std::string& text);

/// Throws HttpError 404 where there is none that the asker may see, 403 where he may see but not
/// change it and the endpoint would.
const SweepState& known_sweep(const App& app, const Request& request, std::int64_t id);
/// Throws HttpError 409 where its trials are runs of other programs, which cannot be `what`.
void require_runnable(const SweepState& sweep, std::string_view what);
/// Throws HttpError 400 where it is no name of a sweep.
void check_name(const std::string& name);
void check_trial(const App& app, const Request& request, const jobspec::Id& id);

/// The body as a JSON object.
nlohmann::json body_object(const Request& request);
/// The body as a message of the API.
template <class T>
T body_of(const Request& request) {
  try {
    return api::from_json<T>(body_object(request), api::Reading::strict);
  } catch (const std::invalid_argument& error) {
    throw HttpError(400, error.what());
  }
}
/// A key that must be text; without a fallback it must be there.
std::string text_of(const nlohmann::json& body, const char* key);
std::string text_of(const nlohmann::json& body, const char* key, const std::string& fallback);

std::string query_text(const Request& request, const std::string& key,
                       const std::string& fallback = "");
/// "a,b" as a list.
std::vector<std::string> query_names(const Request& request, const std::string& key);
/// Sweeps as "12,13", each known and each once.
std::vector<std::int64_t> query_sweeps(const App& app, const Request& request,
                                       const std::string& key);
/// That the sweep asks Slurm for; empty where it names none, or runs elsewhere.
std::string partition_of(const SweepState& sweep);
/// What an hour of a node of each of these sweeps costs, as far as it is known.
std::map<std::int64_t, double> prices_of(const App& app, const std::vector<std::int64_t>& sweeps);
std::int64_t query_int(const Request& request, const std::string& key, std::int64_t fallback,
                       std::int64_t min, std::int64_t max);

}  // namespace thalweg::daemon
