// A person may point THALWEG_HOME anywhere: at a project folder that a group shares, at /tmp, at
// some other program's folder. Taking those over would lock others out or mix files, so a home is
// either new, or empty, or holds a controller's files.
#include "daemon/server/home_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/file.h"
#include "base/hash.h"
#include "base/machine.h"
#include "base/writers.h"
#include "daemon/api/messages.h"
#include "daemon/backend/disk.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse_home(const fs::path& directory, const std::string& why) {
  throw std::runtime_error(
      fmt::format("{} cannot be the controller's home: {}; set THALWEG_HOME to a folder of your "
                  "own on a local disk",
                  directory.string(), why));
}

/// Nothing where the folder holds a record, is empty, or has only what a controller (or a person
/// for it) puts there; else the name of something else in it.
std::string something_else_in(const api::Home& home) {
  std::error_code error;
  if (fs::exists(home.database(), error)) return {};
  for (const auto& entry : fs::directory_iterator(home.directory, error)) {
    const std::string name = entry.path().filename();
    const bool ours = name == home.runs().filename() || name.starts_with("controller.") ||
                      name.starts_with(home.config().filename().string());
    if (!ours) return name;
  }
  if (error) refuse_home(home.directory, error.message());
  return {};
}

}  // namespace

constexpr mode_t site_mode = 0711;

void make_home(const api::Home& home, bool for_site) {
  const fs::path& directory = home.directory;
  std::error_code error;
  fs::create_directories(directory.parent_path(), error);
  if (error) refuse_home(directory, error.message());
  if (mkdir(directory.c_str(), for_site ? site_mode : 0700) == 0) return;
  if (errno != EEXIST) refuse_home(directory, std::strerror(errno));
  struct stat info {};
  if (stat(directory.c_str(), &info) != 0) refuse_home(directory, std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) refuse_home(directory, "it is not a folder");
  if (const std::string others = other_writers(directory); !others.empty())
    refuse_home(directory, others + "; others could start programs as you through it");
  if (for_site && (info.st_mode & S_IXOTH) == 0)
    refuse_home(directory, fmt::format("its mode is {:04o}, but a site's users must get through it "
                                       "to the socket (chmod 711)",
                                       info.st_mode & 07777));
  if (const std::string other = something_else_in(home); !other.empty())
    refuse_home(directory, "it holds other files (\"" + other + "\") and no thalweg.db");
}

void make_runs(const fs::path& runs, double patience_s, bool for_site) {
  // Gives why not; it may go on when nobody waits any more.
  const auto make = [runs, for_site]() -> std::string {
    std::error_code error;
    const bool made = for_site && !fs::exists(runs, error);
    fs::create_directories(runs, error);
    if (error) return error.message();
    struct stat info {};
    if (access(runs.c_str(), W_OK) != 0 || stat(runs.c_str(), &info) != 0)
      return std::strerror(errno);
    if (made && chmod(runs.c_str(), site_mode) == 0) info.st_mode = S_IFDIR | site_mode;
    if (info.st_uid == geteuid() && for_site && (info.st_mode & (S_IXOTH | S_IWOTH)) != S_IXOTH)
      return fmt::format(
          "its mode is {:04o}, but a site's users must get through it and not "
          "write in it: chmod 711 {}",
          info.st_mode & 07777, runs.string());
    const std::string others = info.st_uid == geteuid()
                                   ? other_writers(runs)
                                   : "it belongs to the user " + user_name(info.st_uid);
    return others.empty() ? others : others + "; others could replace what is in it";
  };
  std::string why;
  try {
    why = Disk(patience_s).run(make);
  } catch (const DiskHangs& error) {
    why = error.what();
  }
  if (why.empty()) return;
  throw std::runtime_error(fmt::format(
      "attempt folders cannot be made in {}: {}; config.yaml's `runs` says where they go",
      runs.string(), why));
}

namespace {

constexpr const char* kHomes = ".homes";

/// runs/.homes/HOST-0123456789abcdef: one for each home.
fs::path note_file(const fs::path& runs, const std::string& host, const std::string& home) {
  return runs / kHomes / (host + "-" + hash_text(home));
}

}  // namespace

void note_home(const fs::path& runs, const fs::path& home, double started) {
  fs::create_directories(runs / kHomes);
  AtomicFile file(note_file(runs, host_name(), home.string()), 0600);
  file.write(
      api::json_text({{"host", host_name()}, {"home", home.string()}, {"started", started}}, 2));
  file.commit();
}

std::vector<OtherHome> other_homes(const fs::path& runs, const fs::path& own) {
  std::vector<OtherHome> homes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(runs / kHomes, error)) {
    try {
      const auto note = nlohmann::json::parse(read_file(entry.path()));
      OtherHome home{note.at("host"), note.at("home"), note.at("started")};
      const bool here = home.host == host_name();
      if (here && (home.home == own.string() || !fs::exists(fs::path(home.home) / "thalweg.db")))
        continue;
      homes.push_back(std::move(home));
    } catch (const std::exception&) {
      // No note of ours.
    }
  }
  std::sort(homes.begin(), homes.end(),
            [](const OtherHome& a, const OtherHome& b) { return a.started > b.started; });
  return homes;
}

}  // namespace thalweg::daemon
