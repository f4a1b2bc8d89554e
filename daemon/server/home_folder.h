// The folders that a controller works in: its home, and `runs`. They may be folders that people
// made for more than this, so nothing about one that is already there is changed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "daemon/api/client.h"

namespace thalweg::daemon {

/// Makes the home (mode 0700; a site's 0711, so that users get through it to the socket) where
/// there is none. One that is there keeps its mode. Throws
/// std::runtime_error with the remedy where it cannot be made, where others may write to it, or
/// where it holds other things than a controller's.
void make_home(const api::Home& home, bool for_site = false);

/// Makes the folder that attempt folders are made in; a folder that cannot be written is found now,
/// not when a night's sweep starts. Throws std::runtime_error with the remedy where that fails or
/// where others may write to it, who could exchange what lies in it, or where its filesystem
/// does not answer in `patience_s`. For a site it is made so that others can pass through it to
/// what is theirs, and refused where they cannot, or where it is open to more.
void make_runs(const std::filesystem::path& runs, double patience_s, bool for_site = false);

/// Writes down in `runs`, which several machines may see, that this machine's `home` has a record
/// of them. Throws std::system_error.
void note_home(const std::filesystem::path& runs, const std::filesystem::path& home,
               double started);

/// Another record of the same user with these run folders.
struct OtherHome {
  std::string host, home;
  double started = 0;  ///< Unix seconds: when its controller last was
};
/// Newest first. On this machine only those that are still there.
std::vector<OtherHome> other_homes(const std::filesystem::path& runs,
                                   const std::filesystem::path& own);

}  // namespace thalweg::daemon
