// The kinds of events: the log that everything else can be rebuilt from.
// A kind never changes its meaning; a new meaning is a new kind. Kinds that a program does not know
// are passed over.
#pragma once

#include <string_view>
#include <vector>

namespace thalweg::daemon {

namespace kind {
inline constexpr std::string_view submitted = "submitted";
inline constexpr std::string_view launching = "launching";
inline constexpr std::string_view recorded = "recorded";
inline constexpr std::string_view released = "released";
inline constexpr std::string_view running = "running";
inline constexpr std::string_view fenced = "fenced";
inline constexpr std::string_view ended = "ended";
inline constexpr std::string_view trial_ended = "trial_ended";
inline constexpr std::string_view stopped = "stopped";
inline constexpr std::string_view sweep_ended = "sweep_ended";
inline constexpr std::string_view cancel_requested = "cancel_requested";
inline constexpr std::string_view retry_requested = "retry_requested";
inline constexpr std::string_view note = "note";
}  // namespace kind

struct EventKind {
  std::string_view name;
  std::string_view about;  ///< "sweep", "trial", "attempt": what the event's id names
  std::string_view meaning;
  std::string_view fields;  ///< of its data
};

/// Every kind there is, in the order of an attempt's life.
const std::vector<EventKind>& event_kinds();

}  // namespace thalweg::daemon
