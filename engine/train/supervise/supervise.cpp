// One thread does everything but pushing and looking for the fence: it waits for output, reports
// and the end, a tenth of a second at most, so that nothing that the program does can hold it up.
#include "engine/train/supervise/supervise.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/file.h"
#include "base/machine.h"
#include "engine/train/claim.h"
#include "engine/train/failure.h"
#include "engine/train/fence.h"
#include "engine/train/libraries.h"
#include "engine/train/node_facts.h"
#include "engine/train/record.h"
#include "engine/train/supervise/child.h"
#include "engine/train/supervise/output.h"
#include "engine/train/supervise/placement.h"
#include "engine/train/supervise/recorder.h"
#include "engine/train/supervise/reports.h"
#include "jobspec/metric_pattern.h"
#include "jobspec/trial.h"
#include "jobspec/value.h"

namespace thalweg::engine {

namespace fs = std::filesystem;

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kTick = 100ms;
// A backend's own patience is 30 s: the end must be written before.
constexpr auto kWilling = 18s;  // for a program that asks whether it should stop
constexpr auto kTermToKill = 7s;
constexpr auto kFencedTermToKill = 2s;  // the fence itself waits five
constexpr double kMeetingSeconds = 120;
constexpr std::int64_t kMaxLog = std::int64_t{256} << 20;
constexpr auto kAfterEnd = 2s;  // for what its pipes still hold, where others keep them open

/// Bash does the setup, then becomes the program. A line that fails is named.
std::vector<std::string> with_setup(const std::vector<std::string>& setup,
                                    const std::vector<std::string>& words) {
  if (setup.empty()) return words;
  std::string script =
      "set -eE\n"
      "trap 'thalweg_exit=$?; echo \"setup failed (exit code $thalweg_exit): $BASH_COMMAND\" >&2; "
      "exit 2' ERR\n";
  for (const std::string& line : setup)
    script += line + "\n";
  script += "trap - ERR; set +eE\nexec \"$@\"\n";
  std::vector<std::string> result{"/bin/bash", "-lc", script, "bash"};
  result.insert(result.end(), words.begin(), words.end());
  return result;
}

class Supervisor {
 public:
  Supervisor(const jobspec::Trial& trial, fs::path folder, const StopFlag& stop)
      : trial_(trial),
        program_(*trial.program),
        folder_(std::move(folder)),
        stop_(stop),
        place_(placement_of(trial)),
        given_up_(std::make_shared<StopFlag>()) {}

  int run();

 private:
  void prepare();
  std::vector<std::string> command() const;
  jobspec::Map start_fields() const;
  void start();
  void watch();
  void wait_for_something();
  void take_reports();
  void take_report(std::string_view line);
  void take_line(std::string_view line);
  void look_for_stop();
  void ask_to_stop(const std::string& why);
  void look_for_stall();
  void last_output();
  ExitCode conclude();
  ExitCode fail(ExitCode code, const std::string& reason);
  std::string others_failure() const;
  void touch(std::int64_t bytes);

  const jobspec::Trial& trial_;
  const jobspec::Program& program_;
  fs::path folder_;
  const StopFlag& stop_;
  Placement place_;
  std::shared_ptr<StopFlag> given_up_;
  SupervisedFiles files_;
  std::vector<jobspec::MetricPattern> patterns_;
  std::vector<std::int64_t> matches_;
  std::unique_ptr<Record> record_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Fence> fence_;
  std::unique_ptr<GrowingLines> reports_;
  std::unique_ptr<Child> child_;
  std::unique_ptr<Output> out_, err_;
  bool started_ = false;       ///< the start record is written
  bool willing_ = false;       ///< it asks whether it should stop
  bool saw_stop_ = false;      ///< it has been told so
  bool from_outside_ = false;  ///< the wish to stop is not the stop rule's
  std::string why_stop_;       ///< it was asked to stop; empty: it was not
  Clock::time_point asked_{}, active_{};
  std::int64_t bytes_ = 0;  ///< of everything that came, at the last look
  bool terminated_ = false, killed_ = false, stalled_ = false;
};

void Supervisor::prepare() {
  if (place_.rank == 0) {
    claim_attempt(trial_, folder_);
    record_ =
        std::make_unique<Record>(trial_, folder_, true, [flag = given_up_] { flag->request(); });
    fence_ = std::make_unique<Fence>(folder_, given_up_, [this] {
      record_->last("fenced", "the controller has given this attempt up");
      child_->signal(SIGKILL);
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
  fs::create_directories(files_.checkpoints);
  fs::remove(files_.stop);
  AtomicFile config(files_.config, 0600);
  config.write(jobspec::program_config(program_, trial_.train, trial_.seed).to_json() + "\n");
  config.commit();
  if (place_.rank != 0) return;
  fs::remove(files_.reports);
  reports_ = std::make_unique<GrowingLines>(files_.reports);
  recorder_ = std::make_unique<Recorder>(*record_, trial_, folder_, files_.resume_step);
  for (const std::string& pattern : program_.metric_pattern)
    patterns_.emplace_back(pattern);
  matches_.resize(patterns_.size(), files_.resume_step);
}

std::vector<std::string> Supervisor::command() const {
  jobspec::CommandValues values;
  values.config = jobspec::program_config(program_, trial_.train, trial_.seed);
  values.seed = trial_.seed;
  values.config_file = files_.config;
  values.folder = folder_;
  values.nodes = trial_.resources.nodes;
  values.ranks_per_node = trial_.resources.ranks_per_node;
  values.threads_per_rank = trial_.resources.threads_per_rank;
  return jobspec::expand_command(program_, values, [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

jobspec::Map Supervisor::start_fields() const {
  jobspec::List nodes, words;
  if (place_.node_list.size() > 1 || place_.size == 1) {
    nodes.assign(place_.node_list.begin(), place_.node_list.end());
  } else {
    for (int rank = 0; rank < place_.size; ++rank)
      nodes.emplace_back(place_.node_list.front());
  }
  for (const std::string& word : command())
    words.emplace_back(word);
  return {{"format", jobspec::Trial::format},
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
          {"version", engine_version()},
          {"config", trial_.train}};
}

void Supervisor::start() {
  const Meeting meeting = meet(place_, trial_.token, folder_, kMeetingSeconds);
  ChildPlan plan;
  plan.words = with_setup(program_.setup, command());
  plan.environment = program_environment(trial_, place_, meeting, files_);
  plan.directory = program_.directory;
  child_ = std::make_unique<Child>(plan);
  Output::Line line;
  if (!patterns_.empty()) line = [this](std::string_view text) { take_line(text); };
  out_ = std::make_unique<Output>(child_->out(), 1, kMaxLog, line);
  err_ = std::make_unique<Output>(child_->err(), 2, kMaxLog);
  active_ = Clock::now();
  if (!record_) return;
  record_->start(start_fields());
  started_ = true;
  if (files_.resume_step > 0) record_->note("info", "it can go on from " + files_.resume.string());
}

void Supervisor::take_line(std::string_view line) {
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    const auto found = patterns_[i].match(line);
    if (!found || found->values.empty()) continue;
    const std::int64_t step = found->step.value_or(++matches_[i]);
    for (const auto& [name, value] : found->values)
      recorder_->metric(name, step, value);
  }
}

void Supervisor::take_report(std::string_view line) {
  try {
    const Report report = parse_report(line);
    switch (report.kind) {
      case Report::Kind::metrics:
        for (const auto& [name, value] : report.values)
          recorder_->metric(name, report.step.value_or(recorder_->last_step()), value);
        break;
      case Report::Kind::checkpoint:
        recorder_->checkpoint(report.text, report.step, report.seconds);
        break;
      case Report::Kind::note:
        record_->note("info", report.text);
        break;
      case Report::Kind::hello:
        willing_ = true;
        break;
      case Report::Kind::stopping:
        saw_stop_ = true;
        break;
    }
  } catch (const std::invalid_argument& error) {
    recorder_->warn("report", fmt::format("a report could not be read ({}): {}", error.what(),
                                          line.substr(0, 100)));
  } catch (const std::system_error& error) {
    recorder_->warn("disk", error.what());
  }
}

void Supervisor::take_reports() {
  if (!reports_) return;
  reports_->read([this](std::string_view line) { take_report(line); });
  recorder_->flush(Clock::now());
}

void Supervisor::touch(std::int64_t bytes) {
  if (bytes == bytes_) return;
  bytes_ = bytes;
  active_ = Clock::now();
}

void Supervisor::wait_for_something() {
  pollfd descriptors[] = {{out_->open() ? child_->out() : -1, POLLIN, 0},
                          {err_->open() ? child_->err() : -1, POLLIN, 0},
                          {child_->ended_descriptor(), POLLIN, 0}};
  ::poll(descriptors, 3, static_cast<int>(std::chrono::milliseconds(kTick).count()));
}

void Supervisor::ask_to_stop(const std::string& why) {
  if (!why_stop_.empty()) return;
  why_stop_ = why;
  asked_ = Clock::now();
  try {
    AtomicFile file(files_.stop);
    file.write(why + "\n");
    file.commit();
  } catch (const std::system_error&) {
    willing_ = false;  // it cannot be told so: by a signal then
  }
}

void Supervisor::look_for_stop() {
  const bool fenced = fence_ && fence_->flag().requested();
  if (fenced || stop_.requested()) {
    from_outside_ = true;
    ask_to_stop(fenced ? "the controller has given this attempt up" : "stopped on request");
  }
  if (recorder_ && !recorder_->stop_reason().empty()) ask_to_stop(recorder_->stop_reason());
  if (why_stop_.empty() && !stalled_) return;
  const auto now = Clock::now();
  const bool at_once = !willing_ || fenced || stalled_;
  if (!terminated_ && (at_once || now - asked_ >= kWilling)) {
    terminated_ = true;
    asked_ = now;
    child_->signal(SIGTERM);
    child_->signal(SIGCONT);
  } else if (terminated_ && !killed_ &&
             now - asked_ >= (fenced ? kFencedTermToKill : kTermToKill)) {
    killed_ = true;
    child_->signal(SIGKILL);
  }
}

void Supervisor::look_for_stall() {
  touch(out_->bytes() + err_->bytes() + (reports_ ? reports_->bytes() : 0));
  // Others than rank 0 need not say anything.
  if (program_.stall_s == 0 || place_.rank != 0 || stalled_ || !why_stop_.empty()) return;
  if (Clock::now() - active_ < std::chrono::seconds(program_.stall_s)) return;
  stalled_ = true;
  asked_ = Clock::now();
}

void Supervisor::watch() {
  while (!child_->status()) {
    wait_for_something();
    out_->read();
    err_->read();
    take_reports();
    look_for_stall();
    look_for_stop();
  }
}

/// What it wrote before its end; those that it left behind may hold its pipes open for ever.
void Supervisor::last_output() {
  child_->sweep();
  const auto until = Clock::now() + kAfterEnd;
  while ((out_->open() || err_->open()) && Clock::now() < until) {
    const std::int64_t before = out_->bytes() + err_->bytes();
    out_->read();
    err_->read();
    if (before == out_->bytes() + err_->bytes()) wait_for_something();
  }
  out_->finish();
  err_->finish();
  if (!reports_) return;
  while (reports_->read([this](std::string_view line) { take_report(line); })) {
  }
  recorder_->flush(Clock::now(), true);
  if (!err_->trouble().empty() || !out_->trouble().empty())
    recorder_->warn("log", "a part of what it printed is lost: " +
                               (err_->trouble().empty() ? out_->trouble() : err_->trouble()));
}

/// What another rank left behind, whose death ended this one.
std::string Supervisor::others_failure() const {
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (name.rfind("failure.", 0) != 0 || it->path().extension() != ".json") continue;
    const auto content = nlohmann::json::parse(read_file(it->path()), nullptr, false);
    if (!content.is_object()) continue;
    const std::string why = content.value("reason", content.value("message", ""));
    return why.rfind("rank ", 0) == 0 ? why
                                      : fmt::format("rank {}: {}", content.value("rank", -1), why);
  }
  return "";
}

ExitCode Supervisor::fail(ExitCode code, const std::string& reason) {
  std::fprintf(stderr, "thalweg-train: rank %d on %s: %s\n", place_.rank, host_name().c_str(),
               reason.c_str());
  const Failure failure{code, reason, place_.rank, host_name()};
  if (code == ExitCode::failed) write_failure(folder_, place_.rank, failure);
  if (record_) record_->end(recorder_ ? recorder_->last_step() : 0, failure);
  return code;
}

ExitCode Supervisor::conclude() {
  const int status = *child_->status();
  const bool exited = WIFEXITED(status);
  const int code = exited ? WEXITSTATUS(status) : -1;
  const auto end = [&](const char* word, std::int64_t step, const std::string& reason) {
    if (record_) record_->end(word, step, reason);
  };
  const std::int64_t last = recorder_ ? recorder_->last_step() : 0;
  const std::int64_t checkpoint = recorder_ ? recorder_->checkpoint_step() : 0;
  if (fence_ && fence_->flag().requested()) {
    record_->last("fenced", why_stop_);
    return ExitCode::superseded;
  }
  const bool by_rule = !why_stop_.empty() && !from_outside_;
  if (by_rule && (!exited || code == 0 || code == static_cast<int>(ExitCode::stopped))) {
    end("finished", last, why_stop_);
    return ExitCode::finished;
  }
  if (code == 0 && !saw_stop_) {
    if (recorder_ && !recorder_->has_metric())
      recorder_->warn("metric", "it ended without having reported " + trial_.metric.name +
                                    ", by which trials are ranked");
    end("finished", last, "");
    return ExitCode::finished;
  }
  if (from_outside_ && !stalled_)
    if (const std::string why = others_failure(); !why.empty() && code != 0)
      return fail(ExitCode::failed, why);
  if (from_outside_ || saw_stop_ || code == static_cast<int>(ExitCode::stopped)) {
    end("stopped", checkpoint, why_stop_.empty() ? "it asked to go on later" : why_stop_);
    return ExitCode::stopped;
  }
  std::string reason = how_it_ended(status);
  if (stalled_) reason = fmt::format("stalled: nothing came from it for {} s", program_.stall_s);
  if (const std::string words = err_->last_words(); !words.empty()) reason += ": " + words;
  return fail(code == 2 ? ExitCode::bad_input : ExitCode::failed, reason);
}

int Supervisor::run() {
  try {
    prepare();
    try {
      start();
    } catch (const std::system_error& error) {
      return static_cast<int>(fail(ExitCode::bad_input, error.what()));
    }
    watch();
    last_output();
    return static_cast<int>(conclude());
  } catch (const Superseded& error) {
    std::fprintf(stderr, "thalweg-train: %s\n", error.what());
    return static_cast<int>(ExitCode::superseded);
  } catch (const std::exception& error) {
    child_.reset();
    const Failure failure{ExitCode::failed, error.what(), place_.rank, host_name()};
    std::fprintf(stderr, "thalweg-train: rank %d: %s\n", place_.rank, error.what());
    write_failure(folder_, place_.rank, failure);
    if (record_) record_->last("failed", error.what());
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace

int supervise(const jobspec::Trial& trial, const fs::path& folder, const StopFlag& stop) {
  return Supervisor(trial, folder, stop).run();
}

}  // namespace thalweg::engine
