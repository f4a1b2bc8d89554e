// What the backend says about a sweep before anything of it is submitted.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <vector>

#include "daemon/api/sweep_messages.h"
#include "daemon/server/app.h"
#include "jobspec/sweep.h"

namespace thalweg::daemon {

/// The request of trial `number` as it would be, in a sweep that has no number yet.
LaunchRequest example_request(const App& app, const jobspec::Sweep& sweep,
                              const jobspec::ExpandedTrial& trial);

/// Asks once for each distinct request, as its owner would; without one a site's controller cannot
/// ask. Empty where the backend has nothing to say. Throws
/// HttpError 400 where one of them could never run.
boost::asio::awaitable<std::vector<api::ForecastMessage>> forecasts(
    App& app, const jobspec::Sweep& sweep, const jobspec::Expansion& expansion,
    const std::string& backend, const std::optional<Owner>& owner);

}  // namespace thalweg::daemon
