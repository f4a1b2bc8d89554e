// Messages about bad input: one mistake, one message, with its place and its cure.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "jobspec/place.h"

namespace thalweg::jobspec {

/// Printed as  file:line: key: message (hint).
struct Diagnostic {
  std::string file;
  Place place;
  std::string key;      ///< dotted path; empty for the whole file
  std::string message;  ///< what was found and what was expected
  std::string hint;     ///< the nearest valid name or the remedy; may be empty

  std::string to_string() const;
};

/// Carries every mistake found in one reading, in file order. what() joins them by newlines.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::vector<Diagnostic> diagnostics);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace thalweg::jobspec
