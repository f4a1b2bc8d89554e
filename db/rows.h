// Small conversions between rows and the plain structs of store.h.
#pragma once

#include <optional>
#include <string>

#include "db/store.h"

namespace thalweg::db {

/// Times: 0 in the structs is NULL in the tables.
inline std::optional<double> maybe_time(double seconds) {
  if (seconds == 0) return std::nullopt;
  return seconds;
}

/// For messages.
inline std::string trial_name(const Id& id) {
  return "trial " + std::to_string(id.sweep) + "." + std::to_string(id.trial);
}
inline std::string attempt_name(const Id& id) {
  return "attempt " + std::to_string(id.sweep) + "." + std::to_string(id.trial) + "." +
         std::to_string(id.attempt);
}

}  // namespace thalweg::db
