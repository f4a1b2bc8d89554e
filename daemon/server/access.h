// Who may see and do what, where one controller serves the users of a site. Sweeps are their
// owners'; members of the groups that one is shared with look at it and change nothing; operators
// (root, the controller's own user, and whom the site's config.yaml names) see and do everything.
// What somebody may not see is not there for him: the answer is the same 404. A controller of one
// user answers nobody else, so all is his.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/server/app.h"
#include "daemon/server/http.h"

namespace thalweg::daemon {

struct Endpoint;

/// Who an endpoint is for.
enum class Audience {
  everybody,  ///< who may ask at all; it tells nothing of anybody's sweeps
  readers,    ///< owners of the sweeps that it tells of, and whom they are shared with: it asks
              ///< known_sweep() (params.h), a Sight or visible_sweeps() for each
  owners,     ///< of the sweeps that it changes; the same
  operators,
  attempts  ///< whoever has the secret of a running attempt
};

/// Whether `user` may ask this controller anything.
bool may_ask(const Config& config, uid_t user);
bool is_operator(const Config& config, uid_t user);
/// Also by his primary group.
bool is_in_group(uid_t user, const std::string& name);

/// What the asker may see. Made once for a list: it asks the machine's user database.
class Sight {
 public:
  Sight(const App& app, const Request& request);
  bool of(const SweepState& sweep) const { return changes(sweep) || is_shared_with(sweep); }
  /// May change it, too.
  bool changes(const SweepState& sweep) const { return all_ || owns(sweep); }
  /// By number and name: a number may have gone to somebody else since.
  bool owns(const SweepState& sweep) const {
    return sweep.owner && sweep.owner->uid == user_ && sweep.owner->user == name_;
  }
  bool all() const { return all_; }

 private:
  bool is_shared_with(const SweepState& sweep) const;

  bool all_, site_;
  uid_t user_;
  std::string name_;
  mutable std::map<std::string, bool> groups_;  ///< of those asked about: whether he is in it
};

/// The sweeps that the asker may see, oldest first; nothing = all of them.
std::optional<std::vector<std::int64_t>> visible_sweeps(const App& app, const Request& request);
/// Those that he may change, too.
std::optional<std::vector<std::int64_t>> own_sweeps(const App& app, const Request& request);

/// Throws HttpError 403, after a line in the log, where the endpoint is not for the asker.
void require_audience(const App& app, const Endpoint& endpoint, const Request& request);

/// Runs `work(store)`, in the asker's turn, on `reader`'s thread; what it asks by query() tells of
/// the sweeps that the asker may see and of no others.
template <class F>
boost::asio::awaitable<TimedResult<F, db::ReadStore&>> run_confined(const App& app,
                                                                    const Request& request,
                                                                    SharedReader& reader, F work) {
  const auto confined = [work = std::move(work), sweeps = visible_sweeps(app, request)](
                            db::ReadStore& store, const Turns::Time& time) mutable {
    const struct Again {
      db::ReadStore& store;
      ~Again() { store.confine_queries(std::nullopt); }
    } again{store};
    store.confine_queries(std::move(sweeps));
    if constexpr (std::is_invocable_v<F&, db::ReadStore&, const Turns::Time&>)
      return work(store, time);
    else
      return work(store);
  };
  co_return co_await reader.run(request.user, std::move(confined));
}

}  // namespace thalweg::daemon
