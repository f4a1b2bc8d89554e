// The tables of decays, warm-ups and batch scalings. A new one: its .cpp with `DecayEntry name()`
// (`WarmupEntry`, `ScalingEntry`), and one row in table.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/schedule/options.h"
#include "engine/schedule/schedule.h"
#include "jobspec/table.h"

namespace thalweg::engine {

/// What a decay counts its time from.
enum class Clock { warmup_end, start_of_run };

/// How the rate changes in the long run: `at(t)`, t by the row's clock.
struct DecayEntry {
  std::string name;
  std::string doc;
  std::vector<jobspec::Option> options;
  std::unique_ptr<Schedule> (*make)(const ScheduleOptions&) = nullptr;
  Clock clock = Clock::warmup_end;
  std::string run_length{};  ///< see jobspec::Variant
};

/// How the rate gets to its full value: the decay is multiplied by `at(t)` for t < steps.
struct WarmupEntry {
  std::string name;
  std::string doc;
  std::vector<jobspec::Option> options;
  std::int64_t (*steps)(const ScheduleOptions&) = nullptr;
  std::unique_ptr<Schedule> (*make)(const ScheduleOptions&) = nullptr;
};

/// What another batch than the one for which the base rate was found does to it.
struct ScalingEntry {
  std::string name;
  std::string doc;
  std::vector<jobspec::Option> options;
  double (*factor)(const ScheduleOptions&) = nullptr;
};

const jobspec::Table<DecayEntry>& decay_table();
const jobspec::Table<WarmupEntry>& warmup_table();
const jobspec::Table<ScalingEntry>& scaling_table();

/// A schedule that is a plain function of the time in steps: a multiplier or a ScheduleValue.
template <class F>
class FunctionSchedule final : public Schedule {
 public:
  explicit FunctionSchedule(F f) : f_(std::move(f)) {}
  ScheduleValue at(std::int64_t step) const override {
    const auto t = static_cast<double>(step);
    if constexpr (std::is_same_v<std::invoke_result_t<F, double>, ScheduleValue>)
      return f_(t);
    else
      return {f_(t), {}};
  }

 private:
  F f_;
};
template <class F>
std::unique_ptr<Schedule> schedule_of(F f) {
  return std::make_unique<FunctionSchedule<F>>(std::move(f));
}

/// Parts that several warm-ups share: their length, `warmup_from` and `warmup_offset`.
std::vector<jobspec::Option> rising_options();
std::int64_t warmup_length(const ScheduleOptions&);
/// `warmup_from`; auto = the unscaled rate where batch scaling raises it, otherwise 0.
double warmup_from(const ScheduleOptions&);

/// Batch over `scaling_batch`.
double batch_ratio(const ScheduleOptions&);
jobspec::Option scaling_batch_option();

}  // namespace thalweg::engine
