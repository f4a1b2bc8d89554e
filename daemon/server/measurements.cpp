// GET /v1/measurements: what earlier runs took for something of a known size.
#include "db/analysis/measurements.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "daemon/api/fields.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"

namespace thalweg::daemon {

boost::asio::awaitable<Response> get_measurements(App& app, const Request& request) {
  const std::string of = query_text(request, "of"), device = query_text(request, "device");
  const auto work = [of, device](db::ReadStore& store) {
    try {
      return json_response(api::to_json(db::analysis::read_measurements(store, of, device)));
    } catch (const std::invalid_argument& error) {
      throw HttpError(400, error.what());
    }
  };
  co_return co_await run_confined(app, request, app.reader, work);
}

}  // namespace thalweg::daemon
