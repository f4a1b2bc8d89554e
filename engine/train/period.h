// When validation, checkpoints and the like are due.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/schedule/schedule.h"
#include "jobspec/options.h"
#include "jobspec/schema.h"

namespace thalweg::engine {

/// A checkpoint's name has digits for so many steps.
inline constexpr std::int64_t kMaxSteps = 999'999'999'999;

/// A distance between two events as a file says it: {every_epochs: 0.5}.
struct Every {
  enum class Unit { steps, epochs, samples, seconds } unit = Unit::steps;
  double count = 0;  ///< 0 = never
  std::string key{"every"};
  bool automatic = false;  ///< seconds: auto
};

/// `every_steps`, `every_epochs`, `every_samples` and `every_seconds`, without default. `what` is
/// what there is between: "validations".
std::vector<jobspec::Option> every_options(const std::string& what);
/// The one that is set; else `fallback`. Throws std::invalid_argument where two are. `section` is
/// for messages.
Every read_every(const jobspec::Options& options, const std::string& section,
                 const Every& fallback);

/// The same once the length of an epoch is known; exactly one of them is above 0, or neither:
/// never.
struct Period {
  double steps = 0;  ///< need not be whole: an event is due at the first step after each multiple
  double seconds = 0;
  bool automatic = false;  ///< `seconds` is only the first
  /// Where it is one of epochs or samples and a step's samples change: how many steps of one size
  /// make as many. Null: steps are counted as they are.
  std::function<double(std::int64_t step)> in_steps{};
  bool of_steps = false;  ///< asked for in steps

  bool never() const { return steps == 0 && seconds == 0; }
  bool due(std::int64_t step) const;  ///< always false where seconds count
};

/// Throws std::invalid_argument where there are more steps than can be counted.
Period period_of(const Every& every, const std::string& section, const RunLength& length);

/// An event that comes by the step or by rank 0's clock. All ranks agree, and a period in steps
/// costs no message. Not thread-safe.
class Due {
 public:
  /// `seconds_now`: a clock that only goes forward; rank 0's counts.
  Due(const Period& period, std::int64_t first_step, std::function<double()> seconds_now);

  /// Whether the event may be due after `step` steps: decide() is to be asked.
  bool possible(std::int64_t step) const {
    return period_.seconds > 0 ? step >= next_look_ : period_.due(step);
  }
  /// From now on so many seconds apart. Rank 0's count.
  void set_seconds(double seconds) { period_.seconds = seconds; }
  /// Whether it is. Collective where seconds count.
  bool decide(std::int64_t step, comm::Group& group);

 private:
  Period period_;
  std::function<double()> now_;
  double last_ = 0, looked_at_ = 0;  ///< seconds
  std::int64_t looked_step_, next_look_;
};

}  // namespace thalweg::engine
