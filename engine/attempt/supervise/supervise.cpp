// One thread does everything but pushing and looking for the fence: it waits for output, reports
// and the end, a tenth of a second at most, so that nothing that the program does can hold it up.
#include "engine/attempt/supervise/supervise.h"

#include <fmt/format.h>
#include <poll.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "base/file.h"
#include "base/machine.h"
#include "base/text.h"
#include "engine/attempt/claim.h"
#include "engine/attempt/supervise/supervisor.h"

namespace thalweg::engine {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto kTick = 100ms;
constexpr std::size_t kShownLine = 100;
constexpr auto kFollow = 500ms;                  // between two looks at what rank 0 wrote
constexpr const char* kWillingName = "willing";  // in the attempt's folder: the program asks
constexpr auto kEvents = 1s;                     // between two looks into the folder of event files
// A backend's own patience is 30 s: the end must be written before.
constexpr auto kWilling = 18s;  // for a program that asks whether it should stop
constexpr auto kTermToKill = 7s;
// Slurm ends the other ranks where one fails, but not one that was only starting then (22.05).
constexpr auto kLookForFailures = 5s;
constexpr int kSureOfFailure = 3;       // looks
constexpr auto kFencedTermToKill = 2s;  // the fence itself waits five

}  // namespace

void Supervisor::take_line(int stream, std::string_view line) {
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    const auto found = patterns_[i].match(line);
    if (!found) continue;
    std::string what = fmt::format("{}", found->step.value_or(-1));
    for (const auto& [name, value] : found->values)
      what += fmt::format(" {}={}", name, value);
    for (const auto& [name, text] : found->no_numbers)
      what += fmt::format(" {}={}", name, text);
    if (twins_[i].is_second(stream, what)) continue;
    // A pattern for any name matches lines that are no metrics, too.
    for (const auto& [name, text] : found->no_numbers)
      if (!patterns_[i].metrics().empty() || name == trial_.metric.name)
        recorder_->lose("values", 1,
                        fmt::format("a line of output has no number for {} but '{}': {}", name,
                                    text, cut_utf8(without_escapes(line), kShownLine)));
    if (found->values.empty()) continue;
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
        for (const std::string& trouble : report.left_out)
          recorder_->lose("values", 1, "of a report: " + trouble);
        break;
      case Report::Kind::checkpoint:
        recorder_->checkpoint(report.text, report.step, report.seconds);
        break;
      case Report::Kind::note:
        record_->note("info", report.text);
        break;
      case Report::Kind::hello:
        willing_ = true;
        std::ofstream(folder_ / kWillingName).flush();
        break;
      case Report::Kind::stopping:
        saw_stop_ = true;
        break;
    }
  } catch (const std::invalid_argument& error) {
    recorder_->lose("reports", 1,
                    fmt::format("a report could not be read ({}): {}", error.what(),
                                cut_utf8(line, kShownLine)));
  } catch (const std::system_error& error) {
    recorder_->warn("disk", error.what());
  }
}

void Supervisor::take_events() {
  if (!events_) return;
  events_->read([this](const std::string& tag, std::int64_t step,
                       double value) { recorder_->metric(tag, step, value); },
                [this](const std::string& text) { recorder_->warn("events", text); });
}

void Supervisor::take_reports() {
  if (!reports_) return;
  reports_->read([this](std::string_view line) { take_report(line); });
  if (const auto now = Clock::now(); now - events_read_ >= kEvents) {
    events_read_ = now;
    take_events();
  }
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

/// What only rank 0's supervisor hears: that the sweep's `stop` is fulfilled, and that the program
/// asks by itself whether it should stop.
void Supervisor::follow_rank_0() {
  const auto now = Clock::now();
  if (now - followed_ < kFollow) return;
  followed_ = now;
  std::error_code error;
  willing_ = willing_ || fs::exists(folder_ / kWillingName, error);
  if (why_stop_.empty() && fs::exists(folder_ / "stop.0", error))
    ask_to_stop("rank 0 was asked to stop");
}

void Supervisor::look_for_stop() {
  const bool fenced = fence_ && fence_->flag().requested();
  if (fenced || stop_.requested()) {
    from_outside_ = true;
    ask_to_stop(fenced ? "the controller has given this attempt up" : "stopped on request");
  }
  if (place_.rank != 0) follow_rank_0();
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
  touch(out_->bytes() + err_->bytes() + (reports_ ? reports_->bytes() : 0) +
        (events_ ? events_->bytes() : 0));
  // Others than rank 0 need not say anything.
  if (program_.stall_s == 0 || place_.rank != 0 || stalled_ || !why_stop_.empty()) return;
  if (Clock::now() - active_ < std::chrono::seconds(program_.stall_s)) return;
  stalled_ = true;
  asked_ = Clock::now();
}

/// Where another rank has failed and nobody ends this one, it would wait for that rank for ever.
void Supervisor::look_for_failed_rank() {
  if (place_.size < 2 || !why_stop_.empty() || stalled_) return;
  const auto now = Clock::now();
  if (now - looked_for_failures_ < kLookForFailures) return;
  looked_for_failures_ = now;
  failure_seen_ = others_failure().empty() ? 0 : failure_seen_ + 1;
  if (failure_seen_ < kSureOfFailure) return;
  from_outside_ = true;
  ask_to_stop("another rank has failed");
}

void Supervisor::watch() {
  while (!child_->status()) {
    wait_for_something();
    out_->read();
    err_->read();
    take_reports();
    look_for_stall();
    look_for_failed_rank();
    look_for_stop();
  }
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
    std::fprintf(stderr, "thalweg-attempt: %s\n", error.what());
    return static_cast<int>(ExitCode::superseded);
  } catch (const std::exception& error) {
    child_.reset();
    const Failure failure{ExitCode::failed, error.what(), place_.rank, host_name()};
    std::fprintf(stderr, "thalweg-attempt: rank %d: %s\n", place_.rank, error.what());
    write_failure(folder_, place_.rank, failure);
    if (record_) record_->last("failed", error.what());
    return static_cast<int>(ExitCode::failed);
  }
}

int supervise(const jobspec::Trial& trial, const fs::path& folder, const StopFlag& stop) {
  return Supervisor(trial, folder, stop).run();
}

}  // namespace thalweg::engine
