#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

#include "daemon/api/client.h"

namespace thalweg::daemon::api {

namespace {

/// Relative paths in these variables are ignored, as the XDG rules ask.
std::filesystem::path absolute_from(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text != '/') return {};
  return text;
}

std::filesystem::path user_directory() {
  if (auto home = absolute_from("HOME"); !home.empty()) return home;
  if (const passwd* entry = getpwuid(getuid()); entry != nullptr && entry->pw_dir != nullptr)
    return entry->pw_dir;
  throw std::runtime_error(
      "no home directory for this user: set THALWEG_HOME to a folder on a local disk");
}

}  // namespace

Home Home::find() {
  const char* controller = std::getenv("THALWEG_CONTROLLER");
  const std::string remote = controller == nullptr ? "" : controller;
  if (const char* text = std::getenv("THALWEG_HOME"); text != nullptr && *text != '\0')
    return {std::filesystem::absolute(text).lexically_normal(), remote};
  if (auto state = absolute_from("XDG_STATE_HOME"); !state.empty())
    return {state / "thalweg", remote};
  return {user_directory() / ".local/state/thalweg", remote};
}

std::string Home::where() const {
  return remote.empty() ? socket().string() : remote;
}

std::filesystem::path Home::socket() const {
  return directory / "controller.sock";
}
std::filesystem::path Home::status_file() const {
  return directory / "controller.json";
}
std::filesystem::path Home::log() const {
  return directory / "controller.log";
}
std::filesystem::path Home::config() const {
  return directory / "config.yaml";
}
std::filesystem::path Home::database() const {
  return directory / "thalweg.db";
}
std::filesystem::path Home::lock() const {
  return directory / "controller.lock";
}
std::filesystem::path Home::runs() const {
  return directory / "runs";
}

}  // namespace thalweg::daemon::api
