// The states of sweeps, trials and attempts as the record has them.
#pragma once

#include <cstdint>

#include "jobspec/enum_names.h"

namespace thalweg::db {

using jobspec::find_name;
using jobspec::from_name;
using jobspec::name_of;

enum class SweepPhase : std::uint8_t { active, finished, failed, cancelled };
enum class TrialPhase : std::uint8_t { pending, running, finished, failed, cancelled };
/// `queued`: the backend has it, and it does not run yet. From `finished` on it has ended.
enum class AttemptState : std::uint8_t {
  launching,
  queued,
  running,
  finished,
  failed,
  stopped,
  cancelled,
  lost
};

inline bool is_over(TrialPhase phase) {
  return phase >= TrialPhase::finished;
}

}  // namespace thalweg::db

namespace thalweg::jobspec {

template <>
struct EnumNames<db::SweepPhase> {
  static constexpr std::string_view what = "state of a sweep";
  static constexpr std::array<std::string_view, 4> names = {"active", "finished", "failed",
                                                            "cancelled"};
};

template <>
struct EnumNames<db::TrialPhase> {
  static constexpr std::string_view what = "state of a trial";
  static constexpr std::array<std::string_view, 5> names = {"pending", "running", "finished",
                                                            "failed", "cancelled"};
};

template <>
struct EnumNames<db::AttemptState> {
  static constexpr std::string_view what = "state of an attempt";
  static constexpr std::array<std::string_view, 8> names = {
      "launching", "queued", "running", "finished", "failed", "stopped", "cancelled", "lost"};
};

}  // namespace thalweg::jobspec
