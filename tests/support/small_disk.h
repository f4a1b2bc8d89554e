// A disk that is full: a small tmpfs that one process and its children see on a folder.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace thalweg::test {

/// Needs root.
inline bool can_have_small_disks() {
  return run({"unshare", "--mount", "true"}).code == 0;
}

/// The command line of a shell that has a disk of 64 KiB on `folder`, and runs `script` there.
inline std::vector<std::string> with_small_disk(const std::filesystem::path& folder,
                                                const std::string& script) {
  return {"unshare", "--mount", "sh", "-c",
          "mount -t tmpfs -o size=64k tmpfs " + folder.string() + " && { " + script + "; }"};
}

/// Fills a folder's disk, as a line of sh.
inline std::string fill(const std::filesystem::path& folder) {
  return "head -c 100000 /dev/zero > " + (folder / "fill").string() + " 2>/dev/null";
}

/// `path` as the process sees it.
inline std::filesystem::path seen_by(pid_t pid, const std::filesystem::path& path) {
  return "/proc/" + std::to_string(pid) + "/root" + path.string();
}

}  // namespace thalweg::test
