// What a program's end means.
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/disk_room.h"
#include "base/file.h"
#include "base/machine.h"
#include "engine/attempt/supervise/supervisor.h"

namespace thalweg::engine {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

using namespace std::chrono_literals;

constexpr auto kAfterEnd = 2s;  // for what its pipes still hold, where others keep them open

}  // namespace

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
  reports_->finish([this](std::string_view line) { take_report(line); });
  for (std::int64_t before = -1; events_ && before != events_->bytes();) {
    before = events_->bytes();
    take_events();
  }
  with_room([this] { recorder_->flush(Clock::now(), true); });
  recorder_->tell_losses();
  if (!err_->trouble().empty() || !out_->trouble().empty())
    recorder_->warn("log", "a part of what it printed is lost: " +
                               (err_->trouble().empty() ? out_->trouble() : err_->trouble()));
}

/// What another rank left behind, whose death ended this one.
std::string Supervisor::others_failure() const {
  for (const fs::path& file : failure_files(folder_)) {
    const auto content = nlohmann::json::parse(read_file(file), nullptr, false);
    if (!content.is_object()) continue;
    const std::string why = content.value("reason", content.value("message", ""));
    return why.rfind("rank ", 0) == 0 ? why
                                      : fmt::format("rank {}: {}", content.value("rank", -1), why);
  }
  return "";
}

ExitCode Supervisor::fail(ExitCode code, const std::string& reason) {
  return fail(Failure{code, reason, place_.rank, host_name()});
}

ExitCode Supervisor::fail(const Failure& failure) {
  std::fprintf(stderr, "thalweg-attempt: rank %d on %s: %s\n", failure.rank, failure.node.c_str(),
               failure.reason.c_str());
  // Other ranks, which may have better input, are to know of any failure.
  const bool is_told = (failure.code != ExitCode::failed && place_.size == 1) ||
                       write_failure(folder_, place_.rank, failure);
  if (record_) with_room([&] { record_->end(recorder_ ? recorder_->last_step() : 0, failure); });
  if (!is_told) write_failure(folder_, place_.rank, failure);  // there may be room now
  return failure.code;
}

ExitCode Supervisor::conclude() {
  const int status = *child_->status();
  const bool exited = WIFEXITED(status);
  const int code = exited ? WEXITSTATUS(status) : -1;
  const auto end = [&](const char* word, std::int64_t step, const std::string& reason) {
    if (record_) with_room([&] { record_->end(word, step, reason); });
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
    end("stopped", checkpoint, why_stop_.empty() ? "it asked to continue later" : why_stop_);
    return ExitCode::stopped;
  }
  std::string reason = "the program " + how_it_ended(status);
  if (stalled_) reason = fmt::format("stalled: nothing came from it for {} s", program_.stall_s);
  // Whom a signal has ended has not said so himself.
  const bool certain = !exited || stalled_;
  std::string words = err_->reason(certain);
  if (words.empty()) words = out_->reason(true);
  if (!words.empty()) reason += ": " + words;
  Failure failure{code == 2 ? ExitCode::bad_input : ExitCode::failed, reason, place_.rank,
                  host_name()};
  if (exited)
    failure.program_exit = code;
  else
    failure.program_signal = WTERMSIG(status);
  return fail(failure);
}

}  // namespace thalweg::engine
