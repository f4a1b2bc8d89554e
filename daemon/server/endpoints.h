// The table of endpoints.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/server/access.h"
#include "daemon/server/app.h"
#include "daemon/server/http.h"

namespace thalweg::daemon {

struct Endpoint {
  std::string_view method;
  std::string_view pattern;  ///< "/v1/sweeps/{id}"
  std::string_view doc;
  Audience audience;
  boost::asio::awaitable<Response> (*handle)(App&, const Request&) = nullptr;
  /// Instead of `handle`: a stream of server-sent events. It checks the request before it first
  /// sends.
  boost::asio::awaitable<void> (*stream)(App&, const Request&, EventSink&) = nullptr;
  bool over_tcp = false;  ///< also on the TCP listener, where only secrets prove anything
};

const std::vector<Endpoint>& endpoints();

/// The endpoint for the request, whose `parts` are filled in. Throws HttpError 404 or 405.
const Endpoint& find_endpoint(Request& request, bool over_tcp);

// Each in the file of its name (sweeps.cpp, extend.cpp, labels.cpp, names.cpp, share.cpp,
// upkeep.cpp, runs.cpp, comparison.cpp, control.cpp, watch.cpp).
boost::asio::awaitable<Response> post_sweep(App& app, const Request& request);
boost::asio::awaitable<Response> post_extend(App& app, const Request& request);
boost::asio::awaitable<Response> get_sweeps(App& app, const Request& request);
boost::asio::awaitable<Response> get_sweep(App& app, const Request& request);
boost::asio::awaitable<Response> get_resolve(App& app, const Request& request);
boost::asio::awaitable<Response> get_comparison(App& app, const Request& request);
boost::asio::awaitable<Response> get_trial(App& app, const Request& request);
boost::asio::awaitable<Response> get_curve(App& app, const Request& request);
boost::asio::awaitable<Response> get_curves(App& app, const Request& request);
boost::asio::awaitable<Response> get_sparklines(App& app, const Request& request);
boost::asio::awaitable<Response> get_warnings(App& app, const Request& request);
boost::asio::awaitable<Response> get_experience(App& app, const Request& request);
boost::asio::awaitable<Response> post_import(App& app, const Request& request);
boost::asio::awaitable<Response> get_studies(App& app, const Request& request);
boost::asio::awaitable<Response> get_study(App& app, const Request& request);
boost::asio::awaitable<Response> get_metrics_page(App& app, const Request& request);
boost::asio::awaitable<Response> get_measurements(App& app, const Request& request);
boost::asio::awaitable<Response> get_attempt(App& app, const Request& request);
boost::asio::awaitable<Response> get_log(App& app, const Request& request);
boost::asio::awaitable<Response> get_index(App& app, const Request& request);
boost::asio::awaitable<Response> get_ping(App& app, const Request& request);
boost::asio::awaitable<Response> get_schema(App& app, const Request& request);
boost::asio::awaitable<Response> post_cancel(App& app, const Request& request);
boost::asio::awaitable<Response> post_retry(App& app, const Request& request);
boost::asio::awaitable<Response> post_label(App& app, const Request& request);
boost::asio::awaitable<Response> post_share(App& app, const Request& request);
boost::asio::awaitable<Response> post_archive(App& app, const Request& request);
boost::asio::awaitable<Response> post_prune(App& app, const Request& request);
boost::asio::awaitable<Response> post_remove(App& app, const Request& request);
boost::asio::awaitable<Response> post_relocate(App& app, const Request& request);
boost::asio::awaitable<Response> get_homes(App& app, const Request& request);
boost::asio::awaitable<Response> post_backup(App& app, const Request& request);
boost::asio::awaitable<Response> get_size(App& app, const Request& request);
boost::asio::awaitable<Response> post_sizes(App& app, const Request& request);
boost::asio::awaitable<Response> post_query(App& app, const Request& request);
boost::asio::awaitable<Response> post_push(App& app, const Request& request);
boost::asio::awaitable<Response> post_shutdown(App& app, const Request& request);
boost::asio::awaitable<void> watch_sweep(App& app, const Request& request, EventSink& sink);

}  // namespace thalweg::daemon
