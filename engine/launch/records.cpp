#include "engine/launch/records.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/machine.h"

namespace thalweg::engine::launch {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int kFormat = 1;

std::string now_utc() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t whole = std::chrono::system_clock::to_time_t(now);
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm parts{};
  gmtime_r(&whole, &parts);
  char text[40];
  const std::size_t n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::string millis = std::to_string(ms);
  return std::string(text, n) + "." + std::string(3 - millis.size(), '0') + millis + "Z";
}

[[noreturn]] void fail(const std::string& what, const fs::path& path) {
  throw std::system_error(errno, std::generic_category(), what + " " + path.string());
}

class File {
 public:
  File(const fs::path& path, int flags) : path_(path), fd_(::open(path.c_str(), flags, 0644)) {
    if (fd_ < 0) fail("cannot open", path);
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  void write_all(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t n = ::write(fd_, text.data() + at, text.size() - at);
      if (n < 0 && errno != EINTR) fail("cannot write", path_);
      if (n > 0) at += static_cast<std::size_t>(n);
    }
  }
  void sync() {
    if (::fsync(fd_) != 0 && errno != EINVAL) fail("cannot sync", path_);
  }

 private:
  fs::path path_;
  int fd_;
};

/// Beside the final name, complete and on disk.
fs::path write_aside(const fs::path& folder, const std::string& name, const Json& record) {
  const fs::path aside = folder / ("." + name + "." + std::to_string(::getpid()));
  File file(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
  file.write_all(record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  file.sync();
  return aside;
}

void sync_folder(const fs::path& folder) {
  File(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC).sync();
}

void replace(const fs::path& folder, const std::string& name, const Json& record) {
  const fs::path aside = write_aside(folder, name, record);
  if (::rename(aside.c_str(), (folder / name).c_str()) != 0) fail("cannot rename", aside);
  sync_folder(folder);
}

}  // namespace

Records::Records(fs::path folder, std::string token)
    : folder_(std::move(folder)), token_(std::move(token)) {}

bool Records::claim(int ranks, const std::vector<std::string>& command) {
  if (folder_.empty()) return true;
  const Json record = {
      {"format", kFormat},    {"token", token_},
      {"pid", ::getpid()},    {"start", process_start_time(::getpid()).value_or(0)},
      {"boot_id", boot_id()}, {"node", host_name()},
      {"ranks", ranks},       {"command", command},
      {"time", now_utc()}};
  const fs::path aside = write_aside(folder_, "launch.json", record);
  // link() fails where the name exists, so the claim is exclusive and never seen half written.
  const int failed = ::link(aside.c_str(), (folder_ / "launch.json").c_str()) == 0 ? 0 : errno;
  ::unlink(aside.c_str());
  if (failed == EEXIST) return false;
  if (failed) {
    errno = failed;
    fail("cannot create", folder_ / "launch.json");
  }
  sync_folder(folder_);
  return true;
}

void Records::failure(const Ending& ending) {
  if (folder_.empty()) return;
  replace(folder_, "failure.launch.json",
          {{"format", kFormat},
           {"rank", ending.rank},
           {"pid", ending.pid},
           {"node", host_name()},
           {"code", ending.code},
           {"signal", ending.signal},
           {"message", ending.message},
           {"time", now_utc()}});
}

void Records::end(const Ending& ending) {
  if (folder_.empty()) return;
  replace(folder_, "exit.json",
          {{"format", kFormat},
           {"token", token_},
           {"code", ending.code},
           {"signal", ending.signal},
           {"rank", ending.rank},
           {"timed_out", ending.timed_out},
           {"message", ending.message},
           {"time", now_utc()}});
}

}  // namespace thalweg::engine::launch
