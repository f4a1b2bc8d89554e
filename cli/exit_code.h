// What a shell script can rely on; printed by --help and listed in the man page.
#pragma once

#include <array>
#include <stdexcept>
#include <string>

namespace thalweg::cli {

enum ExitCode : int {
  exit_ok = 0,
  exit_failed = 1,
  exit_bad_input = 2,
  exit_unreachable = 3,
  exit_not_found = 4,
  exit_interrupted = 130,
};

struct ExitMeaning {
  ExitCode code;
  const char* meaning;
};

inline constexpr std::array<ExitMeaning, 6> exit_meanings{{
    {exit_ok, "all went well"},
    {exit_failed, "something failed: a trial, an attempt, or the command itself"},
    {exit_bad_input, "bad input: a mistake in a sweep file, an id, an option or a query"},
    {exit_unreachable, "no controller answers (for daemon status: none runs)"},
    {exit_not_found, "no such sweep, trial, attempt, metric or log"},
    {exit_interrupted, "interrupted by Ctrl-C; a watched sweep continues"},
}};

/// Ends the command with `code` and one line on standard error; `hint` says what to do about it.
class CommandError : public std::runtime_error {
 public:
  CommandError(ExitCode code, const std::string& message, std::string hint = {})
      : std::runtime_error(message), code_(code), hint_(std::move(hint)) {}
  ExitCode code() const { return code_; }
  const std::string& hint() const { return hint_; }

 private:
  ExitCode code_;
  std::string hint_;
};

}  // namespace thalweg::cli
