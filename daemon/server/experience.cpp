// GET /v1/experience: what earlier runs of models on data measured, for advice about the next ones.
#include "db/analysis/experience.h"

#include <nlohmann/json.hpp>

#include "daemon/api/fields.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"

namespace thalweg::daemon {

using boost::asio::awaitable;

awaitable<Response> get_experience(App& app, const Request& request) {
  const auto models = query_names(request, "models"), data = query_names(request, "data");
  const auto work = [models, data](db::ReadStore& store) {
    return json_response(api::to_json(db::analysis::read_experience(store, models, data)));
  };
  co_return co_await run_confined(app, request, app.reader, work);
}

}  // namespace thalweg::daemon
