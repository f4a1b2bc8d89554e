// The state of one supervised program; supervise.cpp watches over it, supervise_start.cpp starts
// it, supervise_end.cpp says how it ended.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/attempt/failure.h"
#include "engine/attempt/fence.h"
#include "engine/attempt/record.h"
#include "engine/attempt/supervise/child.h"
#include "engine/attempt/supervise/event_files.h"
#include "engine/attempt/supervise/output.h"
#include "engine/attempt/supervise/placement.h"
#include "engine/attempt/supervise/recorder.h"
#include "engine/attempt/supervise/reports.h"
#include "engine/attempt/supervise/twins.h"
#include "jobspec/metric_pattern.h"
#include "jobspec/trial.h"

namespace thalweg::engine {

class Supervisor {
 public:
  Supervisor(const jobspec::Trial& trial, std::filesystem::path folder, const StopFlag& stop)
      : trial_(trial),
        program_(*trial.program),
        folder_(std::move(folder)),
        stop_(stop),
        place_(placement_of(trial)),
        given_up_(std::make_shared<StopFlag>()) {}

  int run();

 private:
  void prepare();
  jobspec::CommandValues command_values() const;
  std::vector<std::string> command() const;
  jobspec::Map start_fields() const;
  void start();
  void watch();
  void wait_for_something();
  void take_reports();
  void take_events();
  void take_report(std::string_view line);
  /// `stream`: 0 = stdout, 1 = stderr.
  void take_line(int stream, std::string_view line);
  void follow_rank_0();
  void look_for_stop();
  void ask_to_stop(const std::string& why);
  void look_for_stall();
  void look_for_failed_rank();
  void last_output();
  ExitCode conclude();
  ExitCode fail(ExitCode code, const std::string& reason);
  ExitCode fail(const Failure& failure);
  std::string others_failure() const;
  void touch(std::int64_t bytes);

  const jobspec::Trial& trial_;
  const jobspec::Program& program_;
  std::filesystem::path folder_;
  const StopFlag& stop_;
  Placement place_;
  std::shared_ptr<StopFlag> given_up_;
  SupervisedFiles files_;
  std::vector<jobspec::MetricPattern> patterns_;
  std::vector<std::int64_t> matches_;  ///< of each pattern
  std::vector<Twins> twins_;           ///< of each pattern
  std::unique_ptr<Record> record_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Fence> fence_;
  std::unique_ptr<GrowingLines> reports_;
  std::unique_ptr<EventFiles> events_;  ///< of TensorBoard
  std::unique_ptr<Child> child_;
  std::atomic<pid_t> child_group_{0};  ///< for the fence's thread
  std::unique_ptr<Output> out_, err_;
  bool started_ = false;       ///< the start record is written
  bool willing_ = false;       ///< it asks whether it should stop
  bool saw_stop_ = false;      ///< it has been told so
  bool from_outside_ = false;  ///< the wish to stop is not the stop rule's
  std::string why_stop_;       ///< it was asked to stop; empty: it was not
  std::chrono::steady_clock::time_point asked_{}, active_{}, events_read_{}, followed_{},
      looked_for_failures_{};
  int failure_seen_ = 0;    ///< looks in a row at which another rank had failed
  std::int64_t bytes_ = 0;  ///< of everything that came, at the last look
  bool terminated_ = false, killed_ = false, stalled_ = false;
};

}  // namespace thalweg::engine
