// The table of what can happen: to the controller and its disk, to slurmctld, to nodes, engines and
// files, and what people do. A new kind is a row.
#include <fmt/format.h>

#include <fstream>

#include "tests/daemon/sweeps.h"
#include "tests/simulation/run.h"

namespace thalweg::simulation {

namespace fs = std::filesystem;
using daemon::SweepPhase;
using daemon::TrialPhase;

namespace {

// ---- the controller and its record

void kill_controller(Run& run, Dice& dice) {
  if (run.controller() == nullptr) return;
  run.down = run.clock.now() + (dice.chance(0.3) ? dice.exponential(20) : 0);
  run.note("the controller is killed");
  run.kill();
}

void kill_inside(Run& run, Dice& dice) {
  run.passes_until_kill = 1 + static_cast<int>(dice.below(12));
}

void lose_power(Run& run, Dice& dice) {
  run.loses_power = true;
  if (dice.chance(0.5))
    run.passes_until_kill = 1 + static_cast<int>(dice.below(12));
  else
    kill_controller(run, dice);
}

void hang_disk(Run& run, Dice& dice) {
  run.disk_hangs = run.clock.now() + dice.exponential(8);
  run.note(fmt::format("the run folders do not answer until {:.1f}", run.disk_hangs));
}

void fill_disk(Run& run, Dice& dice) {
  run.record_full = run.clock.now() + dice.exponential(6);
  run.note(fmt::format("the record's disk is full until {:.1f}", run.record_full));
}

void set_clock(Run& run, Dice& dice) {
  const double jumps[] = {-86'400, -40, -3, 3, 40, 86'400};
  const double jump = jumps[dice.below(6)];
  run.clock.jump(jump);
  run.note(fmt::format("the controller's clock jumps by {} s", jump));
}

// ---- Slurm

void crash_slurmctld(Run& run, Dice& dice) {
  const double down = dice.exponential(8), forgets = dice.exponential(4);
  run.slurm.crash(down, forgets);
  run.note(fmt::format("slurmctld is down for {:.1f} s and forgets {:.1f} s", down, forgets));
}

void slow_slurmctld(Run& run, Dice& dice) {
  run.slurm.slow = run.clock.now() + dice.exponential(10);
  run.note(fmt::format("slurmctld is slow until {:.1f}", run.slurm.slow));
}

void lose_answers(Run& run, Dice& dice) {
  run.slurm.loses_answers = run.clock.now() + dice.exponential(10);
  run.note(fmt::format("answers of slurmctld get lost until {:.1f}", run.slurm.loses_answers));
}

void end_agent(Run& run, Dice& dice) {
  run.slurm.agent_gone = run.clock.now() + dice.exponential(5);
  run.note(fmt::format("the agent is gone until {:.1f}", run.slurm.agent_gone));
}

void hang_user(Run& run, Dice& dice) {
  run.slurm.hangs = {static_cast<std::uint32_t>(1001 + dice.below(2)),
                     run.clock.now() + dice.exponential(15)};
  run.note(fmt::format("calls for user {} hang until {:.1f}", run.slurm.hangs.first,
                       run.slurm.hangs.second));
}

void refuse_submissions(Run& run, Dice& dice) {
  run.slurm.refuses = run.clock.now() + dice.exponential(10);
  run.note(fmt::format("submissions are refused until {:.1f}", run.slurm.refuses));
}

void stranger(Run& run, Dice&) {
  run.slurm.take_next_number();
}

/// A job that waits, runs or either, drawn.
SlurmJob* some_job(Run& run, Dice& dice, bool waiting, bool running) {
  auto jobs = run.slurm.jobs_that(
      [&](const SlurmJob& job) { return (waiting && job.waits()) || (running && job.runs()); });
  return jobs.empty() ? nullptr : dice.pick(jobs);
}

void scancel(Run& run, Dice& dice) {
  SlurmJob* const job = some_job(run, dice, true, true);
  if (job == nullptr) return;
  if (const auto id = run.trial_of(*job)) run.deeds_of(*id).cancelled = true;
  run.note(fmt::format("scancel {}", job->number));
  run.slurm.cancel(*job);
}

void preempt(Run& run, Dice& dice) {
  SlurmJob* const job = some_job(run, dice, false, true);
  if (job == nullptr) return;
  run.note(fmt::format("job {} is preempted", job->number));
  run.slurm.preempt(*job);
}

void requeue(Run& run, Dice& dice) {
  SlurmJob* const job = some_job(run, dice, false, true);
  if (job == nullptr) return;
  run.note(fmt::format("scontrol requeue {}", job->number));
  run.slurm.requeue(*job);
}

void hold(Run& run, Dice& dice) {
  SlurmJob* const job = some_job(run, dice, true, false);
  if (job == nullptr || !job->released) return;
  job->held = true;
  run.note(fmt::format("scontrol hold {}", job->number));
}

void change_comment(Run& run, Dice& dice) {
  SlurmJob* const job = some_job(run, dice, true, true);
  if (job == nullptr) return;
  job->token.clear();
  run.note(fmt::format("the comment of job {} is changed", job->number));
}

// ---- nodes and engines

void end_node(Run& run, Dice& dice) {
  Node& node = dice.pick(run.engines.nodes());
  node.dead = run.clock.now() + 2 + dice.exponential(30);
  run.note(fmt::format("node {} is dead until {:.1f}", node.name, node.dead));
}

void cut_node_off(Run& run, Dice& dice) {
  Node& node = dice.pick(run.engines.nodes());
  const double until = run.clock.now() + dice.exponential(25);
  const bool blind = dice.chance(0.4);
  node.unseen = until;
  if (blind) node.blind = until + dice.between(-1, 3);
  run.note(fmt::format("node {} is cut off{} until {:.1f}", node.name,
                       blind ? " from everything" : "", until));
}

void blind_node(Run& run, Dice& dice) {
  Node& node = dice.pick(run.engines.nodes());
  node.blind = run.clock.now() + dice.exponential(15);
  run.note(
      fmt::format("node {} does not reach the filesystem until {:.1f}", node.name, node.blind));
}

void break_node(Run& run, Dice& dice) {
  Node& node = dice.pick(run.engines.nodes());
  node.broken = run.clock.now() + dice.exponential(10);
  run.note(fmt::format("what starts on node {} fails until {:.1f}", node.name, node.broken));
}

Engine* some_engine(Run& run, Dice& dice) {
  std::vector<Engine*> alive;
  for (Engine& engine : run.engines.all())
    if (engine.alive) alive.push_back(&engine);
  return alive.empty() ? nullptr : dice.pick(alive);
}

void fail_engine(Run& run, Dice& dice) {
  Engine* const engine = some_engine(run, dice);
  if (engine == nullptr) return;
  engine->fails_at = engine->step + 1;
  run.note(fmt::format("start {} fails", engine->start));
}

void kill_engine(Run& run, Dice& dice) {
  Engine* const engine = some_engine(run, dice);
  if (engine == nullptr) return;
  run.engines.kill(*engine, 9);
  run.note(fmt::format("start {} is killed on its node", engine->start));
}

void make_deaf(Run& run, Dice& dice) {
  if (Engine* const engine = some_engine(run, dice)) engine->deaf = true;
}

void make_linger(Run& run, Dice& dice) {
  if (Engine* const engine = some_engine(run, dice)) engine->lingers = true;
}

void make_mute(Run& run, Dice& dice) {
  Engine* const engine = some_engine(run, dice);
  if (engine != nullptr && !engine->training && !engine->done) engine->mute = true;
}

// ---- processes of the controller's machine

Process* some_launcher(Run& run, Dice& dice) {
  auto launchers = run.machine->that([](const Process& p) { return p.launcher; });
  return launchers.empty() ? nullptr : dice.pick(launchers);
}

void kill_launcher(Run& run, Dice& dice) {
  Process* const launcher = some_launcher(run, dice);
  if (launcher == nullptr) return;
  run.machine->end(*launcher, 9);
  run.note(fmt::format("launcher {} is killed", launcher->pid));
}

void stop_launcher(Run& run, Dice& dice) {
  Process* const launcher = some_launcher(run, dice);
  if (launcher == nullptr) return;
  launcher->stopped = true;
  run.note(fmt::format("launcher {} is stopped", launcher->pid));
}

void continue_launcher(Run& run, Dice& dice) {
  Process* const launcher = some_launcher(run, dice);
  if (launcher != nullptr) launcher->stopped = false;
}

void reuse_pid(Run& run, Dice&) {
  if (run.machine->reuse()) run.note("a launcher's number is a stranger's now");
}

void reboot(Run& run, Dice& dice) {
  run.note("the machine is restarted");
  run.machine->reboot();
  run.down = run.clock.now() + dice.exponential(10);
  const bool power = dice.chance(0.5);
  if (power) run.machine->lose_power();
  if (run.controller() == nullptr) return;
  run.loses_power = power;
  run.kill();
}

void fill_run_disk(Run& run, Dice& dice) {
  run.machine->full = run.clock.now() + dice.exponential(10);
  run.note(fmt::format("launchers cannot write until {:.1f}", run.machine->full));
}

// ---- files

Written* some_journal(Run& run, Dice& dice) {
  std::vector<Written*> all;
  for (auto& [folder, written] : run.engines.written())
    if (fs::exists(folder + "/journal.jsonl")) all.push_back(&written);
  return all.empty() ? nullptr : dice.pick(all);
}

void damage_journal(Run& run, Dice& dice) {
  Written* const journal = some_journal(run, dice);
  if (journal == nullptr) return;
  const fs::path file = journal->folder + "/journal.jsonl";
  std::error_code error;
  const auto size = static_cast<std::int64_t>(fs::file_size(file, error));
  if (error || size == 0) return;
  journal->damaged = true;
  run.deeds_of(journal->id).lost_end = true;
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  const std::int64_t at = dice.below(size);
  switch (dice.below(4)) {
    case 0:
      out.close();
      fs::resize_file(file, static_cast<std::uintmax_t>(at), error);
      run.note(fmt::format("{} is cut at byte {}", file.string(), at));
      return;
    case 1:
      out.seekp(at);
      out << std::string(static_cast<std::size_t>(1 + dice.below(300)), '\0');
      run.note(fmt::format("{} has zeros at byte {}", file.string(), at));
      return;
    case 2:
      out.seekp(at);
      out.put(static_cast<char>(dice.below(256)));
      run.note(fmt::format("{} has a bad byte {}", file.string(), at));
      return;
    default:
      out.close();
      fs::resize_file(file, static_cast<std::uintmax_t>(size + 1 + dice.below(1 << 30)), error);
      run.note(fmt::format("{} has a hole at its end", file.string()));
  }
}

void remove_folder(Run& run, Dice& dice) {
  Written* const journal = some_journal(run, dice);
  if (journal == nullptr) return;
  journal->damaged = true;
  run.deeds_of(journal->id).lost_end = true;
  std::error_code error;
  fs::remove_all(journal->folder, error);
  const bool made_again = dice.chance(0.5);
  if (made_again) fs::create_directories(fs::path(journal->folder) / "checkpoints", error);
  run.note(fmt::format("{} is removed{}", journal->folder, made_again ? " and made again" : ""));
}

// ---- people

/// A command: what it promised counts only where it came back.
template <class F>
void command(Run& run, F work) {
  if (run.controller() == nullptr) return;
  try {
    work(*run.controller());
  } catch (const db::CannotWrite&) {
  }
}

std::optional<std::int64_t> some_sweep(Run& run, Dice& dice) {
  std::vector<std::int64_t> ids;
  for (const auto& [id, known] : run.sweeps)
    if (!known.removed) ids.push_back(id);
  if (ids.empty()) return {};
  return dice.pick(ids);
}

void submit(Run& run, Dice& dice) {
  if (run.sweeps.size() < 5) command(run, [&](auto&) { submit_sweep(run, dice); });
}

void extend(Run& run, Dice& dice) {
  const auto id = some_sweep(run, dice);
  command(run, [&](daemon::Controller& controller) {
    if (!id) return;
    const daemon::SweepState& sweep = controller.state().sweeps.at(*id);
    if (sweep.removing || sweep.trials.size() > 8 || sweep.seed_plan) return;
    run.note(fmt::format("sweep {} is extended by a trial", *id));
    run.sweeps[*id].cancelled = false;
    test::extend(controller, *id, test::sweep_of(static_cast<int>(sweep.trials.size()) + 1, 8));
  });
}

void cancel(Run& run, Dice& dice) {
  const auto id = some_sweep(run, dice);
  if (!id) return;
  command(run, [&](daemon::Controller& controller) {
    const daemon::SweepState& sweep = controller.state().sweeps.at(*id);
    const std::int64_t trials = static_cast<std::int64_t>(sweep.trials.size());
    const std::int64_t trial = dice.chance(0.3) ? 0 : 1 + dice.below(trials);
    run.note(fmt::format("thalweg cancel {}.{}", *id, trial));
    for (std::int64_t each = 1; each <= trials; ++each)
      if (trial == 0 || trial == each) run.deeds_of({*id, each, 0}).cancelled = true;
    if (controller.cancel({*id, trial, 0}, "me").value_or(0) > 0 && trial == 0)
      run.sweeps[*id].cancelled = true;
  });
}

void retry(Run& run, Dice& dice) {
  const auto id = some_sweep(run, dice);
  if (!id) return;
  command(run, [&](daemon::Controller& controller) {
    run.note(fmt::format("thalweg retry {}", *id));
    run.sweeps[*id].cancelled = false;
    controller.retry({*id, 0, 0}, {TrialPhase::failed, TrialPhase::cancelled}, "me");
  });
}

void remove(Run& run, Dice& dice) {
  const auto id = some_sweep(run, dice);
  if (!id || run.sweeps.size() < 2) return;
  command(run, [&](daemon::Controller& controller) {
    const daemon::SweepState& sweep = controller.state().sweeps.at(*id);
    if (sweep.phase == SweepPhase::active || sweep.removing) return;
    run.note(fmt::format("thalweg rm {}", *id));
    controller.remove(*id, "me");
    run.sweeps[*id].removed = true;
  });
}

void label(Run& run, Dice& dice) {
  const auto id = some_sweep(run, dice);
  if (!id) return;
  command(run, [&](daemon::Controller& controller) {
    daemon::Controller::Labels labels;
    labels.name = fmt::format("name {}", dice.below(1000));
    if (controller.label(*id, labels, "me")) run.sweeps[*id].name = *labels.name;
  });
}

void prune(Run& run, Dice& dice) {
  const auto id = some_sweep(run, dice);
  if (!id) return;
  command(run, [&](daemon::Controller& controller) {
    if (controller.state().sweeps.at(*id).phase == SweepPhase::active) return;
    controller.archive(*id, dice.chance(0.5), "me");
  });
}

using Where = FaultKind::Where;

constexpr FaultKind every_kind[] = {
    {"kill controller", 8, kill_controller},
    {"kill inside", 10, kill_inside},
    {"power", 4, lose_power, Where::slurm},
    {"disk hangs", 3, hang_disk},
    {"record full", 3, fill_disk},
    {"clock", 3, set_clock},
    {"launcher killed", 5, kill_launcher, Where::local},
    {"launcher stopped", 4, stop_launcher, Where::local},
    {"launcher goes on", 2, continue_launcher, Where::local},
    {"pid reused", 5, reuse_pid, Where::local},
    {"restart", 3, reboot, Where::local},
    {"disk full", 3, fill_run_disk, Where::local},
    {"slurmctld crash", 8, crash_slurmctld, Where::slurm},
    {"slurmctld slow", 4, slow_slurmctld, Where::slurm},
    {"answers lost", 5, lose_answers, Where::slurm},
    {"agent gone", 4, end_agent, Where::slurm},
    {"calls of a user hang", 3, hang_user, Where::slurm},
    {"submissions refused", 2, refuse_submissions, Where::slurm},
    {"stranger", 4, stranger, Where::slurm},
    {"scancel", 2, scancel, Where::slurm},
    {"preempt", 3, preempt, Where::slurm},
    {"requeue", 2, requeue, Where::slurm},
    {"hold", 2, hold, Where::slurm},
    {"comment", 3, change_comment, Where::slurm},
    {"node dead", 3, end_node, Where::slurm},
    {"node cut off", 4, cut_node_off, Where::slurm},
    {"node blind", 3, blind_node, Where::slurm},
    {"node broken", 1, break_node, Where::slurm},
    {"engine fails", 1, fail_engine},
    {"engine killed", 2, kill_engine},
    {"deaf", 3, make_deaf},
    {"lingers", 3, make_linger},
    {"mute", 2, make_mute},
    {"journal damaged", 2, damage_journal},
    {"folder removed", 1, remove_folder},
    {"submit", 3, submit},
    {"extend", 2, extend},
    {"cancel", 2, cancel},
    {"retry", 2, retry},
    {"remove", 2, remove},
    {"label", 2, label},
    {"archive", 1, prune},
};

std::vector<FaultKind> kinds_but(Where other) {
  std::vector<FaultKind> kinds;
  for (const FaultKind& kind : every_kind)
    if (kind.where != other) kinds.push_back(kind);
  return kinds;
}

}  // namespace

const std::vector<FaultKind>& fault_kinds(bool local) {
  static const std::vector<FaultKind> of_slurm = kinds_but(Where::local),
                                      of_this_machine = kinds_but(Where::slurm);
  return local ? of_this_machine : of_slurm;
}

namespace {

/// Two configurations, of which four seeds cannot be told apart, and six can.
void submit_looks(Run& run) {
  jobspec::Sweep sweep = test::sweep_of(4, run.engines.steps());
  sweep.metric.name = "val/error";
  jobspec::Expansion all;
  all.seed_plan = jobspec::SeedPlan{{4, 6}, 2};
  for (const int configuration : {1, 2})
    for (const std::uint64_t seed : sweep.seeds) {
      jobspec::ExpandedTrial trial;
      trial.number = static_cast<std::int64_t>(all.trials.size()) + 1;
      trial.configuration = configuration;
      trial.seed = seed;
      trial.train = sweep.train;
      trial.hash = fmt::format("{:032}", configuration);
      all.trials.push_back(trial);
    }
  const std::string backend = run.machine ? "local" : "slurm";
  const std::int64_t id =
      run.controller()->submit(sweep, all, "name: test", "test.yaml", backend, "me").id;
  run.sweeps[id].name = sweep.name;
  run.note(fmt::format("sweep {} with looks at seeds", id));
}

}  // namespace

void submit_sweep(Run& run, Dice& dice) {
  if (run.plan().looks) return submit_looks(run);
  const int trials = 2 + static_cast<int>(dice.below(3));
  auto sweep = test::sweep_of(trials, run.engines.steps());
  sweep.metric.name = "val/error";
  // Some are of users of a site.
  std::optional<daemon::Owner> owner;
  if (const auto user = static_cast<std::uint32_t>(1000 + dice.below(3));
      user > 1000 && !run.machine)
    owner = daemon::Owner{user, user, fmt::format("user{}", user), "grant"};
  if (dice.chance(0.4)) {
    sweep.promotion = jobspec::Promotion{"asha", "steps", {2, 4}, 2};
    sweep.promotion->waits = dice.chance(0.5);
  }
  const std::int64_t id =
      test::submit(*run.controller(), sweep, owner, run.machine ? "local" : "slurm");
  run.sweeps[id].name = sweep.name;
  run.note(fmt::format("sweep {} of {} trials{}", id, trials,
                       !sweep.promotion         ? ""
                       : sweep.promotion->waits ? " that wait at rungs"
                                                : " that pause at rungs"));
}

std::optional<Id> Run::trial_of(const SlurmJob& job) const {
  // thalweg-1.2.3
  const auto dash = job.name.find('-');
  if (dash == std::string::npos) return {};
  Id id;
  if (std::sscanf(job.name.c_str() + dash + 1, "%ld.%ld.%ld", &id.sweep, &id.trial, &id.attempt) !=
      3)
    return {};
  return id;
}

}  // namespace thalweg::simulation
