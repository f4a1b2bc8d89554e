// Imports whose parts are under way: in memory only, so that one that is interrupted leaves
// nothing.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "daemon/api/import_messages.h"
#include "daemon/controller/imported.h"

namespace thalweg::daemon {

/// What has come of one import. The functions throw HttpError.
struct Upload {
  // One transaction writes them all, and the controller does nothing else meanwhile: some seconds.
  static constexpr std::int64_t max_points = 2'000'000;
  static constexpr std::size_t max_trials = 10'000;  ///< as seeds of a sweep file

  Import import;
  uid_t user = 0;
  std::int64_t points = 0;
  double touched = 0;  ///< steady seconds: the latest part

  /// Of the first part.
  void begin(const api::ImportRequest& part);
  void add(const api::ImportRequest& part);
  /// Where it can be imported.
  void check() const;
};

class Uploads {
 public:
  /// How many are under way at once, of all users and of one, so that memory is enough; one that
  /// is not continued for so long is forgotten.
  static constexpr std::size_t max_at_once = 4, max_of_user = 2;
  static constexpr double idle_s = 60;

  /// Gives the word by which the user continues it.
  std::string keep(Upload upload, double now);
  /// Takes it out. Throws HttpError 404 where the user has none of this name.
  Upload take(const std::string& name, uid_t user, double now);

 private:
  void forget_idle(double now);
  std::map<std::string, Upload> uploads_;
};

}  // namespace thalweg::daemon
