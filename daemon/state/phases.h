// Where sweeps, trials and attempts are, and why an attempt ended.
#pragma once

#include <cstdint>

#include "db/states.h"

namespace thalweg::daemon {

using db::is_over;
using db::SweepPhase;
using db::TrialPhase;
using jobspec::find_name;
using jobspec::from_name;
using jobspec::name_of;

/// Of an attempt that has not ended; each is a committed event of the same name.
enum class AttemptPhase : std::uint8_t { launching, recorded, released, running };

/// Why an attempt ended. `failed` to `diverged` are failures; only `failed` is tried
/// again.
enum class EndCause : std::uint8_t {
  none,
  finished,
  stopped,
  cancelled,
  lost,
  failed,
  bad_input,
  refused,
  diverged,
  paused  ///< at a rung: it is no failure
};

/// The attempt's state in the database. Not for `none`.
db::AttemptState state_of(EndCause cause);
/// Of an attempt that has not ended.
db::AttemptState state_of(AttemptPhase phase);

}  // namespace thalweg::daemon

namespace thalweg::jobspec {

template <>
struct EnumNames<daemon::EndCause> {
  static constexpr std::string_view what = "cause of an end";
  static constexpr std::array<std::string_view, 10> names = {
      "none",   "finished",  "stopped", "cancelled", "lost",
      "failed", "bad_input", "refused", "diverged",  "paused"};
};

}  // namespace thalweg::jobspec
