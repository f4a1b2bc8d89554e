// What an error number of Slurm means for a request, and what a person should read.
#pragma once

#include <cstddef>
#include <string>

#include "daemon/slurm_agent/messages.h"

namespace thalweg::slurm_agent {

struct ErrorRow {
  int code;
  Outcome outcome;
  const char* sentence;  ///< without a full stop
};

/// The table itself, for tests and for the documentation. Codes are unique.
const ErrorRow* error_table(std::size_t& rows);

/// " (Slurm error 2000)"
std::string error_number(int code);

/// Codes that are not in the table go by their group: an answer of the controller is a refusal, a
/// failure to talk to it leaves the outcome unknown.
Failure explain(int code);

}  // namespace thalweg::slurm_agent
