// What the rows of the tables read from the `schedule` tree, and the options that they share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/schedule/schedule.h"
#include "jobspec/option.h"
#include "jobspec/options.h"

namespace thalweg::engine {

/// What a row may know of the run and of the parts before it.
struct ScheduleContext {
  RunLength length;
  double scale = 1;               ///< batch scaling's factor; for warm-up and decay
  std::int64_t warmup_steps = 0;  ///< for the decay
  /// Steps from the warm-up's end to the end of training.
  double span() const { return static_cast<double>(length.total_steps - warmup_steps); }
};

/// Options of a row, and lengths of time. All throw std::invalid_argument.
class ScheduleOptions : public jobspec::Options {
 public:
  ScheduleOptions(const jobspec::Value& tree, const std::vector<jobspec::Option>& options,
                  const ScheduleContext& context);
  /// A length in steps from `<stem>_steps`, `<stem>_epochs` or `<stem>_samples`; `fallback` where
  /// none is set. More than one is an error.
  double steps(const std::string& stem, double fallback) const;
  /// The same of a list; `key` gets the name that was given. None set is an error.
  std::vector<double> step_list(const std::string& stem, std::string* key) const;

  const ScheduleContext& context() const { return context_; }
  double epoch() const { return static_cast<double>(context_.length.steps_per_epoch); }

 private:
  /// How lengths become steps.
  struct Unit {
    double epoch = 1, batch = 1;
    /// What is a whole number of steps but for rounding is that number: 1.1 epochs of 100 steps are
    /// 110, not 110.00000000000001, which would be the next step.
    double steps(double length) const;
  };
  /// Which of the three keys is set, and its unit; empty where none is.
  std::string span_key(const std::string& stem, Unit* unit) const;

  ScheduleContext context_;
};

using jobspec::choice_option;
using jobspec::flag_option;
using jobspec::float_option;
using jobspec::int_option;
using jobspec::list_option;
using jobspec::required;
using jobspec::string_option;

/// `<stem>_steps`, `<stem>_epochs` and `<stem>_samples`, without default.
std::vector<jobspec::Option> span_options(const char* stem, const char* doc);
/// The same, each a list.
std::vector<jobspec::Option> span_list_options(const char* stem, const char* doc);
/// `final`: the multiplier at the end.
jobspec::Option final_option();

}  // namespace thalweg::engine
