// A munged of the test's own, with a key of its own, and what it takes to ask it as another user.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <string>

#include "daemon/auth/munge.h"
#include "tests/support/process.h"

namespace thalweg::test {

/// Users that need no account: only their numbers count.
inline constexpr uid_t alice_uid = 61001, bob_uid = 61002, reader_uid = 61003;

/// What `work` returns in a process of that user, or "failed: ..." where it throws.
inline std::string as_user(uid_t uid, const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return "failed: pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text = "failed: cannot become the user";
    if (::setgid(uid) == 0 && ::setuid(uid) == 0) {
      try {
        text = work();
      } catch (const std::exception& error) {
        text = std::string("failed: ") + error.what();
      }
    }
    [[maybe_unused]] const ssize_t n = ::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char block[4096];
  for (ssize_t n; (n = ::read(ends[0], block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(n));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return text;
}

class Munged {
 public:
  Munged() {
    namespace fs = std::filesystem;
    fs::permissions(folder_.path(), fs::perms(0755));
    std::random_device random;
    std::ofstream key(folder_.path() / "key", std::ios::binary);
    for (int i = 0; i < 1024; ++i)
      key.put(static_cast<char>(random()));
    key.close();
    fs::permissions(folder_.path() / "key", fs::perms(0400));
    auto option = [&](const char* name, const char* file) {
      return std::string("--") + name + "=" + (folder_.path() / file).string();
    };
    command_ = {"munged",
                "--foreground",
                option("key-file", "key"),
                option("socket", "socket"),
                option("pid-file", "pid"),
                option("log-file", "log"),
                option("seed-file", "seed")};
    begin();
  }
  ~Munged() { end(); }
  Munged(const Munged&) = delete;
  Munged& operator=(const Munged&) = delete;

  /// It has forgotten then what it decoded.
  void restart() {
    end();
    begin();
  }

  /// Why no munged can run here for several users; empty: it can.
  static std::string missing() {
    if (!auth::munge_available()) return "built without libmunge";
    if (::getuid() != 0) return "needs root, to be several users";
    return run({"munged", "--version"}).code == 0 ? "" : "no munged here";
  }
  std::string socket() const { return folder_.path() / "socket"; }
  pid_t pid() const { return process_; }

  /// A credential that this user makes.
  std::string credential(uid_t uid, const std::string& payload, std::optional<uid_t> reader = {},
                         int ttl_s = 60) const {
    return as_user(uid, [&] { return auth::munge_encode(payload, {socket(), ttl_s, reader}); });
  }

 private:
  void begin() {
    process_ = start(command_);
    eventually([&] { return std::filesystem::exists(socket()); });
  }
  /// munged looks at what its handler of SIGTERM noted before it waits for a connection: a signal
  /// between the two is forgotten.
  void end() {
    const bool ended = eventually([&] {
      ::kill(process_, SIGTERM);
      return ::waitpid(process_, nullptr, WNOHANG) != 0;
    });
    if (ended) return;
    ADD_FAILURE() << "munged does not end";
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  TempDir folder_;
  std::vector<std::string> command_;
  pid_t process_ = -1;
};

}  // namespace thalweg::test
