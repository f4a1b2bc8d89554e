// What an error number of Slurm means for a request, and what a person should read.
#pragma once

#include <cstddef>
#include <string>

namespace thalweg::slurm_agent {

enum class Outcome {
  refused,      ///< will never work as asked
  retry_later,  ///< nothing was done; may work later
  unknown,      ///< it may or may not have been done
  missing,      ///< there is no such job (any more)
  finished      ///< the job has ended already
};

const char* name(Outcome outcome);

struct ErrorRow {
  int code;
  Outcome outcome;
  const char* sentence;  ///< without a full stop
};

/// The table itself, for tests and for the documentation. Codes are unique.
const ErrorRow* error_table(std::size_t& rows);

/// " (Slurm error 2000)"
std::string error_number(int code);

struct Failure {
  int code = 0;
  Outcome outcome = Outcome::unknown;
  std::string message;  ///< "sentence (Slurm error 2000)"
};

/// Codes that are not in the table go by their group: an answer of the controller is a refusal, a
/// failure to talk to it leaves the outcome unknown.
Failure explain(int code);

}  // namespace thalweg::slurm_agent
