// What one user of a site may take of the controller at once, so that nobody keeps it from the
// others. A controller of one user, its own user and root are not limited here.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "daemon/controller/config.h"
#include "daemon/server/http.h"

namespace thalweg::daemon {

/// Of one thread.
class UserLimits {
 public:
  using Clock = std::function<double()>;  ///< seconds that only grow
  /// Empty `clock`: the machine's.
  explicit UserLimits(const Config& config, Clock clock = {});

  /// A connection's place among those of its user, held while it lives.
  class Connection {
   public:
    Connection(bool taken, std::function<void()> leave) : taken_(taken), leave_(std::move(leave)) {}
    ~Connection() {
      if (leave_) leave_();
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    explicit operator bool() const { return taken_; }

   private:
    bool taken_;
    std::function<void()> leave_;
  };
  /// False: he has too many, and the log says so, but not each time: he may come as often as he
  /// likes. No user: not limited.
  Connection connect(std::optional<uid_t> user);

  /// The answer (429) where a request of his comes too soon after too many others.
  std::optional<Response> too_many_requests(uid_t user);

 private:
  struct User {
    int connections = 0;
    double tokens = 0;           ///< requests that may come now; negative: none
    double filled = 0;           ///< when it was last added to
    double rate = 0;             ///< requests a second, as config said at his last visit
    std::optional<double> told;  ///< when the log was last told of a connection too many
    std::int64_t untold = 0;     ///< such connections since then
  };
  bool limited(uid_t user) const;
  User& of(uid_t user);
  void fill(User& user) const;
  void tell(uid_t user, User& entry) const;

  const Config& config_;
  Clock clock_;
  std::map<uid_t, User> users_;
};

}  // namespace thalweg::daemon
