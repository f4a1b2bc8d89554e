// What the controller remembers of a backend between rounds; nothing in it needs to survive a
// restart.
#pragma once

#include "daemon/controller/controller.h"

namespace thalweg::daemon {

/// Of one live attempt. Times are of ControllerOptions::steady, 0 = not (yet).
struct Controller::Observation {
  std::string reason;     ///< why it does not run, for people
  bool in_doubt = false;  ///< it may have been submitted: only a look at the backend tells
  double not_before = 0;  ///< do not submit again before
  int postponed = 0;      ///< submissions in a row that were told to come later
  double released = 0;    ///< by this controller
  double queued = 0;      ///< first seen in the queue
  double running = 0;     ///< first seen running
  double gone = 0;        ///< first seen ended or missing
  double waits = 0;       ///< first seen held or queued although it has run
  bool fenced = false;    ///< its folder says so
  bool changed = false;   ///< it was said that somebody changed what names it
};

struct Controller::BackendContext {
  BackendContext(BackendSetup with, const boost::asio::any_io_executor& executor)
      : setup(std::move(with)),
        name(setup.backend->name()),
        timer(executor),
        description_timer(executor),
        calls_timer(executor) {}

  /// Its next round begins now.
  void wake() {
    woken = true;
    timer.cancel();
  }

  BackendSetup setup;
  std::string name;
  Timer timer;
  Timer description_timer;
  std::optional<std::string> description;  ///< its latest; asking it may take long
  bool woken = false;
  double active = 0;       ///< (steady, as the times below) last time something of it was live
  double unreachable = 0;  ///< since when it could not be looked at
  double looked = 0;       ///< when the last look that was answered began
  std::map<std::int64_t, double> left_over;  ///< when jobs of a sweep's ended attempts were seen
  std::map<Id, Observation> observations;
  /// When this controller last asked jobs (attempt, handle) to end. That they were asked is in
  /// State::ending.
  std::map<std::pair<Id, std::string>, double> asked;
  /// Calls on behalf of a user, one after the other (user_calls.cpp).
  struct UserCalls {
    bool under_way = false;
    std::vector<Call> wanted;  ///< by the look, before the others
  };
  std::map<std::uint32_t, UserCalls> calls;  ///< by uid
  Timer calls_timer;                         ///< cancelled when a user's calls have ended
  std::set<Id> submitting;                   ///< the backend may know them before we know it
};

}  // namespace thalweg::daemon
