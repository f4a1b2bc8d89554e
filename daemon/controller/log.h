// controller.log, for the person who looks after the controller: one line per decision, none per
// poll. Where systemd started the controller, journald gets each line too, with fields to filter
// by.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "jobspec/id.h"

namespace thalweg::daemon::log {

/// What a line is about: journald's fields THALWEG_SWEEP (12), THALWEG_TRIAL (12.3),
/// THALWEG_ATTEMPT (12.3.1) and THALWEG_EVENT.
struct About {
  jobspec::Id id = {};          ///< parts that are 0 give no field
  std::string_view event = {};  ///< its kind (daemon/state/events.h); empty: none
};

/// Appends to the file (5 MiB, three old ones kept), and to journald or standard error too where
/// wanted. Before it, lines are dropped.
void open(const std::filesystem::path& file, bool also_stderr);

void info(std::string_view text, const About& about = {});
void warning(std::string_view text, const About& about = {});
void error(std::string_view text, const About& about = {});

/// A warning that anybody can cause as often as he likes: `who` causes one line a minute, and the
/// next one says how many were left out. Of 1000 in a minute each; all further ones share a line.
/// Safe from several threads.
void refused(const std::string& who, std::string_view text);

}  // namespace thalweg::daemon::log
