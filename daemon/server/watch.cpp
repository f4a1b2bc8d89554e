// GET /v1/watch: the sweep as it is, then again whenever it has changed (snapshots.h).
#include <boost/asio/this_coro.hpp>
#include <chrono>
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

awaitable<Snapshots::Snapshot> snapshot_of(App& app, const Request& request, std::int64_t id) {
  Snapshots::Snapshot snapshot;
  const SweepState& sweep = known_sweep(app, request, id);
  snapshot.version = app.controller.version(id);
  snapshot.last = sweep.phase != SweepPhase::active;
  const auto work = [id, counts = counts_of(sweep), view = app.controller.view(id)](
                        db::ReadStore& store) -> std::pair<std::string, double> {
    const auto begin = std::chrono::steady_clock::now();
    std::string text =
        "data: " + api::json_text(api::to_json(sweep_snapshot(store, id, counts, view))) + "\n\n";
    return {std::move(text),
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
  };
  auto [text, cost_s] = co_await app.reader.run(request.user, work);
  snapshot.text = std::make_shared<const std::string>(std::move(text));
  snapshot.cost_s = cost_s;
  co_return snapshot;
}

}  // namespace

awaitable<void> watch_sweep(App& app, const Request& request, EventSink& sink) {
  const jobspec::Id id = parse_id(query_text(request, "id"));
  known_sweep(app, request, id.sweep);  // before anything is sent
  const auto watched = app.snapshots.watch(id.sweep);
  const Snapshots::Make make = [&] { return snapshot_of(app, request, id.sweep); };

  Timer timer(co_await boost::asio::this_coro::executor);
  std::optional<std::uint64_t> shown;
  for (int silent = 0;;) {
    const std::uint64_t version = app.controller.version(id.sweep);
    if (shown != version) {
      const bool ended = known_sweep(app, request, id.sweep).phase != SweepPhase::active;
      const auto snapshot = co_await app.snapshots.latest(watched, version, ended, make);
      if (shown != snapshot.version) {
        shown = snapshot.version;
        silent = 0;
        if (!co_await sink.send(*snapshot.text)) co_return;
        if (snapshot.last) {
          co_await sink.send("event: end\ndata: {}\n\n");
          co_return;
        }
      }
    }
    if (++silent == silent_rounds) {
      silent = 0;
      if (!co_await sink.send(": still here\n\n")) co_return;
    }
    timer.expires_after(between_events);
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
}

}  // namespace thalweg::daemon
