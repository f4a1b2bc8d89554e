// The tables of decays and warm-ups. A new one: its .cpp with `DecayEntry name()`, and one row in
// table.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/schedule/schedule.h"

namespace thalweg::engine {

/// Option values of the `schedule` tree with the row's defaults; throws std::invalid_argument.
class ScheduleOptions {
 public:
  ScheduleOptions(const jobspec::Value& tree, const std::vector<jobspec::Option>& options,
                  const RunLength& length);
  double real(const std::string& name) const;
  bool given(const std::string& name) const;
  /// A length in steps from `<stem>_steps`, or `<stem>_epochs` times the steps of an epoch;
  /// `fallback` where neither is set. Both set is an error.
  double steps(const std::string& stem, double fallback) const;
  const RunLength& length() const { return length_; }

 private:
  const jobspec::Value* find(const std::string& name) const;
  jobspec::Value tree_;
  const std::vector<jobspec::Option>* options_;
  RunLength length_;
};

/// How the rate falls after the warm-up: `multiplier(t)`, t counted from the warm-up's end.
struct DecayEntry {
  std::string name;
  std::string doc;
  std::vector<jobspec::Option> options;
  /// `span`: steps from the warm-up's end to the end of training.
  std::unique_ptr<Schedule> (*make)(const ScheduleOptions&, double span) = nullptr;
};

/// How the rate gets to its base value: `multiplier(t)` for t < steps.
struct WarmupEntry {
  std::string name;
  std::string doc;
  std::vector<jobspec::Option> options;
  std::int64_t (*steps)(const ScheduleOptions&) = nullptr;
  std::unique_ptr<Schedule> (*make)(const ScheduleOptions&) = nullptr;
};

const std::vector<DecayEntry>& decay_table();
const std::vector<WarmupEntry>& warmup_table();

/// A schedule that is a plain function.
template <class F>
class FunctionSchedule final : public Schedule {
 public:
  explicit FunctionSchedule(F f) : f_(std::move(f)) {}
  double multiplier(std::int64_t step) const override { return f_(static_cast<double>(step)); }

 private:
  F f_;
};
template <class F>
std::unique_ptr<Schedule> schedule_of(F f) {
  return std::make_unique<FunctionSchedule<F>>(std::move(f));
}

jobspec::Option number_option(const char* name, jobspec::Value fallback, double min, double max,
                              const char* doc);
/// `<stem>_steps` and `<stem>_epochs`, without default.
std::vector<jobspec::Option> span_options(const char* stem, const char* doc);
/// `final`: the multiplier at the end.
jobspec::Option final_option();

}  // namespace thalweg::engine
