#include "daemon/state/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thalweg::daemon {
namespace {

using testing::HasSubstr;

EndRecord record(const std::string& status, std::int64_t step, const std::string& reason = "") {
  return {status, step, reason, {}, ""};
}

BackendWord exited(int code) {
  return {"", code, 0, false, false, false};
}

BackendWord killed(int signal) {
  return {"", {}, signal, false, false, false};
}

BackendWord with(BackendWord word, bool BackendWord::*flag) {
  word.*flag = true;
  return word;
}

FailureFile failure(const std::string& reporter, int rank, double time,
                    const std::string& reason = "why") {
  return {time, rank, "n" + std::to_string(rank), reason, reporter};
}

TEST(Verdict, APmixPluginThatIsNotThereIsNotTriedAgain) {
  Evidence evidence;
  evidence.backend = exited(1);
  evidence.stderr_tail = "srun: error: Invalid MPI type 'pmix_v9', --mpi=list for acceptable types";
  const Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.cause, EndCause::bad_input);
  EXPECT_EQ(verdict.reason, evidence.stderr_tail + " (slurm.mpi)");
}

TEST(Verdict, ANodeWithoutTheEngineFailsTheAttemptNotTheTrial) {
  Evidence evidence;
  evidence.engine = false;
  for (const auto& [code, why] : {std::pair{2, "No such file or directory"},
                                  {13, "Permission denied"},
                                  {8, "Exec format error"}}) {
    evidence.backend = exited(code);
    evidence.stderr_tail = std::string("slurmstepd: error: execve(): /opt/thalweg-train: ") + why;
    evidence.stderr_node = "n2";
    const Verdict verdict = judge(evidence);
    EXPECT_EQ(verdict.cause, EndCause::failed);
    EXPECT_EQ(verdict.failed_node, "n2");
    EXPECT_EQ(verdict.reason,
              std::string("the engine cannot be started on n2: execve(): /opt/thalweg-train: ") +
                  why +
                  " (install thalweg-engine there, or have slurm.engine_program in config.yaml "
                  "name it as compute nodes see it)");
  }
  evidence.stderr_tail = "slurmstepd: error: execve(): /opt/thalweg-attempt: Permission denied";
  EXPECT_EQ(judge(evidence).reason,
            "thalweg-attempt cannot be started on n2: execve(): /opt/thalweg-attempt: Permission "
            "denied (install thalweg-attempt there, or have slurm.attempt_program in config.yaml "
            "name it as compute nodes see it)");
  // A trial's own mistake stays one.
  evidence.backend = exited(2);
  evidence.stderr_tail = "trial.yaml:3: model.name: no such model";
  EXPECT_EQ(judge(evidence).cause, EndCause::bad_input);
}

TEST(Verdict, ARankOfWhichOnlySrunSaysThatItWasKilledIsNamed) {
  Evidence evidence;
  evidence.backend = exited(137);
  evidence.stderr_tail = "srun: error: n2: task 1: Killed";
  evidence.killed_rank = 1;
  evidence.killed_node = "n2";
  EXPECT_EQ(judge(evidence).failed_rank, 1);
  EXPECT_EQ(judge(evidence).failed_node, "n2");
  evidence.failures = {failure("rank0", 3, 5)};  // who saw it knows better
  EXPECT_EQ(judge(evidence).failed_rank, 3);
}

TEST(Verdict, AnExitCodeIsSaidOnce) {
  Evidence evidence;
  evidence.backend = exited(3);
  evidence.backend->reason = "failed";
  evidence.stderr_tail = "srun: error: n1: task 0: Exited with exit code 3";
  EXPECT_EQ(judge(evidence).reason, "failed: " + evidence.stderr_tail);
  evidence.stderr_tail = "no room";
  EXPECT_EQ(judge(evidence).reason, "exit code 3: failed: no room");
}

TEST(Verdict, CauseByEvidence) {
  const BackendWord preempted{"PREEMPTED", {}, 15, true, false, false};
  const BackendWord evicted{"preempted by another job", {}, 0, false, false, true};
  const struct {
    const char* what;
    Evidence evidence;
    EndCause cause;
  } table[] = {
      {"the engine finished",
       {record("finished", 9), {}, exited(0), "", 0, ""},
       EndCause::finished},
      {"finished counts although the backend has forgotten it",
       {record("finished", 9), {}, {}, "", 0, ""},
       EndCause::finished},
      {"finished counts although a rank fell over at its exit",
       {record("finished", 9), {}, killed(11), "", 0, ""},
       EndCause::finished},
      {"finished counts although it was to be cancelled",
       {record("finished", 9), {}, exited(0), "cancelled", 0, ""},
       EndCause::finished},
      {"stopped on our request",
       {record("stopped", 9), {}, exited(75), "cancelled", 0, ""},
       EndCause::cancelled},
      {"stopped by a signal from elsewhere",
       {record("stopped", 9), {}, exited(75), "", 0, ""},
       EndCause::stopped},
      {"code 75 without a record", {{}, {}, exited(75), "", 0, ""}, EndCause::stopped},
      {"ended by SIGTERM before its handler",
       {{}, {failure("launch", 0, 5)}, killed(15), "", 0, ""},
       EndCause::stopped},
      {"of srun it may be the end of a rank for the sake of another",
       {{}, {}, exited(143), "", 0, ""},
       EndCause::failed},
      {"failed, then ended by SIGTERM",
       {record("failed", 9), {}, killed(15), "", 0, ""},
       EndCause::failed},
      {"time limit without a record",
       {{}, {}, with(killed(9), &BackendWord::timed_out), "", 0, ""},
       EndCause::stopped},
      {"preempted", {{}, {}, preempted, "", 0, ""}, EndCause::stopped},
      {"preempted, and told before",
       {record("stopped", 9), {}, evicted, "", 0, ""},
       EndCause::stopped},
      {"preempted before a checkpoint was written",
       {{}, {failure("rank0", 1, 5)}, evicted, "", 0, ""},
       EndCause::stopped},
      {"preempted while it failed", {record("failed", 9), {}, evicted, "", 0, ""}, EndCause::lost},
      {"cancelled with the scheduler's own command",
       {record("stopped", 9), {}, with(exited(75), &BackendWord::cancelled), "", 0, ""},
       EndCause::cancelled},
      {"failed before somebody cancelled it",
       {record("failed", 9), {}, with(exited(1), &BackendWord::cancelled), "", 0, ""},
       EndCause::failed},
      {"its disk was full",
       {record("failed", 9, "cannot write /runs/1/1/1/journal.jsonl: No space left on device"),
        {},
        exited(1),
        "",
        0,
        ""},
       EndCause::lost},
      {"a quota was used up",
       {{},
        {failure("rank0", 0, 5, "cannot write /runs/1/1/1/checkpoints/a.new: Disk quota exceeded")},
        exited(1),
        "",
        0,
        ""},
       EndCause::lost},
      {"a full disk of the node's own",
       {record("failed", 9, "cannot write /tmp/x: No space left on device"),
        {},
        exited(1),
        "",
        0,
        ""},
       EndCause::failed},
      {"cancelled with a full disk",
       {record("failed", 9, "No space left on device"), {}, exited(1), "cancelled", 0, ""},
       EndCause::cancelled},
      {"bad input", {{}, {}, exited(2), "", 0, "trial.yaml:3: no"}, EndCause::bad_input},
      {"diverged",
       {record("failed", 9, "diverged: loss is nan"), {}, exited(1), "", 0, ""},
       EndCause::diverged},
      {"a rank was killed",
       {{}, {failure("launch", 1, 5)}, exited(137), "", 0, ""},
       EndCause::failed},
      {"code 0 without a record is no success", {{}, {}, exited(0), "", 0, ""}, EndCause::failed},
      {"a node failed",
       {{}, {}, with(killed(9), &BackendWord::node_failed), "", 0, ""},
       EndCause::lost},
      {"nobody knows anything", {{}, {}, {}, "", 0, ""}, EndCause::lost},
      {"only a failure file is left",
       {{}, {failure("rank0", 1, 5)}, {}, "", 0, ""},
       EndCause::failed},
  };
  for (const auto& row : table)
    EXPECT_EQ(judge(row.evidence).cause, row.cause) << row.what;
}

TEST(Verdict, AFullDiskIsNamed) {
  Evidence evidence;
  evidence.backend = exited(1);
  evidence.record =
      record("failed", 9, "cannot write /runs/1/1/1/checkpoints/a.new: Disk quota exceeded");
  evidence.record->rank = 0;
  evidence.failures = {
      failure("launch", 0, 6, "rank 0 (pid 7) on host n0 exited with code 1"),
      failure("rank0", 0, 5, "cannot write /runs/1/1/1/checkpoints/a.new: Disk quota exceeded")};
  EXPECT_EQ(judge(evidence).reason,
            "its disk was full: rank 0 (pid 7) on host n0 exited with code 1: cannot write "
            "/runs/1/1/1/checkpoints/a.new: Disk quota exceeded");
}

TEST(Verdict, PreemptionIsNoNodeFailure) {
  Evidence evidence;
  evidence.backend = BackendWord{"preempted by another job", {}, 0, false, false, true};
  EXPECT_EQ(judge(evidence).reason, "preempted");
  evidence.record = record("failed", 9);
  EXPECT_EQ(judge(evidence).reason, "preempted by another job");
}

TEST(Verdict, NamesTheRankThatFailedFirst) {
  Evidence evidence;
  evidence.backend = exited(1);
  evidence.failures = {failure("rank0", 2, 7, "lost rank 2"), failure("rank3", 1, 6, "lost rank 1"),
                       failure("rank2", 1, 9)};
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.failed_rank, 1);
  EXPECT_EQ(verdict.failed_node, "n1");
  EXPECT_EQ(verdict.reason, "rank 1 on n1: lost rank 1");

  evidence.failures.push_back(failure("launch", 3, 99, "killed by signal 9"));
  verdict = judge(evidence);
  EXPECT_EQ(verdict.failed_rank, 3) << "the launcher's word counts before a rank's";
  EXPECT_THAT(verdict.reason, HasSubstr("killed by signal 9"));
}

TEST(Verdict, WhatARankSaidOfItselfCompletesTheLaunchersWord) {
  Evidence evidence;
  evidence.backend = exited(1);
  evidence.failures = {failure("launch", 1, 9, "rank 1 on host n1 exited with code 1"),
                       failure("rank1", 1, 8, "disk full"), failure("rank0", 1, 7, "lost rank 1")};
  EXPECT_EQ(judge(evidence).reason, "rank 1 on host n1 exited with code 1: disk full");
}

TEST(Verdict, OneExitCodeIsToldOfAProgramsEnd) {
  Evidence evidence;
  evidence.backend = exited(1);
  evidence.failures = {failure("launch", 0, 9, "rank 0 (pid 5) on host n0 exited with code 1"),
                       failure("rank0", 0, 8, "the program exited with code 3: no data")};
  EXPECT_EQ(judge(evidence).reason,
            "rank 0 (pid 5) on host n0: the program exited with code 3: no data");
}

TEST(Verdict, BadInputIsExplainedByTheEngineNotByTheLauncher) {
  Evidence evidence;
  evidence.backend = exited(2);
  evidence.failures = {failure("launch", 0, 9, "rank 0 exited with code 2")};
  evidence.stderr_tail = "trial.yaml:3: model.name: no such model";
  EXPECT_EQ(judge(evidence).reason, evidence.stderr_tail);
}

TEST(Verdict, StepThatCanBeResumedFrom) {
  Evidence evidence;
  evidence.checkpoint_step = 40;
  evidence.record = record("failed", 55);
  evidence.backend = exited(1);
  EXPECT_EQ(judge(evidence).step, 40) << "what a failed engine stood on is not saved";
  evidence.record = record("stopped", 57);
  EXPECT_EQ(judge(evidence).step, 57);
}

TEST(Verdict, APersonsProgramHasItsOwnExitCode) {
  Evidence evidence;
  evidence.backend = exited(1);
  EXPECT_EQ(judge(evidence).exit_code, 1);
  evidence.record = record("failed", 5);
  EXPECT_EQ(judge(evidence).exit_code, 1) << "the engine's";
  evidence.record->exit_code = 137;
  EXPECT_EQ(judge(evidence).exit_code, 137);
  EXPECT_EQ(judge(evidence).cause, EndCause::failed) << "what to do next is the backend's word";
}

TEST(Verdict, ReasonsAreForPeople) {
  Evidence evidence;
  evidence.backend = killed(9);
  evidence.stderr_tail = "out of memory";
  EXPECT_EQ(judge(evidence).reason, "killed by signal 9: out of memory");
  evidence.stop_reason = "the budget is spent";
  EXPECT_EQ(judge(evidence).reason, "the budget is spent");
  evidence = {};
  evidence.backend = with(killed(9), &BackendWord::node_failed);
  evidence.backend->reason = "NodeDown";
  evidence.failures = {failure("rank0", 1, 5, "lost rank 1")};
  EXPECT_EQ(judge(evidence).reason, "node failure: NodeDown");
  evidence = {};
  evidence.backend = with(exited(15), &BackendWord::cancelled);
  evidence.backend->reason = "CANCELLED by 1000";
  EXPECT_EQ(judge(evidence).reason, "cancelled outside Thalweg: CANCELLED by 1000");
}

// What Slurm calls failed: the ranks stopped when it warned them.
TEST(Verdict, AStopAfterTheWarningIsOneAtTheTimeLimit) {
  Evidence evidence;
  evidence.record = record("stopped", 9, "asked to stop");
  evidence.backend = exited(75);
  EXPECT_EQ(judge(evidence).reason, "asked to stop");
  evidence.backend->warned = true;
  EXPECT_EQ(judge(evidence).cause, EndCause::stopped);
  EXPECT_EQ(judge(evidence).reason, "stopped at its time limit");
  evidence.record = {};
  EXPECT_EQ(judge(evidence).reason, "stopped at its time limit");
  evidence.backend->cancelled = true;
  EXPECT_EQ(judge(evidence).cause, EndCause::cancelled) << "near its limit it can be cancelled too";
  evidence.backend = exited(1);
  evidence.backend->warned = true;
  EXPECT_EQ(judge(evidence).cause, EndCause::failed);
}

// slurmctld, killed and started again, takes a running job for a waiting one; when that ends it
// calls it cancelled.
TEST(Verdict, ACancellationOfAJobThatSupposedlyNeverRanIsTheBackendsMistake) {
  Evidence evidence;
  evidence.backend = BackendWord();
  evidence.backend->reason = "cancelled in Slurm";
  evidence.backend->cancelled = true;
  evidence.backend->started = false;
  EXPECT_EQ(judge(evidence).cause, EndCause::cancelled);  // while it waited
  evidence.began = true;
  EXPECT_EQ(judge(evidence).cause, EndCause::lost);
  EXPECT_EQ(judge(evidence).reason, "the backend forgot that it ran: cancelled in Slurm");
  evidence.stop_reason = "cancelled";
  EXPECT_EQ(judge(evidence).cause, EndCause::cancelled);
  evidence.stop_reason = {};
  evidence.record = record("finished", 9);
  EXPECT_EQ(judge(evidence).cause, EndCause::finished);
}

// A rank that hangs says nothing: those who waited for it are seen to fail first.
TEST(Verdict, ARankThatGaveUpOnAnotherIsNotTheOneThatFailed) {
  Evidence evidence;
  evidence.backend = exited(1);
  evidence.failures = {failure("launch", 0, 9, "rank 0 on host n0 exited with code 1"),
                       failure("rank0", 2, 8, "no progress of rank 2"),
                       failure("rank2", 1, 8, "no progress of rank 1"),
                       failure("rank3", 0, 7, "lost rank 0")};
  Verdict verdict = judge(evidence);
  EXPECT_EQ(verdict.failed_rank, 1);
  EXPECT_EQ(verdict.failed_node, "n1");
  EXPECT_EQ(verdict.reason, "rank 1 on n1: no progress of rank 1");
  evidence.failures.erase(evidence.failures.begin());  // under Slurm there is no launcher
  EXPECT_EQ(judge(evidence).failed_rank, 1);
  evidence.failures = {failure("rank0", 1, 7, "lost rank 1"),
                       failure("rank1", 0, 8, "lost rank 0")};
  EXPECT_EQ(judge(evidence).failed_rank, 1) << "where each reports the other, the earliest word";
}

TEST(Verdict, WhatWasGivenUpIsLostWhateverItsEndLooksLike) {
  Evidence evidence;
  evidence.fenced = "Slurm has forgotten it";
  evidence.checkpoint_step = 40;
  evidence.failures = {failure("rank1", 0, 7, "lost rank 0")};
  EXPECT_EQ(judge(evidence).cause, EndCause::lost);
  EXPECT_EQ(judge(evidence).reason, "Slurm has forgotten it: it has gone silent");
  evidence.record = record("fenced", 50);
  EXPECT_EQ(judge(evidence).cause, EndCause::lost);
  EXPECT_EQ(judge(evidence).step, 40) << "as far as its checkpoints go";
  EXPECT_EQ(judge(evidence).reason, "Slurm has forgotten it: told to, it ended itself");
  evidence.record = record("finished", 60);
  EXPECT_EQ(judge(evidence).cause, EndCause::finished) << "it was faster";
  evidence = {};
  evidence.backend = exited(exit_superseded);
  EXPECT_EQ(judge(evidence).cause, EndCause::lost);
}

TEST(Verdict, ARequeueIsNoFailureOfTheTrial) {
  Evidence evidence;
  evidence.record = record("failed", 47, "the program was killed by signal 15 (Terminated)");
  evidence.record->exit_code = exit_by_signal + 15;
  evidence.record->rank = 0;
  evidence.failures = {failure("rank0", 0, 7, evidence.record->reason)};
  evidence.backend = exited(exit_superseded);
  EXPECT_EQ(judge(evidence).cause, EndCause::lost) << "the second start's end";
  EXPECT_EQ(judge(evidence).reason, "its job was requeued: " + evidence.record->reason);
  EXPECT_EQ(judge(evidence).failed_node, "");
  evidence.backend = {};
  EXPECT_EQ(judge(evidence).cause, EndCause::failed) << "nobody else ended it";
  evidence.requeued = true;
  EXPECT_EQ(judge(evidence).cause, EndCause::lost) << "it waits again";
  evidence.record->exit_code = 1;
  EXPECT_EQ(judge(evidence).cause, EndCause::failed) << "it ended itself before";
  evidence.record = record("failed", 47, "lost rank 1");
  EXPECT_EQ(judge(evidence).cause, EndCause::failed) << "no rank was lost";
  evidence.record->rank = 1;
  EXPECT_EQ(judge(evidence).cause, EndCause::lost);
  evidence.failures = {failure("rank1", 1, 7, "out of memory")};
  EXPECT_EQ(judge(evidence).cause, EndCause::failed) << "it said why";
}

// The nodes ended the job while slurmctld was away.
TEST(Verdict, ACancellationLongAfterARankFailedIsNobodysWish) {
  Evidence evidence;
  evidence.backend = BackendWord();
  evidence.backend->reason = "cancelled in Slurm";
  evidence.backend->cancelled = true;
  evidence.backend->ended = 1060;
  evidence.failures = {failure("rank1", 0, 1000, "rank 0 on node n3 is gone")};
  EXPECT_EQ(judge(evidence).cause, EndCause::failed);
  EXPECT_EQ(judge(evidence).reason, "rank 0 on node n3 is gone");
  EXPECT_EQ(judge(evidence).failed_rank, 0);
  for (const double time : {1058.0, 1062.0}) {  // killed with the others, by clocks that differ
    evidence.failures[0].time = time;
    EXPECT_EQ(judge(evidence).cause, EndCause::cancelled) << time;
  }
  evidence.failures[0].time = 1000;
  evidence.backend->ended = 0;
  EXPECT_EQ(judge(evidence).cause, EndCause::cancelled) << "nobody knows when";
  evidence.backend->ended = 1060;
  evidence.stop_reason = "cancelled";
  EXPECT_EQ(judge(evidence).cause, EndCause::cancelled) << "our own";
}

// A failing prolog; a number given out twice by a slurmctld that forgot the first job.
TEST(Verdict, ACancellationBeforeTheEngineStartedIsNobodysWish) {
  Evidence evidence;
  evidence.backend = BackendWord();
  evidence.backend->reason = "cancelled in Slurm";
  evidence.backend->cancelled = true;
  EXPECT_EQ(judge(evidence).cause, EndCause::cancelled) << "the engine ran: somebody's scancel";
  evidence.engine = false;
  evidence.began = true;
  EXPECT_EQ(judge(evidence).cause, EndCause::lost);
  EXPECT_EQ(judge(evidence).reason,
            "the backend ended it before the engine had started: cancelled in Slurm");
  evidence.backend->started = evidence.began = false;
  EXPECT_EQ(judge(evidence).cause, EndCause::cancelled) << "while it waited";
  evidence.backend->started = true;
  evidence.stop_reason = "cancelled";
  EXPECT_EQ(judge(evidence).cause, EndCause::cancelled) << "our own";
}

}  // namespace
}  // namespace thalweg::daemon
