#include "daemon/state/verdict.h"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <set>

namespace thalweg::daemon {

namespace {

bool contains_word(std::string text, std::string_view word) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text.find(word) != std::string::npos;
}

/// Told to stop by something that is no fault of the trial: it goes on in a new attempt.
bool interrupted(const BackendWord& word) {
  return word.timed_out || contains_word(word.reason, "preempt");
}

/// slurmctld that is killed comes back with what it knew seconds ago. The end of a job that it
/// takes for a waiting one it then calls a cancellation; nobody cancelled anything.
bool forgotten(const Evidence& e) {
  return e.backend && e.backend->cancelled && !e.backend->started && e.began;
}

/// srun's last words where the site lacks the PMIx plug-in that slurm.mpi names: it will lack it in
/// the next attempt, too.
bool no_such_mpi(const Evidence& e) {
  return !e.record && e.stderr_tail.find("Invalid MPI type") != std::string::npos;
}

/// slurmstepd's words where a node lacks the engine, or what runs own programs: that node's fault,
/// others may have it.
constexpr std::string_view no_engine_words = "execve(): ";
bool no_engine(const Evidence& e) {
  return !e.record && e.failures.empty() && e.backend && e.backend->exit_code &&
         e.stderr_tail.find(no_engine_words) != std::string::npos;
}

/// A job that got its nodes but never came to its engine was not ended by a person, as far as
/// anybody can tell: Slurm calls it a cancellation, too, where a prolog fails, or where a node
/// still has a job of that number, which slurmctld forgot and gave out again.
bool cut_short(const Evidence& e) {
  return e.backend && e.backend->cancelled && e.backend->started && !interrupted(*e.backend) &&
         !e.engine && !e.record && e.failures.empty();
}

/// A rank had failed some time before: nobody cancelled that, but slurmctld, back from where it
/// was, calls so what is left of a job that its nodes have ended meanwhile. A cancelled job's ranks
/// fail after its end.
bool failed_before(const Evidence& e) {
  constexpr double clocks_differ_s = 5;
  return e.backend && e.backend->cancelled &&
         std::any_of(e.failures.begin(), e.failures.end(), [&](const FailureFile& f) {
           return f.time > 0 && f.time < e.backend->ended - clocks_differ_s;
         });
}

/// It was given up, or it was a second start, and it has ended: another attempt goes on.
bool superseded(const Evidence& e) {
  if (e.record) return e.record->status == "fenced";
  return !e.fenced.empty() || (e.backend && e.backend->exit_code == exit_superseded);
}

/// A requeued job (a node was lost, or somebody wanted it) or one that was given up has its ranks
/// ended from outside: what the signal made of a program, or the loss of one rank of the others, is
/// no failure of the trial's.
bool ended_from_outside(const Evidence& e) {
  if (!e.record || e.record->status != "failed") return false;
  const bool again = e.backend && e.backend->exit_code == exit_superseded;
  if (!again && !e.requeued && e.fenced.empty()) return false;
  if (const auto code = e.record->exit_code)
    return *code == exit_by_signal + SIGTERM || *code == exit_by_signal + SIGKILL;
  const auto itself = [&](const FailureFile& f) {
    return f.rank == *e.record->rank && f.reporter == "rank" + std::to_string(f.rank);
  };
  return e.record->rank && std::none_of(e.failures.begin(), e.failures.end(), itself);
}

/// Its nodes went to another job, of which it was told before; what its ranks made of their end is
/// not the trial's fault.
bool preempted(const Evidence& e) {
  return e.backend && e.backend->node_failed && interrupted(*e.backend);
}

/// The filesystem of the attempt folders: no fault of the trial's, which goes on once there is
/// room. One of a node's own, as its /tmp, is that node's fault.
bool disk_was_full(const Evidence& e) {
  const auto tells = [](const std::string& text) {
    const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
    return (has("/journal.jsonl") || has("/checkpoints/")) &&
           (has("No space left on device") || has("Disk quota exceeded"));
  };
  if (e.record && e.record->status == "failed" && tells(e.record->reason)) return true;
  return std::any_of(e.failures.begin(), e.failures.end(),
                     [&](const FailureFile& f) { return tells(f.reason); });
}

/// Its first rank to end was asked to stop before it could take the signal: from its first line on
/// it answers with a checkpoint and exit_stopped. (srun's 143 may be that of any rank, which srun
/// ended for the sake of another.)
bool stopped_at_start(const Evidence& e) {
  return !e.record && e.backend && e.backend->signal == SIGTERM;
}

EndCause failure_cause(const Evidence& e) {
  if (no_engine(e)) return EndCause::failed;
  if (e.backend && e.backend->exit_code == exit_bad_input) return EndCause::bad_input;
  if (no_such_mpi(e)) return EndCause::bad_input;
  if (e.record && e.record->reason.rfind("diverged", 0) == 0) return EndCause::diverged;
  if (disk_was_full(e)) return EndCause::lost;
  return EndCause::failed;
}

EndCause cause_of(const Evidence& e) {
  if (e.record && e.record->status == "finished") return EndCause::finished;
  // Somebody ended the job outside Thalweg: that wish is respected, not retried.
  const bool cancelled_outside = e.backend && e.backend->cancelled && !forgotten(e) &&
                                 !cut_short(e) && !failed_before(e) && e.fenced.empty() &&
                                 !superseded(e) && !interrupted(*e.backend) &&
                                 !(e.record && e.record->status == "failed");
  if (!e.stop_reason.empty() || cancelled_outside) return EndCause::cancelled;
  if (preempted(e) && !superseded(e) && !(e.record && e.record->status == "failed"))
    return EndCause::stopped;
  // The machine's fault, not the trial's, whatever the other ranks made of it.
  if (ended_from_outside(e) || superseded(e) || forgotten(e) || cut_short(e) ||
      (e.backend && e.backend->node_failed))
    return EndCause::lost;
  if (e.record && e.record->status == "stopped" && e.record->reason.starts_with("paused"))
    return EndCause::paused;
  if (e.record) return e.record->status == "stopped" ? EndCause::stopped : failure_cause(e);
  // Why it was to end does not hold any more: the trial was wanted again meanwhile.
  if (e.backend && e.backend->as_asked) return EndCause::stopped;
  if (!e.backend) return e.failures.empty() ? EndCause::lost : EndCause::failed;
  if (e.backend->exit_code == exit_stopped || interrupted(*e.backend) || stopped_at_start(e))
    return EndCause::stopped;
  return failure_cause(e);
}

std::string by_exit(const BackendWord& word) {
  if (word.signal != 0) return "killed by signal " + std::to_string(word.signal);
  if (word.exit_code == 0) return "exit code 0, but the journal has no end record";
  if (word.exit_code) return "exit code " + std::to_string(*word.exit_code);
  return "ended without an exit code";
}

std::string join(std::string text, const std::string& more) {
  if (more.empty() || text == more) return text;
  return text.empty() ? more : text + ": " + more;
}

/// Where a rank tells how a program of the user's own ended, the code that the rank then exits with
/// is no news beside the program's.
std::string without_own_code(const std::string& seen, const std::string& said) {
  const std::size_t at = seen.rfind(" exited with code ");
  return said.rfind("the program ", 0) == 0 && at != seen.npos ? seen.substr(0, at) : seen;
}

/// Who failed how; what the launcher saw from outside is completed by what that rank said itself.
std::string words_of(const FailureFile& failure, const std::vector<FailureFile>& all) {
  std::string text = failure.reason;
  if (failure.rank >= 0 && text.rfind("rank ", 0) != 0) {
    const std::string node = failure.node.empty() ? "" : " on " + failure.node;
    text = join("rank " + std::to_string(failure.rank) + node, text);
  }
  const std::string itself = "rank" + std::to_string(failure.rank);
  for (const auto& other : all)
    if (&other != &failure && other.reporter == itself && other.rank == failure.rank)
      return join(without_own_code(text, other.reason), other.reason);
  return text;
}

/// Of an attempt that has failed for itself.
std::string failure_words(EndCause cause, const Evidence& e) {
  if (no_engine(e)) {
    const std::string words = e.stderr_tail.substr(e.stderr_tail.find(no_engine_words));
    const bool attempt = words.find("thalweg-attempt") != std::string::npos;
    const std::string part = attempt ? "attempt" : "engine";
    return (attempt ? "thalweg-attempt" : "the engine") + std::string(" cannot be started on ") +
           (e.stderr_node.empty() ? "a node" : e.stderr_node) + ": " + words +
           " (install thalweg-" + part + " there, or have slurm." + part +
           "_program in config.yaml name it as compute nodes see it)";
  }
  const FailureFile* failure = first_failure(e.failures);
  if (cause == EndCause::failed && failure != nullptr) return words_of(*failure, e.failures);
  if (e.record && !e.record->reason.empty()) return e.record->reason;
  if (cause == EndCause::bad_input && !e.stderr_tail.empty())
    return e.stderr_tail + (no_such_mpi(e) ? " (slurm.mpi)" : "");
  if (failure != nullptr) return words_of(*failure, e.failures);
  if (!e.backend) return "ended without a word";
  const std::string how = by_exit(*e.backend);
  const bool said = e.stderr_tail.find(how) != std::string::npos;
  return join(join(said ? "" : how, e.backend->reason), e.stderr_tail);
}

std::string reason_of(EndCause cause, const Evidence& e) {
  switch (cause) {
    case EndCause::finished:
      return "";
    case EndCause::paused:
      return e.record->reason;
    case EndCause::cancelled:
      return e.stop_reason.empty() ? join("cancelled outside Thalweg", e.backend->reason)
                                   : e.stop_reason;
    case EndCause::lost:
      if (ended_from_outside(e))
        return join(e.fenced.empty() || e.requeued ? "its job was requeued" : e.fenced,
                    e.record->reason);
      if (!e.fenced.empty())
        return join(e.fenced, e.record ? "told to, it ended itself" : "it has gone silent");
      if (superseded(e) && e.record)
        return join("it went on after its end for the backend", e.backend ? e.backend->reason : "");
      if (superseded(e)) return "it was started a second time";
      if (forgotten(e)) return join("the backend forgot that it ran", e.backend->reason);
      if (cut_short(e))
        return join("the backend ended it before the engine had started", e.backend->reason);
      if (preempted(e)) return e.backend->reason;
      if (disk_was_full(e)) return join("its disk was full", failure_words(EndCause::failed, e));
      if (e.backend) return join("node failure", e.backend->reason);
      return "the backend no longer knows it, and the journal has no end record";
    case EndCause::stopped:
      if (e.backend && e.backend->timed_out) return "stopped at its time limit";
      if (e.backend && interrupted(*e.backend)) return "preempted";
      if (e.backend && e.backend->warned) return "stopped at its time limit";
      if (stopped_at_start(e)) return "asked to stop before it had begun";
      return e.record && !e.record->reason.empty() ? e.record->reason : "stopped on request";
    default:
      break;
  }
  return failure_words(cause, e);
}

}  // namespace

const FailureFile* first_failure(const std::vector<FailureFile>& failures) {
  const auto key = [](const FailureFile& f) { return std::pair(f.reporter != "launch", f.time); };
  const auto it = std::min_element(failures.begin(), failures.end(),
                                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
  if (it == failures.end()) return nullptr;
  // Who is seen to fail first may only have given up on another, which hangs: it says on whom.
  const FailureFile* first = &*it;
  std::set<int> passed;
  while (first->rank >= 0 && !contains_word(first->reason, "killed by signal")) {
    passed.insert(first->rank);
    const std::string itself = "rank" + std::to_string(first->rank);
    const auto own = std::find_if(failures.begin(), failures.end(), [&](const FailureFile& f) {
      return f.reporter == itself && f.rank >= 0 && f.rank != first->rank;
    });
    if (own == failures.end()) break;
    if (passed.count(own->rank) != 0) return &*it;  // each reports the other
    first = &*own;
  }
  return first;
}

Verdict judge(const Evidence& e) {
  Verdict verdict;
  verdict.cause = cause_of(e);
  verdict.reason = reason_of(verdict.cause, e);
  verdict.step = e.checkpoint_step;
  // A finished or stopped engine has written what it stood on; a failed one may not have.
  if (e.record && e.record->status != "failed" && e.record->status != "fenced")
    verdict.step = std::max(verdict.step, e.record->step);
  if (e.backend) verdict.exit_code = e.backend->exit_code;
  if (e.record && e.record->exit_code) verdict.exit_code = e.record->exit_code;
  if (verdict.cause != EndCause::failed) return verdict;
  if (const FailureFile* failure = first_failure(e.failures)) {
    if (failure->rank >= 0) verdict.failed_rank = failure->rank;
    verdict.failed_node = failure->node;
  } else if (e.record) {
    verdict.failed_rank = e.record->rank;
    verdict.failed_node = e.record->node;
  } else if (no_engine(e)) {
    verdict.failed_node = e.stderr_node;
  } else if (e.killed_rank) {  // srun ended the others before they could say so
    verdict.failed_rank = e.killed_rank;
    verdict.failed_node = e.killed_node;
  }
  return verdict;
}

}  // namespace thalweg::daemon
