// GET /v1/watch: the sweep as it is, then again whenever it has changed.
#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "daemon/api/messages.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"
#include "daemon/server/views.h"

namespace thalweg::daemon {

using boost::asio::awaitable;
using nlohmann::json;

namespace {

constexpr auto between_events = std::chrono::milliseconds(500);
constexpr int silent_rounds =
    30;  ///< then a comment line, which finds out whether anybody still reads

}  // namespace

awaitable<void> watch_sweep(App& app, const Request& request, EventSink& sink) {
  const jobspec::Id id = parse_id(query_text(request, "id"));
  known_sweep(app, request, id.sweep);  // before anything is sent

  Timer timer(co_await boost::asio::this_coro::executor);
  std::optional<std::uint64_t> shown;
  for (int silent = 0;;) {
    const std::uint64_t version = app.controller.version(id.sweep);
    if (shown != version) {
      shown = version;
      silent = 0;
      const SweepState& sweep = known_sweep(app, request, id.sweep);
      const bool ended = sweep.phase != SweepPhase::active;
      const Counts counts = counts_of(sweep);
      const SweepView view = app.controller.view(id.sweep);
      const auto work = [id, counts, view](db::ReadStore& store) {
        const auto snapshot = sweep_snapshot(store, id.sweep, counts, view);
        return "data: " + api::json_text(api::to_json(snapshot)) + "\n\n";
      };
      const std::string text = co_await app.reader.run(request.user, work);
      if (!co_await sink.send(text)) co_return;
      if (ended) {
        co_await sink.send("event: end\ndata: {}\n\n");
        co_return;
      }
    } else if (++silent == silent_rounds) {
      silent = 0;
      if (!co_await sink.send(": still here\n\n")) co_return;
    }
    timer.expires_after(between_events);
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
}

}  // namespace thalweg::daemon
