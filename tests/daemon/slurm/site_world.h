// A machine with users of the test's own: in a mount namespace of this process another /etc/passwd
// and /etc/group, seen by nobody else, and all that it starts. Needs root.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <poll.h>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "daemon/auth/sha256.h"
#include "tests/daemon/auth/munged.h"
#include "tests/support/process.h"

namespace thalweg::test {

inline constexpr uid_t agent_uid = reader_uid, service_uid = 61004, slurm_uid = 61005,
                       mallory_uid = 61006, low_uid = 500, unknown_uid = 61999;

class OwnUsers {
 public:
  OwnUsers() {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
    passwd_ = read_file("/etc/passwd");
    std::string groups = read_file("/etc/group");
    const std::pair<const char*, uid_t> users[] = {
        {"alice", alice_uid},     {"bob", bob_uid},         {"thalweg-agent", agent_uid},
        {"thalweg", service_uid}, {"slurmuser", slurm_uid}, {"mallory", mallory_uid},
        {"lowly", low_uid}};
    for (const auto& [name, uid] : users) {
      const std::string number = std::to_string(uid);
      passwd_ += name + (":x:" + number) + ":" + number + "::/nonexistent:/bin/sh\n";
      groups += name + (":x:" + number) + ":\n";
    }
    groups += "physics:x:61100:alice,bob\n";
    write_file(folder_.path() / "passwd", passwd_);
    write_file(folder_.path() / "group", groups);
    EXPECT_EQ(::unshare(CLONE_NEWNS), 0) << std::strerror(errno);
    EXPECT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    for (const char* name : {"passwd", "group"})
      EXPECT_EQ(::mount((folder_.path() / name).c_str(), ("/etc/" + std::string(name)).c_str(),
                        nullptr, MS_BIND, nullptr),
                0)
          << std::strerror(errno);
  }
  ~OwnUsers() {
    ::umount2("/etc/passwd", MNT_DETACH);
    ::umount2("/etc/group", MNT_DETACH);
  }

  /// Alice's number goes to somebody else. In place: the mount is of the file.
  void rename_alice(const std::string& to) {
    std::string text = passwd_;
    text.replace(text.find("\nalice:") + 1, 5, to);
    std::ofstream(folder_.path() / "passwd") << text;
  }

 private:
  TempDir folder_;
  std::string passwd_;
};

/// Speaks to an agent's socket as a user.
class AgentClient {
 public:
  AgentClient(const std::string& socket, uid_t uid) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::setegid(uid), 0);
    EXPECT_EQ(::seteuid(uid), 0);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    EXPECT_EQ(::seteuid(0), 0);
    EXPECT_EQ(::setegid(0), 0);
  }
  ~AgentClient() { ::close(fd_); }
  AgentClient(const AgentClient&) = delete;
  AgentClient& operator=(const AgentClient&) = delete;

  bool connected() const { return connected_; }
  int fd() const { return fd_; }
  bool send(const std::string& bytes) const {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::send(fd_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      if (n <= 0) return false;
      done += static_cast<std::size_t>(n);
    }
    return true;
  }
  /// The next line; empty at the end of the connection.
  std::string line() {
    for (const Deadline limit(milliseconds(60000));;) {
      const std::size_t end = buffer_.find('\n');
      if (end != std::string::npos) {
        std::string found = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return found;
      }
      pollfd wait{fd_, POLLIN, 0};
      char block[65536];
      if (::poll(&wait, 1, 100) != 1) {
        if (limit.passed()) return "nothing in time";
        continue;
      }
      const ssize_t n = ::recv(fd_, block, sizeof block, 0);
      if (n <= 0) return "";
      buffer_.append(block, static_cast<std::size_t>(n));
    }
  }
  nlohmann::json ask(nlohmann::json question) {
    question["id"] = ++last_;
    send(question.dump() + "\n");
    return nlohmann::json::parse(line(), nullptr, false);
  }

 private:
  int fd_ = -1;
  bool connected_ = false;
  std::string buffer_;
  int last_ = 0;
};

/// The agent as its unit runs it: a user of its own with CAP_SETUID and CAP_SETGID, no more.
class RunningAgent {
 public:
  RunningAgent(const std::filesystem::path& folder, const std::vector<std::string>& options)
      : folder_(folder) {
    namespace fs = std::filesystem;
    fs::create_directories(folder);
    fs::permissions(folder, fs::perms(0755));
    EXPECT_EQ(::chown(folder.c_str(), agent_uid, agent_uid), 0);
    const char* caps = "-all,+setuid,+setgid";
    argv_ = {"setpriv",
             "--reuid=" + std::to_string(agent_uid),
             "--regid=" + std::to_string(agent_uid),
             "--groups=" + std::to_string(service_uid),
             std::string("--inh-caps=") + caps,
             std::string("--ambient-caps=") + caps,
             std::string("--bounding-set=") + caps,
             "--no-new-privs",
             std::string(THALWEG_BIN_DIR) + "/thalweg-slurm-agent",
             "--site",
             "--socket",
             socket(),
             "--state",
             (folder / "state").string()};
    argv_.insert(argv_.end(), options.begin(), options.end());
    begin();
  }
  ~RunningAgent() { end(SIGTERM); }

  void begin() {
    std::string command = "exec";
    for (const std::string& word : argv_)
      command += " '" + word + "'";
    process_ = start({"/bin/sh", "-c", command + " 2>>'" + log_file() + "'"});
    EXPECT_TRUE(eventually([&] { return answers(); })) << log();
  }
  int end(int signal) {
    if (process_ < 0) return 0;
    ::kill(process_, signal);
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return status;
  }
  std::string socket() const { return folder_ / "socket"; }
  std::filesystem::path state() const { return folder_ / "state"; }
  std::string log_file() const { return folder_ / "log"; }
  std::string log() const {
    return std::filesystem::exists(log_file()) ? read_file(log_file()) : "";
  }
  pid_t pid() const { return process_; }

 private:
  bool answers() const {
    AgentClient probe(socket(), service_uid);
    return probe.connected();
  }
  std::filesystem::path folder_;
  std::vector<std::string> argv_;
  pid_t process_ = -1;
};

}  // namespace thalweg::test
