#include "engine/launch/records.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/file.h"
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

/// A loss of power ends the ranks as well; how they ended before, their journal says.
constexpr auto unsynced = AtomicFile::Sync::no;

void write(AtomicFile& file, const Json& record) {
  file.write(record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

/// A hidden name, until the file is complete.
fs::path aside(const fs::path& folder, const std::string& name) {
  return folder / ("." + name + "." + std::to_string(::getpid()));
}

void replace(const fs::path& folder, const std::string& name, const Json& record) {
  AtomicFile file(folder / name, aside(folder, name), 0644);
  write(file, record);
  file.commit(unsynced);
}

/// Which GPUs its ranks see; empty: all, or none.
std::string visible_gpus() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? "" : visible;
}

}  // namespace

Records::Records(fs::path folder, std::string token)
    : folder_(std::move(folder)), token_(std::move(token)) {}

bool Records::claim(int ranks, const std::vector<std::string>& command) {
  if (folder_.empty()) return true;
  const Json record = {{"format", kFormat},
                       {"token", token_},
                       {"pid", ::getpid()},
                       {"start", process_start_time(::getpid()).value_or(0)},
                       {"boot_id", boot_id()},
                       {"node", host_name()},
                       {"ranks", ranks},
                       {"command", command},
                       {"visible_gpus", visible_gpus()},
                       {"time", now_utc()}};
  // Exclusive, and never seen half written.
  AtomicFile file(folder_ / "launch.json", aside(folder_, "launch.json"), 0644);
  write(file, record);
  return file.commit_new(unsynced);
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
