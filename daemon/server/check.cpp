// thalwegd --check. Each check stands for itself: what one finds broken does not keep the others
// from looking, and a check that fails to look is an error with its reason.
#include "daemon/server/check.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/machine.h"
#include "base/process.h"
#include "base/writers.h"
#include "daemon/controller/config.h"
#include "daemon/server/daemon.h"
#include "db/store.h"
#include "jobspec/diagnostic.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;

namespace {

constexpr double patience_s = 10;
constexpr double gib = 1024.0 * 1024 * 1024, little_space_gib = 1;
constexpr std::uint64_t few_inodes = 10'000;
constexpr rlim_t few_files = 1024;

struct Finding {
  std::string what;    ///< "record"
  std::string level;   ///< "ok", "warning" or "error"
  std::string text;    ///< what was found
  std::string remedy;  ///< empty where nothing is to be done
};

Finding ok(std::string what, std::string text) {
  return {std::move(what), "ok", std::move(text), ""};
}
Finding warning(std::string what, std::string text, std::string remedy) {
  return {std::move(what), "warning", std::move(text), std::move(remedy)};
}
Finding error(std::string what, std::string text, std::string remedy) {
  return {std::move(what), "error", std::move(text), std::move(remedy)};
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// What the program prints; nothing where it is not there, does not answer or fails.
std::optional<std::string> asked(const std::vector<std::string>& command) {
  const fs::path program = find_program(command.front());
  if (program.empty()) return {};
  try {
    auto arguments = command;
    arguments.front() = program.string();
    const ProgramOutput output = run_program(arguments, patience_s);
    if (output.code != 0) return {};
    return output.out + output.err;
  } catch (const std::system_error&) {
    return {};
  }
}

class Check {
 public:
  Check(const api::Home& home, bool site) : home_(home), site_(site) {}

  std::vector<Finding> all() {
    constexpr std::pair<const char*, void (Check::*)()> checks[] = {
        {"programs", &Check::programs},
        {"configuration", &Check::config},
        {"home", &Check::home},
        {"record", &Check::record},
        {"run folders", &Check::runs},
        {"limits", &Check::limits},
        {"controller", &Check::controller},
        {"Slurm", &Check::slurm}};
    for (const auto& [what, look] : checks) {
      try {
        (this->*look)();
      } catch (const std::exception& problem) {
        add(error(what, problem.what(), ""));
      }
    }
    return std::move(findings_);
  }

 private:
  void add(Finding finding) { findings_.push_back(std::move(finding)); }

  /// By what its --version printed; another release is an error.
  bool is_of_this_release(const char* what, const std::string& printed) {
    if (first_line(printed).find(" " THALWEG_VERSION) != std::string::npos) return true;
    add(error(what, fmt::format("{} is beside thalwegd {}", first_line(printed), THALWEG_VERSION),
              "install all packages of one release"));
    return false;
  }

  void programs() {
    std::string there;
    for (const char* name : {"thalweg", "thalweg-launch", "thalweg-train"}) {
      const auto answer = asked({name, "--version"});
      if (!answer) {
        add(warning("programs", fmt::format("{} is not installed, or does not start", name),
                    std::string(name) == "thalweg-train"
                        ? "without it only your own programs can be swept: install the package "
                          "thalweg-engine"
                        : "install it from the same release as thalwegd"));
        continue;
      }
      if (is_of_this_release("programs", *answer))
        there += (there.empty() ? "" : ", ") + std::string(name);
    }
    add(ok("programs", fmt::format("thalwegd{}{}, version {}", there.empty() ? "" : ", ", there,
                                   THALWEG_VERSION)));
  }

  void config() {
    try {
      config_ = load_config(home_.config());
    } catch (const jobspec::InputError& mistakes) {
      for (const jobspec::Diagnostic& each : mistakes.diagnostics())
        add(error("configuration", each.to_string(), ""));
      readable_ = false;
      return;
    }
    std::error_code ignored;
    std::string read;
    for (const fs::path& file : site_config_files())
      if (fs::exists(file, ignored)) read += (read.empty() ? "" : ", ") + file.string();
    if (fs::exists(home_.config(), ignored))
      read += (read.empty() ? "" : ", ") + home_.config().string();
    add(ok("configuration", read.empty() ? "no file, all settings are the defaults" : read));
  }

  void home() {
    struct stat info {};
    if (stat(home_.directory.c_str(), &info) != 0) {
      add(warning("home", home_.directory.string() + " is not there yet",
                  "the first command that needs a controller makes it"));
      return;
    }
    there_ = true;
    const std::string others = other_writers(home_.directory);
    const std::string text = fmt::format("{}, of user {}, mode {:04o}", home_.directory.string(),
                                         user_name(info.st_uid), info.st_mode & 07777);
    if (!others.empty())
      add(error("home", text + ": " + others, "no controller starts in it"));
    else if (site_ && (info.st_mode & S_IXOTH) == 0)
      add(error("home", text + ": a site's users must get through it to the socket",
                "chmod 711 " + home_.directory.string()));
    else
      add(ok("home", text));
    space("home", home_.directory);
  }

  /// Room for what is written below a folder that is there.
  void space(const char* what, const fs::path& folder) {
    struct statvfs info {};
    if (statvfs(folder.c_str(), &info) != 0) return;
    const double free = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
    const double least =
        std::max(little_space_gib, static_cast<double>(config_.min_free_mib) / 1024);
    if (free < least * gib)
      add(warning(what, fmt::format("{:.1f} GiB are free in {}", free / gib, folder.string()),
                  "`thalweg prune` removes checkpoints that are not needed"));
    if (info.f_files > 0 && info.f_favail < few_inodes)
      add(warning(what,
                  fmt::format("{} inodes are free in {}", static_cast<std::uint64_t>(info.f_favail),
                              folder.string()),
                  "`thalweg rm` removes sweeps with their folders"));
  }

  void record() {
    std::error_code none;
    const auto size = fs::file_size(home_.database(), none);
    if (none) {
      if (there_) add(warning("record", "there is none yet", "the first controller makes it"));
      return;
    }
    const auto store = db::ReadStore::open(home_.database());
    const std::vector<std::string> problems = store->problems();
    for (const std::string& problem : problems)
      add(error("record", fmt::format("{}: {}", home_.database().string(), problem),
                "stop the controller, copy the folder away, then restore the newest backup"));
    if (problems.empty())
      add(ok("record", fmt::format("{}, {:.1f} MiB, no page is damaged", home_.database().string(),
                                   static_cast<double>(size) / (1024 * 1024))));
  }

  void runs() {
    if (!readable_) return;
    const fs::path folder = config_.runs.empty() ? home_.runs() : config_.runs;
    struct stat info {};
    if (stat(folder.c_str(), &info) != 0) {
      if (there_)
        add(warning("run folders", folder.string() + " is not there yet",
                    "the controller makes it when it starts"));
      return;
    }
    const std::string others = info.st_uid == geteuid() ? other_writers(folder) : "";
    if (!others.empty())
      add(error("run folders", folder.string() + ": " + others,
                "others could replace what is in it"));
    else if (info.st_uid == geteuid() && access(folder.c_str(), W_OK) != 0)
      add(error("run folders", folder.string() + " cannot be written",
                "`runs` in config.yaml says where they go"));
    else
      add(ok("run folders", folder.string()));
    space("run folders", folder);
  }

  void limits() {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < few_files)
      add(warning(
          "limits",
          fmt::format("a process may open {} files", static_cast<std::uint64_t>(files.rlim_cur)),
          "raise it: ulimit -n 4096, or LimitNOFILE= of the service"));
  }

  void controller() {
    api::Client client(home_);
    if (!client.ping()) {
      const pid_t process = client.process_id();
      if (process != 0)
        add(error("controller", fmt::format("process {} does not answer", process),
                  "its log: " + home_.log().string()));
      else
        add(client.was_killed()
                ? warning("controller", "it was killed, and none runs",
                          "the next command starts one, which takes over running attempts")
                : ok("controller", "none runs; commands that need one start it"));
      return;
    }
    const nlohmann::json about = client.get("/v1/ping");
    const std::string version = about.value("version", "");
    const std::string text = fmt::format("process {}, version {}", about.value("pid", 0), version);
    if (version != THALWEG_VERSION)
      add(warning(
          "controller", fmt::format("{}; installed is {}", text, THALWEG_VERSION),
          "`thalweg daemon stop`: trials keep running, and the next command starts the new one"));
    else
      add(ok("controller", text));
    const auto troubles = about.value("troubles", nlohmann::json::array());
    for (const auto& trouble : troubles)
      add(error("controller", trouble.get<std::string>(), ""));
    const auto backends = about.value("backends", nlohmann::json::object());
    for (const auto& [name, described] : backends.items())
      if (const auto words = described.get<std::string>(); !words.empty())
        add(ok("backend " + name, words));
  }

  /// Without a controller, since one that cannot start is why somebody asks.
  void slurm() {
    if (!readable_ || config_.backend == "local") return;
    const bool wanted = config_.backend == "slurm";
    if (find_program("scontrol").empty()) {
      if (wanted)
        add(error("Slurm", "config.yaml asks for it (backend: slurm), and scontrol is not in PATH",
                  "install Slurm's commands, or set PATH"));
      return;
    }
    const auto agent = find_program(config_.slurm.agent_program);
    if (agent.empty())
      add(warning("Slurm", config_.slurm.agent_program + " is not installed: sweeps run locally",
                  "install the package thalweg-slurm"));
    else if (const auto version = asked({agent.string(), "--version"}))
      is_of_this_release("Slurm", *version);
    const auto settings = asked({"scontrol", "show", "config"});
    if (!settings) {
      const std::string text = "slurmctld does not answer (scontrol show config)";
      add(wanted ? error("Slurm", text, "scontrol ping; systemctl status slurmctld")
                 : warning("Slurm", text + ": sweeps run locally", "scontrol ping"));
      return;
    }
    const std::string accounting = setting(*settings, "AccountingStorageType");
    add(ok("Slurm",
           fmt::format("{}, cluster {}, accounting {}", setting(*settings, "SLURM_VERSION"),
                       setting(*settings, "ClusterName"), accounting)));
    const auto plugins = asked({"srun", "--mpi=list"});
    if (!plugins || plugins->find("pmix") == std::string::npos)
      add(error("Slurm", "srun has no PMIx plugin, by which ranks find each other",
                "install Slurm's PMIx plugin (srun --mpi=list shows those installed)"));
    else
      add(ok("PMIx", "srun has the plugin"));
    if (setting(*settings, "AuthType") != "auth/munge") return;
    if (asked({"munge", "-n"}))
      add(ok("MUNGE", "munged answers"));
    else
      add(error("MUNGE", "munged gives no credential (munge -n)", "systemctl status munge"));
  }

  /// Of `scontrol show config`: "ClusterName             = main".
  static std::string setting(const std::string& settings, const std::string& name) {
    const auto at = settings.find("\n" + name + " ");
    const auto equals = at == std::string::npos ? at : settings.find("= ", at);
    if (equals == std::string::npos) return "not known";
    std::string value = first_line(settings.substr(equals + 2));
    value.erase(value.find_last_not_of(" \t") + 1);
    return value;
  }

  const api::Home home_;
  const bool site_;
  bool there_ = false;    ///< the home
  bool readable_ = true;  ///< the configuration
  Config config_;
  std::vector<Finding> findings_;
};

}  // namespace

int print_check(const api::Home& home, bool site, bool as_json) {
  const std::vector<Finding> findings = Check(home, site).all();
  nlohmann::json list = nlohmann::json::array();
  std::size_t width = 0, errors = 0;
  for (const Finding& finding : findings) {
    width = std::max(width, finding.what.size());
    errors += finding.level == "error" ? 1 : 0;
    list.push_back({{"what", finding.what},
                    {"level", finding.level},
                    {"text", finding.text},
                    {"remedy", finding.remedy}});
  }
  const int code = errors > 0 ? exit_failed : exit_ok;
  if (as_json) {
    fmt::print("{}\n", nlohmann::json{{"ok", errors == 0}, {"findings", list}}.dump(
                           2, ' ', false, nlohmann::json::error_handler_t::replace));
    return code;
  }
  for (const Finding& finding : findings) {
    fmt::print("{:<7}  {:<{}}  {}\n", finding.level, finding.what, width, finding.text);
    if (!finding.remedy.empty()) fmt::print("{:{}}  {}\n", "", width + 9, finding.remedy);
  }
  return code;
}

}  // namespace thalweg::daemon
