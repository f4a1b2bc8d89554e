// thalwegd as systemd starts it: the socket is handed over, READY=1 is awaited.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "daemon/api/client.h"
#include "tests/support/process.h"

namespace thalweg::daemon {
namespace {

namespace fs = std::filesystem;

int bound_socket(int type, const fs::path& file) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, file.c_str(), sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0)
      << std::strerror(errno);
  return fd;
}

struct SystemdTest : testing::Test {
  test::TempDir dir;
  api::Home home{dir.path() / "home"};
  int notified = bound_socket(SOCK_DGRAM, dir.path() / "notify");
  int listening = -1, journal = -1;
  pid_t process = -1;

  void SetUp() override {
    fs::create_directories(home.directory);
    test::write_file(home.config(), "backend: local\n");
  }
  void TearDown() override {
    close(notified);
    if (listening >= 0) close(listening);
    if (journal >= 0) close(journal);
    if (process > 0) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
  }

  void listen_at(const fs::path& file) {
    listening = bound_socket(SOCK_STREAM, file);
    ASSERT_EQ(listen(listening, 16), 0);
  }
  void start(const std::string& sockets = "1") {
    const std::string program = std::string(THALWEG_BIN_DIR) + "/thalwegd";
    const std::string log = dir.path() / "stderr", notify = dir.path() / "notify";
    process = fork();
    if (process != 0) return;
    const int err = open(log.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(err, 2);
    if (journal >= 0) logs_to(dir.path() / "journal");
    if (listening == 3)
      fcntl(3, F_SETFD, 0);
    else
      dup2(listening, 3);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    setenv("LISTEN_FDS", sockets.c_str(), 1);
    setenv("NOTIFY_SOCKET", notify.c_str(), 1);
    execl(program.c_str(), "thalwegd", "--foreground", "--home", home.directory.c_str(), nullptr);
    _exit(127);
  }
  /// In a mount namespace of its own, where the socket in `folder` is journald's. Needs root.
  static void logs_to(const fs::path& folder) {
    struct stat info {};
    fstat(2, &info);
    setenv("JOURNAL_STREAM",
           (std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino)).c_str(), 1);
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("run", "/run", "tmpfs", 0, nullptr) != 0)
      _exit(126);
    fs::create_directories("/run/systemd");
    fs::create_symlink(folder, "/run/systemd/journal");
  }
  static std::string next_datagram(int fd) {
    pollfd waiting{fd, POLLIN, 0};
    if (poll(&waiting, 1, 20000) != 1) return "nothing";
    char text[4096];
    const ssize_t size = recv(fd, text, sizeof text, 0);
    return {text, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }
  std::string next_notification() { return next_datagram(notified); }
  int end(int signal = 0) {
    if (signal != 0) kill(process, signal);
    int status = -1;
    waitpid(process, &status, 0);
    process = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST_F(SystemdTest, AnswersOnTheSocketThatItIsGivenAndSaysWhenItIsReady) {
  listen_at(home.socket());
  struct stat before {};
  ASSERT_EQ(stat(home.socket().c_str(), &before), 0);
  start();
  // The client may ask before anybody accepts: its connection waits in the socket.
  EXPECT_EQ(api::Client(home).get("/v1/ping").at("pid"), process);
  EXPECT_EQ(next_notification(), "READY=1");
  EXPECT_EQ(end(SIGTERM), 0);
  EXPECT_EQ(next_notification(), "STOPPING=1");
  struct stat after {};
  ASSERT_EQ(stat(home.socket().c_str(), &after), 0) << "took systemd's socket away";
  EXPECT_EQ(after.st_ino, before.st_ino);
  start();
  EXPECT_EQ(api::Client(home).get("/v1/ping").at("pid"), process);
  EXPECT_EQ(end(SIGTERM), 0);
}

TEST_F(SystemdTest, AttemptsInheritNothingOfSystemd) {
  listen_at(home.socket());
  const fs::path seen = dir.path() / "seen", engine = dir.path() / "engine.sh";
  test::write_file(engine, "#!/bin/sh\n{ env; ls -l /proc/self/fd; } >> " + seen.string() +
                               "\nexec sh " THALWEG_SOURCE_DIR
                               "/tests/daemon/support/engine.sh \"$@\"\n");
  fs::permissions(engine, fs::perms::owner_all);
  test::write_file(home.config(),
                   "backend: local\nlocal: {engine_program: " + engine.string() + "}\n");
  start();
  api::Client client(home);
  const std::string id = client.post("/v1/sweeps", {{"text", "train: {steps: 1}\n"}}).at("id");
  client.stream("/v1/watch?id=" + id, [](const nlohmann::json&) { return true; });
  EXPECT_EQ(end(SIGTERM), 0);
  const std::string text = test::read_file(seen);
  EXPECT_THAT(text, testing::HasSubstr("OMP_NUM_THREADS=")) << "nothing ran";
  for (const char* variable : {"LISTEN_PID=", "LISTEN_FDS=", "NOTIFY_SOCKET="})
    EXPECT_THAT(text, testing::Not(testing::HasSubstr(variable)));
  struct stat info {};
  ASSERT_EQ(fstat(listening, &info), 0);
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("socket:[" + std::to_string(info.st_ino))));
}

TEST_F(SystemdTest, GivesJournaldLinesWithFieldsInPlaceOfStandardError) {
  if (getuid() != 0) GTEST_SKIP() << "puts a socket in journald's place, which takes root";
  fs::create_directories(dir.path() / "journal");
  journal = bound_socket(SOCK_DGRAM, dir.path() / "journal" / "socket");
  listen_at(home.socket());
  start();
  const std::string id =
      api::Client(home).post("/v1/sweeps", {{"text", "command: ['true']\n"}}).at("id");
  const auto line_with = [&](const std::string& text) {
    std::string line;
    do
      line = next_datagram(journal);
    while (line != "nothing" && line.find(text) == std::string::npos);
    return line;
  };
  EXPECT_EQ(line_with("MESSAGE=" + id + " submitted"),
            "MESSAGE=" + id +
                " submitted: sweep, 1 trials on local\nPRIORITY=6\n"
                "SYSLOG_IDENTIFIER=thalwegd\nTHALWEG_SWEEP=" +
                id + "\nTHALWEG_EVENT=submitted\n");
  EXPECT_THAT(line_with("THALWEG_EVENT=ended"),
              testing::HasSubstr("\nTHALWEG_SWEEP=1\nTHALWEG_TRIAL=1.1\nTHALWEG_ATTEMPT=1.1.1\n"));
  close(std::exchange(journal, -1));  // journald stops: the controller does not mind
  EXPECT_EQ(api::Client(home).get("/v1/ping").at("pid"), process);
  EXPECT_EQ(end(SIGTERM), 0);
  EXPECT_EQ(test::read_file(dir.path() / "stderr"), "");
  EXPECT_THAT(test::read_file(home.log()), testing::HasSubstr(id + " submitted"));
}

TEST_F(SystemdTest, ListensByItselfWhereNoSocketIsGiven) {
  start("0");
  EXPECT_EQ(next_notification(), "READY=1");
  EXPECT_EQ(api::Client(home).get("/v1/ping").at("pid"), process);
  EXPECT_EQ(end(SIGTERM), 0);
  EXPECT_FALSE(fs::exists(home.socket()));
}

TEST_F(SystemdTest, RefusesASocketThatClientsWouldNotFind) {
  listen_at(dir.path() / "elsewhere.sock");
  start();
  EXPECT_EQ(end(), 2);
  EXPECT_THAT(
      test::read_file(dir.path() / "stderr"),
      testing::HasSubstr("elsewhere.sock', but this home's socket is " + home.socket().string()));
}

TEST_F(SystemdTest, RefusesSeveralSockets) {
  listen_at(home.socket());
  start("2");
  EXPECT_EQ(end(), 2);
  EXPECT_THAT(test::read_file(dir.path() / "stderr"), testing::HasSubstr("handed over 2 sockets"));
}

}  // namespace
}  // namespace thalweg::daemon
