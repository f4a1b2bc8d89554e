// Cells of a query's answer.
#pragma once

#include "jobspec/value.h"

namespace thalweg::db::analysis {

/// 0 where it is no number.
inline double number_of(const jobspec::Value& value) {
  return value.is_number() ? value.as_double() : 0;
}

}  // namespace thalweg::db::analysis
