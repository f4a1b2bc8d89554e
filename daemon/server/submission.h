// What submitting a sweep and extending one have in common.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>
#include <vector>

#include "daemon/api/sweep_messages.h"
#include "daemon/server/app.h"
#include "daemon/server/http.h"
#include "jobspec/sweep.h"

namespace thalweg::daemon {

struct ParsedSweep {
  jobspec::Sweep sweep;
  jobspec::Expansion expansion;
};

/// Reads and expands a sweep file, as `work()` does it, for as long as others who wait let it.
/// Throws HttpError 503 after that.
ParsedSweep parse_in_time(const Turns::Time& time, const std::function<ParsedSweep()>& work);

/// What the engine itself says of the trials of the file `text`; of a program of the user's own,
/// what can be seen of it. Throws jobspec::InputError with
/// what is wrong with them. A check that fails holds no sweep back: it is noted in its sweep.
boost::asio::awaitable<void> ask_engine(App& app, const std::string& text,
                                        const std::vector<std::string>& environment,
                                        const std::string& backend, ParsedSweep& parsed);

/// Throws jobspec::InputError where a trial is to begin with one (init_from.trial) that cannot be
/// begun with, or that is none of the asker's.
boost::asio::awaitable<void> require_sources(App& app, const Request& request,
                                             const ParsedSweep& parsed);

/// What config.yaml says, and where the asker may have fewer trials more than that, his quota. Of a
/// file whose first `there` trials are there.
jobspec::SiteLimits limits_of(const App& app, const Request& request, std::int64_t there = 0);

/// Throws HttpError 400 where the sweep's deadline has passed. `sweep`: what it is called.
void require_time_left(const jobspec::Limits& limits, const std::string& sweep);

/// Throws HttpError 400 where so many trials more are more than the asker may have open.
void require_fits_trials(const App& app, const std::string& user, std::size_t more);

/// Throws HttpError 400 where a trial needs more nodes than one user of the site may have.
void require_fits_quotas(const App& app, const Request& request, const ParsedSweep& parsed);

api::AboutSubmission about_submission(const ParsedSweep& parsed, const std::string& backend);

/// The answer to who only looks.
boost::asio::awaitable<Response> dry_run(App& app, const Request& request, ParsedSweep parsed,
                                         const std::string& backend,
                                         std::vector<api::ForecastMessage> forecasts);

}  // namespace thalweg::daemon
