// From the trial to a running program: files, command line, environment.
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/file.h"
#include "base/machine.h"
#include "engine/attempt/claim.h"
#include "engine/attempt/supervise/program_version.h"
#include "engine/attempt/supervise/supervisor.h"
#include "jobspec/value.h"

namespace thalweg::engine {

namespace fs = std::filesystem;

namespace {

constexpr double kMeetingSeconds = 120;
constexpr std::int64_t kMaxLog = std::int64_t{256} << 20;

/// Bash does the setup in the sweep file's folder, then becomes the program in its own. A line that
/// fails is named.
std::vector<std::string> with_setup(const std::vector<std::string>& setup,
                                    const fs::path& directory,
                                    const std::vector<std::string>& words) {
  std::string script =
      "set -eE\n"
      "trap 'thalweg_exit=$?; echo \"setup failed (exit code $thalweg_exit): $BASH_COMMAND\" >&2; "
      "exit 2' ERR\n";
  for (const std::string& line : setup)
    script += line + "\n";
  script += "trap - ERR; set +eE\n";
  if (!directory.empty()) script += "cd " + jobspec::shell_line({directory.string()}) + "\n";
  script += "exec \"$@\"\n";
  std::vector<std::string> result{"/bin/bash", "-lc", script, "bash"};
  result.insert(result.end(), words.begin(), words.end());
  return result;
}

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

void Supervisor::prepare() {
  if (place_.rank == 0) {
    claim_attempt(trial_, folder_);
    record_ =
        std::make_unique<Record>(trial_, folder_, true, [flag = given_up_] { flag->request(); });
    fence_ = std::make_unique<Fence>(folder_, given_up_, [this] {
      record_->last("fenced", "the controller has given this attempt up");
      if (const pid_t group = child_group_.load(); group > 0) ::kill(-group, SIGKILL);
      ::_exit(static_cast<int>(ExitCode::superseded));
    });
  }
  const auto from = newest_program_checkpoint(trial_.resume);
  const std::string own = "." + std::to_string(place_.rank);
  files_ = {folder_,
            folder_ / ("config" + (place_.rank == 0 ? "" : own) + ".json"),
            place_.rank == 0 ? folder_ / "reports.jsonl" : fs::path(),
            folder_ / ("stop" + own),
            folder_ / "checkpoints",
            from ? from->path : fs::path(),
            from ? from->step : 0};
  fs::create_directory(files_.checkpoints);
  fs::remove(files_.stop);
  AtomicFile config(files_.config, 0600);
  config.write(jobspec::program_config(program_, trial_.train, trial_.seed).to_json() + "\n");
  config.commit(AtomicFile::Sync::no);  // the program does not outlive the machine
  if (place_.rank != 0) return;
  fs::remove(files_.reports);
  reports_ = std::make_unique<GrowingLines>(files_.reports);
  recorder_ = std::make_unique<Recorder>(*record_, trial_, folder_, files_.resume_step);
  for (const std::string& pattern : program_.metric_pattern)
    patterns_.emplace_back(pattern);
  if (!program_.tensorboard.empty())
    events_ = std::make_unique<EventFiles>(folder_ / program_.tensorboard);
  matches_.resize(patterns_.size(), files_.resume_step);
  twins_.resize(patterns_.size());
}

jobspec::CommandValues Supervisor::command_values() const {
  jobspec::CommandValues values;
  values.config = jobspec::program_config(program_, trial_.train, trial_.seed);
  values.seed = trial_.seed;
  values.config_file = files_.config;
  values.folder = folder_;
  values.nodes = trial_.resources.nodes;
  values.ranks_per_node = trial_.resources.ranks_per_node;
  values.threads_per_rank = trial_.resources.threads_per_rank;
  return values;
}

std::vector<std::string> Supervisor::command() const {
  return jobspec::expand_command(program_, command_values(), environment_variable);
}

jobspec::Map Supervisor::start_fields() const {
  jobspec::List nodes, words;
  if (place_.node_list.size() > 1 || place_.size == 1) {
    nodes.assign(place_.node_list.begin(), place_.node_list.end());
  } else {
    for (int rank = 0; rank < place_.size; ++rank)
      nodes.emplace_back(place_.node_list.front());
  }
  const std::vector<std::string> command = this->command();
  for (const std::string& word : command)
    words.emplace_back(word);
  jobspec::Map fields{{"format", jobspec::Trial::format},
                      {"attempt", trial_.id.to_string()},
                      {"token", trial_.token},
                      {"ranks", trial_.resources.ranks()},
                      {"node_list", std::move(nodes)},
                      {"device", "program"},
                      {"device_name", processor_name()},
                      {"threads", trial_.resources.threads_per_rank},
                      {"resumed_step", files_.resume_step},
                      {"command", std::move(words)},
                      {"launch", std::string(jobspec::name_of(program_.launch))},
                      {"version", THALWEG_VERSION},
                      {"config", trial_.train}};
  if (jobspec::Map program = program_version(program_, command, environment_variable);
      !program.empty())
    fields.emplace_back("program", std::move(program));
  return fields;
}

void Supervisor::start() {
  const MasterAddress meeting = meet(place_, trial_.token, folder_, kMeetingSeconds);
  ChildPlan plan;
  const fs::path directory =
      jobspec::working_directory(program_, command_values(), environment_variable);
  if (!program_.chdir.empty()) fs::create_directories(directory);
  plan.words = command();
  plan.directory = directory;
  if (!program_.setup.empty()) {
    plan.words = with_setup(program_.setup, directory, plan.words);
    plan.directory = program_.directory;
  }
  plan.environment = program_environment(trial_, place_, meeting, files_);
  jobspec::Map fields;
  if (record_) fields = start_fields();  // before it runs: its file as it is read
  child_ = std::make_unique<Child>(plan);
  child_group_ = child_->pid();
  const auto lines_of = [this](int stream) -> Output::Line {
    if (patterns_.empty()) return {};
    return [this, stream](std::string_view text) { take_line(stream, text); };
  };
  out_ = std::make_unique<Output>(child_->out(), 1, kMaxLog, lines_of(0));
  err_ = std::make_unique<Output>(child_->err(), 2, kMaxLog, lines_of(1));
  active_ = std::chrono::steady_clock::now();
  if (!record_) return;
  record_->start(std::move(fields));
  started_ = true;
  if (files_.resume_step > 0)
    record_->note("info", "it can continue from " + files_.resume.string());
}

}  // namespace thalweg::engine
