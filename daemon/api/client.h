// The CLI's only door to the controller: HTTP/1.1 + JSON over its Unix socket, or over TCP with a
// MUNGE credential for each request.
#pragma once

#include <sys/types.h>
#include <cstdint>

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace thalweg::daemon::api {

/// Where a user's controller keeps its things. THALWEG_HOME, else $XDG_STATE_HOME/thalweg, else
/// ~/.local/state/thalweg.
struct Home {
  std::filesystem::path directory;
  std::string remote = {};    ///< "host:port" of a site's controller on another machine, by
                              ///< THALWEG_CONTROLLER; empty = the one of `directory`
  std::string where() const;  ///< the controller's address, for messages
  std::filesystem::path socket() const;       ///< controller.sock
  std::filesystem::path status_file() const;  ///< controller.json: pid, host, version, started
  std::filesystem::path log() const;          ///< controller.log
  std::filesystem::path config() const;       ///< config.yaml
  std::filesystem::path database() const;     ///< thalweg.db
  std::filesystem::path lock() const;         ///< controller.lock: held by the running controller
  std::filesystem::path runs() const;         ///< runs/<sweep>/<trial>/<attempt>/
  static Home find();
};

/// The controller answered with an error status; `body` is its JSON: {"error":{"message":...,
/// "diagnostics":[...]}}.
class ApiError : public std::runtime_error {
 public:
  ApiError(int status, nlohmann::json body);
  int status() const { return status_; }
  const nlohmann::json& body() const { return body_; }

 private:
  int status_;
  nlohmann::json body_;
};

/// No controller answers, or it went away (message says which and what to do).
class Unreachable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One connection, reused; blocking; one thread.
class Client {
 public:
  explicit Client(Home home);
  ~Client();
  /// True when a controller answers.
  bool ping();
  /// What the last ping() said of the controller; null before one.
  const nlohmann::json& about() const;
  /// The controller's process on this machine, from its status file; 0 where none lives. It may
  /// still be starting or stopping.
  pid_t process_id() const;
  /// A controller died here without a farewell: its status file is there, its process is not.
  bool was_killed() const;
  /// Starts `thalwegd` for this user if none answers and waits until it does; never one on another
  /// machine. Throws Unreachable with the end of the controller's log, ApiError where it refuses.
  void ensure_running();

  nlohmann::json get(const std::string& path);
  nlohmann::json post(const std::string& path, const nlohmann::json& body);
  std::string get_text(const std::string& path);
  /// A chunk of an attempt's log: ask again at next_offset until `ended` and nothing more came.
  struct LogPart {
    std::string text;
    std::int64_t next_offset = 0;
    bool ended = false;
  };
  LogPart get_log(const std::string& path);
  /// Server-sent events until `each` returns false or the stream ends; reconnects by itself after a
  /// controller restart, and starts one that was killed (not one that was stopped). `tell`, where
  /// there is one, hears of that.
  void stream(const std::string& path, const std::function<bool(const nlohmann::json& event)>& each,
              const std::function<void(const std::string&)>& tell = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg::daemon::api
