// How an attempt ended: the engine's own end record first, the backend's word second. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/state/state.h"

namespace thalweg::daemon {

/// The journal's last line.
struct EndRecord {
  std::string status;  ///< finished, stopped, fenced, failed
  std::int64_t step = 0;
  std::string reason;
  std::optional<int> rank;
  std::string node;
  std::optional<int> exit_code{};  ///< of a program of the user's own; 128 + signal, as shells say
};

/// A failure.<who>.json.
struct FailureFile {
  double time = 0;
  int rank = -1;  ///< the rank that failed, not the reporter; -1 = unknown
  std::string node, reason, reporter;
};

/// What the backend says, as far as it matters here; nothing where it knows nothing (any more).
struct BackendWord {
  std::string reason;
  std::optional<int> exit_code;
  int signal = 0;
  bool cancelled = false, timed_out = false, node_failed = false;
  bool as_asked = false;  ///< it was cancelled because we asked for that
  bool started = true;    ///< it knows that the job ran
  bool warned = false;    ///< the job ran until it was told that its time limit is near
  double ended = 0;       ///< Unix seconds; 0 = it does not know
};

struct Evidence {
  std::optional<EndRecord> record;
  std::vector<FailureFile> failures;
  std::optional<BackendWord> backend;
  std::string stop_reason;           ///< why we asked it to end; empty = we did not
  std::int64_t checkpoint_step = 0;  ///< of the last checkpoint line in the journal
  std::string stderr_tail;           ///< last line of stderr (controller/folder.h: StderrWords)
  bool began = false;                ///< it has run, as we have seen
  std::string fenced{};              ///< why it was told to end itself; empty = it was not
  bool engine = true;                ///< the engine (or its launcher) left a trace: output, a line
  std::string stderr_node{};         ///< of which stderr says that a process failed
  bool requeued = false;             ///< the backend took the job back after it had run
  std::optional<int> killed_rank{};  ///< the first that stderr says a signal ended
  std::string killed_node{};         ///< its node
};

struct Verdict {
  EndCause cause = EndCause::lost;
  std::string reason;
  std::int64_t step = 0;  ///< the furthest that can be resumed from
  std::optional<int> exit_code;
  std::optional<int> failed_rank;
  std::string failed_node;
};

constexpr int exit_bad_input = 2;  ///< of thalweg-train
constexpr int exit_stopped = 75;
constexpr int exit_superseded = 76;
constexpr int exit_by_signal = 128;

Verdict judge(const Evidence& evidence);

/// The launcher's word before a rank's; among ranks the earliest; where the rank that it names says
/// itself that another one is at fault, that word. nullptr where there is none.
const FailureFile* first_failure(const std::vector<FailureFile>& failures);

}  // namespace thalweg::daemon
