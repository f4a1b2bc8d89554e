#include "daemon/server/daemon.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "base/file.h"
#include "base/machine.h"
#include "daemon/api/messages.h"
#include "daemon/controller/fault.h"
#include "daemon/controller/log.h"
#include "daemon/server/choices.h"
#include "daemon/server/home_folder.h"
#include "daemon/server/server.h"
#include "daemon/server/systemd.h"
#include "jobspec/diagnostic.h"

namespace thalweg::daemon {

namespace asio = boost::asio;
namespace fs = std::filesystem;

namespace {

constexpr auto answer_first =
    std::chrono::milliseconds(100);  ///< the answer to `shutdown` leaves before we do

/// On a site's socket, of all users; each has `site.max_connections` of them.
constexpr int site_connections = 4096;

constexpr int lock_tries = 50;
constexpr auto lock_pause = std::chrono::milliseconds(10);

/// Held as long as this process lives: one controller per home.
class HomeLock {
 public:
  explicit HomeLock(const fs::path& file)
      : fd_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), file.string());
    // A process that a killed controller was just starting holds its lock until exec.
    for (int tries = 0; !held_ && tries < lock_tries; ++tries) {
      if (tries > 0) std::this_thread::sleep_for(lock_pause);
      held_ = flock(fd_, LOCK_EX | LOCK_NB) == 0;
    }
  }
  ~HomeLock() { close(fd_); }
  HomeLock(const HomeLock&) = delete;
  HomeLock& operator=(const HomeLock&) = delete;
  bool held() const { return held_; }

 private:
  int fd_;
  bool held_ = false;
};

/// How the process in the background tells the first one how it went: a byte for "it answers", else
/// the reason.
class Report {
 public:
  explicit Report(int fd) : fd_(fd) {}
  void good() { send("+"); }
  void bad(int code, const std::string& message) {
    send(static_cast<char>('0' + code) + message);
    if (fd_ < 0) std::fprintf(stderr, "thalwegd: %s\n", message.c_str());
  }

 private:
  void send(const std::string& text) {
    if (fd_ < 0) return;
    if (write(fd_, text.data(), text.size()) < 0)
      return;  // the first process has gone: nobody to tell
    close(std::exchange(fd_, -1));
  }
  int fd_;
};

/// Forks. In the first process: waits for the report and gives the exit code. In the other (nothing
/// returned): is a daemon.
std::optional<int> into_background(int& report_fd) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    close(ends[0]);
    setsid();
    if (chdir("/") != 0) std::perror("chdir /");
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {0, 1, 2})
      dup2(null, fd);
    close(null);
    report_fd = ends[1];
    return {};
  }
  close(ends[1]);
  std::string text;
  char block[4096];
  for (ssize_t count; (count = read(ends[0], block, sizeof block)) != 0;) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    text.append(block, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  if (text == "+") return exit_ok;
  std::fprintf(
      stderr, "thalwegd: %s\n",
      text.empty() ? "ended at once without a word; see controller.log" : text.c_str() + 1);
  return text.empty() ? exit_failed : text[0] - '0';
}

void write_status(const api::Home& home, double started) {
  AtomicFile file(home.status_file());
  file.write(api::json_text({{"pid", getpid()},
                             {"host", host_name()},
                             {"version", THALWEG_VERSION},
                             {"started", started}},
                            2) +
             "\n");
  file.commit();
}

std::string reachable_address(const Config& config, unsigned short port) {
  if (!config.push_address.empty()) return config.push_address;
  const std::string host = config.push_listen.substr(0, config.push_listen.rfind(':'));
  const bool any = host == "0.0.0.0" || host == "[::]" || host == "::";
  return fmt::format("{}:{}", any ? host_name() : host, port);
}

/// Everything of a running controller, in the order in which it is taken down last to first.
class Daemon {
 public:
  Daemon(const api::Home& home, const Config& config, Systemd systemd)
      : home_(home),
        systemd_(std::move(systemd)),
        store_(db::Store::open(home.database())),
        signals_(io_),
        stop_timer_(io_) {
    ControllerOptions options;
    options.runs = runs_folder(config, home);
    make_runs(options.runs, options.disk_s, config.site.enabled);
    options.min_free_bytes = config.min_free_mib << 20;
    options.policy = config.policy;
    options.ingest_s = config.ingest_s;
    options.push_local = "unix:" + home.socket().string();
    if (!config.push_listen.empty()) options.push_remote = "http://" + reachable_address(config, 0);
    std::vector<BackendSetup> backends;
    for (const BackendRow& row : backend_rows())
      if (!config.site.enabled || row.for_sites)
        backends.push_back(row.make(io_.get_executor(), config));
    controller_ =
        std::make_unique<Controller>(io_.get_executor(), *store_, options, std::move(backends));
    app_ = std::make_unique<App>(io_.get_executor(), *controller_, home, config);
    app_->started = unix_now();
    app_->stop = [this] { stop_soon(); };
    ServerLimits limits;
    if (config.site.enabled) limits.connections = site_connections;
    server_ = std::make_unique<Server>(io_.get_executor(), *app_, limits);
  }

  void start(Report& report) {
    const auto handed_over = systemd_.socket(home_.socket());
    controller_->restart();
    if (handed_over)
      server_->adopt(*handed_over);
    else
      server_->listen(home_.socket());
    if (!app_->config.push_listen.empty()) server_->listen_tcp(app_->config.push_listen);
    if (app_->config.site.enabled && !app_->config.site.listen.empty())
      server_->listen_network(app_->config.site.listen);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP})
      signals_.add(signal);
    wait_for_signal();
    write_status(home_, app_->started);
    note_own_home();
    controller_->start();
    choose_by_results(*app_);
    log::info(fmt::format("thalwegd {} answers at {}", THALWEG_VERSION, home_.socket().string()));
    report.good();
    systemd_.notify("READY=1");
  }

  void run() {
    io_.run();
    systemd_.notify("STOPPING=1");
    std::error_code ignored;
    fs::remove(home_.status_file(), ignored);
    controller_->checkpoint();
    log::info("stopped; running attempts continue");
  }

 private:
  /// For those who look from another machine; a disk that does not take it is no reason to stop.
  void note_own_home() {
    const auto note = [runs = runs_folder(app_->config, home_), home = home_.directory,
                       started = app_->started] {
      note_home(runs, home, started);
      return true;
    };
    try {
      controller_->disk().run(note);
    } catch (const std::exception& error) {
      log::warning(fmt::format("cannot note this home among the run folders: {}", error.what()));
    }
  }

  void stop_soon() {
    stop_timer_.expires_after(answer_first);
    stop_timer_.async_wait([this](const boost::system::error_code&) {
      controller_->stop();
      server_->stop();
      io_.stop();
    });
  }

  void wait_for_signal() {
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      log::info(fmt::format("signal {} ({})", signal, strsignal(signal)));
      if (signal == SIGHUP)
        reload();
      else
        stop_soon();
      wait_for_signal();
    });
  }

  /// What can change while it runs; the rest needs a restart.
  void reload() {
    try {
      Config fresh = load_config(home_.config());
      Config& config = app_->config;
      config.backend = fresh.backend;
      config.max_nodes_per_job = fresh.max_nodes_per_job;
      config.max_trials = fresh.max_trials;
      config.gpu_memory_mib = fresh.gpu_memory_mib;
      config.keep = fresh.keep;
      config.query_s = fresh.query_s;
      fresh.site.enabled = config.site.enabled;
      config.site = std::move(fresh.site);
      config.policy = fresh.policy;
      controller_->set_policy(config.policy);
      config.slurm.defaults = std::move(fresh.slurm.defaults);
      config.sources = std::move(fresh.sources);
      config.enforced = std::move(fresh.enforced);
      app_->schema.reset();
      log::info(
          "config.yaml read again: backend, max_nodes_per_job, max_trials, gpu_memory, "
          "query_time_limit, retry_backoff, site (but for agent_socket, listen and munge_socket), "
          "defaults of the slurm and keep blocks; the rest at the next start");
    } catch (const jobspec::InputError& error) {
      log::error(std::string("config.yaml is not taken: ") + error.what());
    }
  }

  api::Home home_;
  Systemd systemd_;
  asio::io_context io_{1};
  std::unique_ptr<db::Store> store_;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<App> app_;
  std::unique_ptr<Server> server_;
  asio::signal_set signals_;
  asio::steady_timer stop_timer_;
};

int run_locked(const DaemonOptions& options, const Systemd& systemd, Report& report) {
  const HomeLock lock(options.home.lock());
  if (!lock.held()) {
    report.bad(exit_already_running,
               "another controller runs in " + options.home.directory.string());
    return exit_already_running;
  }
  log::open(options.home.log(), options.foreground);
  try {
    fault::arm_from_environment();
    Config config = load_config(options.home.config());
    config.site.enabled = options.site;
    if (!config.data.empty())
      setenv("THALWEG_DATA", config.data.c_str(), config.enforced.count("data") != 0 ? 1 : 0);
    Daemon daemon(options.home, config, systemd);
    daemon.start(report);
    daemon.run();
    return exit_ok;
  } catch (const jobspec::InputError& error) {
    report.bad(exit_bad_use, error.what());
    return exit_bad_use;
  } catch (const WrongSocket& error) {
    report.bad(exit_bad_use, error.what());
    return exit_bad_use;
  } catch (const std::exception& error) {
    log::error(std::string("the controller stops: ") + error.what());
    report.bad(exit_failed, error.what());
    return exit_failed;
  }
}

}  // namespace

int print_limits(const api::Home& home) {
  try {
    std::puts(site_limits(load_config(home.config())).to_json().c_str());
    return exit_ok;
  } catch (const jobspec::InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return exit_bad_use;
  }
}

int run_daemon(const DaemonOptions& options) {
  // cron and containers leave it out; `runs` of config.yaml may name it.
  if (const passwd* me = getpwuid(getuid()); me != nullptr) setenv("USER", me->pw_name, 0);
  const Systemd systemd = options.foreground ? Systemd::take_environment() : Systemd();
  if (options.site && geteuid() == 0) {
    std::fprintf(stderr,
                 "thalwegd: --site: start it as a user of its own (thalweg), not as root\n");
    return exit_bad_use;
  }
  make_home(options.home, options.site);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is an error of the write then
  int report_fd = -1;
  if (!options.foreground) {
    if (const auto code = into_background(report_fd)) return *code;
  }
  umask(0077);
  Report report(report_fd);
  return run_locked(options, systemd, report);
}

}  // namespace thalweg::daemon
