// What must hold, whatever happens.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "daemon/controller/folder.h"
#include "tests/simulation/run.h"

namespace thalweg::simulation {

namespace fs = std::filesystem;
using daemon::SweepPhase;
using daemon::TrialPhase;

namespace {

void require(bool holds, const std::string& promise) {
  if (!holds) throw Broken(promise);
}

bool given_up(const Engine& engine) {
  return fs::exists(engine.folder / "fenced") || !fs::exists(engine.folder / "claim");
}

/// The curve of a trial, as the record shows it, against what its engines wrote.
void check_curve(Run& run, const Id& trial, bool finished) {
  bool damaged = false;
  std::set<int> written;
  for (const auto& [folder, journal] : run.engines.written()) {
    if (journal.id.sweep != trial.sweep || journal.id.trial != trial.trial) continue;
    damaged = damaged || journal.damaged;
    written.insert(journal.step_of_line.begin(), journal.step_of_line.end());
  }
  std::set<int> seen;
  for (const db::CurvePoint& point : run.store().curve(trial, "val/error")) {
    const int step = static_cast<int>(point.step);
    const std::string where = fmt::format("trial {} at step {}", trial.to_string(), step);
    require(damaged || written.count(step) != 0, where + ": a point that no engine has written");
    require(damaged || std::abs(point.value - Engines::value(trial, step)) < 1e-12,
            where + ": another value than the engine's");
    require(seen.insert(step).second, where + ": two points");
  }
  if (!finished || damaged) return;
  for (int step = 1; step <= run.engines.steps(); ++step)
    require(seen.count(step) != 0, fmt::format("trial {} has finished and has no point of step {}",
                                               trial.to_string(), step));
}

/// Who has lost at a rung has come to it, with the value that its engines wrote there.
void check_early(Run& run, const daemon::SweepState& sweep, std::int64_t number) {
  const daemon::TrialState& trial = sweep.trials[static_cast<std::size_t>(number - 1)];
  const Id id{sweep.id, number, 0};
  const std::string name = "trial " + id.to_string();
  require(sweep.promotion.has_value(), name + " ended early, which nobody asked for");
  require(trial.rung < sweep.promotion->rungs.size(), name + " lost at its end");
  require(trial.at_rungs.size() == trial.rung + 1, name + " lost at a rung it did not come to");
  bool damaged = false;
  for (const auto& [folder, journal] : run.engines.written())
    damaged =
        damaged || (journal.id.sweep == id.sweep && journal.id.trial == number && journal.damaged);
  for (std::size_t rung = 0; rung < trial.at_rungs.size() && !damaged; ++rung) {
    const double wrote = Engines::value(id, static_cast<int>(sweep.promotion->rungs[rung]));
    const auto& value = trial.at_rungs[rung];
    require(value && std::abs(*value - wrote) < 1e-12,
            fmt::format("{} has another value at rung {} than its engine's", name, rung));
  }
}

/// Nobody goes on twice from a rung, and where nothing ended it before its time somebody is trained
/// to the end.
void check_promotions(Run& run, const daemon::SweepState& sweep) {
  std::set<std::pair<std::int64_t, std::string>> promoted;
  run.store().events(0, [&](const db::Event& e) {
    if (e.id.sweep != sweep.id || e.kind != "promoted") return;
    require(sweep.promotion.has_value(), "a trial without rungs was promoted");
    const std::string rung = e.data.substr(e.data.find("\"rung\":"), 8);
    require(promoted.insert({e.id.trial, rung}).second,
            fmt::format("trial {} was promoted twice to {}", e.id.to_string(), rung));
  });
  run.promoted += static_cast<int>(promoted.size());
  if (!sweep.promotion || sweep.cancel || !sweep.stopped.empty()) return;
  const auto lost = [](const daemon::TrialState& trial) {
    return trial.phase == TrialPhase::finished &&
           trial.reason.starts_with(jobspec::early_end_reason);
  };
  const bool some_lost = std::any_of(sweep.trials.begin(), sweep.trials.end(), lost);
  const bool some_went =
      std::any_of(sweep.trials.begin(), sweep.trials.end(),
                  [&](const auto& trial) { return trial.rung == sweep.promotion->rungs.size(); });
  bool all_ended_well = sweep.failed == 0 && sweep.cancelled == 0;
  for (const auto& [folder, journal] : run.engines.written())
    if (journal.id.sweep == sweep.id && journal.damaged) all_ended_well = false;
  require(!some_lost || !all_ended_well || some_went,
          fmt::format("sweep {} has trained no trial to its end", sweep.id));
}

/// Every look is taken once, in order, and no configuration has a seed twice.
void check_looks(Run& run, const daemon::SweepState& sweep) {
  if (!sweep.seed_plan) return;
  std::int64_t taken = 0;
  run.store().events(0, [&](const db::Event& e) {
    if (e.id.sweep != sweep.id || e.kind != "seed_look") return;
    ++taken;
    require(e.data.find(fmt::format("\"look\":{}", taken)) != std::string::npos,
            fmt::format("sweep {}: look {} is missing", sweep.id, taken));
  });
  run.looks += static_cast<int>(taken);
  std::set<std::pair<std::int64_t, std::uint64_t>> seeds;
  for (const db::TrialRow& row : run.store().trials(sweep.id)) {
    require(seeds.insert({row.configuration, row.seed}).second,
            "trial " + row.id.to_string() + " has the seed of another");
    require(row.seed <= (taken > 0 ? 6u : 4u),
            "trial " + row.id.to_string() + " is there before its look");
  }
  require(!sweep.looks_over.empty() || sweep.cancel || !sweep.stopped.empty(),
          fmt::format("sweep {} ended before its last look", sweep.id));
}

void check_trial(Run& run, const daemon::SweepState& sweep, std::int64_t number) {
  const daemon::TrialState& trial = sweep.trials[static_cast<std::size_t>(number - 1)];
  const Id id{sweep.id, number, 0};
  const std::string name = "trial " + id.to_string();
  const Deeds& deeds = run.deeds_of(id);
  require(daemon::is_over(trial.phase), name + " is not over");
  const auto row = run.store().trial(id);
  require(row && row->state == trial.phase, name + ": its row says otherwise");
  const bool stopped = !sweep.stopped.empty();
  // Slurm's own cancellation is told from a person's by what is in the folder, but not where the
  // job was requeued by hand as well: its engine was asked to stop then, as by a person.
  const auto& refused = run.slurm.cancelled_itself;
  const bool by_slurm = std::any_of(refused.begin(), refused.end(), [&](const std::string& folder) {
    const auto attempt = daemon::attempt_of_folder(folder);
    return attempt && attempt->sweep == id.sweep && attempt->trial == id.trial &&
           (deeds.lost_end || run.slurm.requeued.contains(folder));
  });
  if (trial.phase == TrialPhase::cancelled)
    require(deeds.cancelled || stopped || by_slurm,
            name + " is cancelled, which nobody wanted: " + trial.reason);
  if (trial.phase == TrialPhase::failed) {
    // An end record that comes later than the controller waits for is taken for none.
    const bool late = run.engines.lag_s() > file_lag_s;
    const bool no_progress = trial.reason.find("without getting further") != std::string::npos;
    require(no_progress || stopped || late || deeds.lost_end ||
                deeds.own_failures > sweep.limits.max_retries,
            fmt::format("{} failed for good after {} failures of its own: {}", name,
                        deeds.own_failures, trial.reason));
  }
  const bool early = trial.reason.starts_with(jobspec::early_end_reason);
  if (early) check_early(run, sweep, number);
  check_curve(run, id, trial.phase == TrialPhase::finished && !early);
}

void check_sweep(Run& run, std::int64_t id, const Known& known) {
  const auto& sweeps = run.controller()->state().sweeps;
  const auto it = sweeps.find(id);
  if (known.removed) {
    require(it == sweeps.end(), fmt::format("sweep {} was removed and is there", id));
    require(!fs::exists(run.home.path() / "runs" / std::to_string(id)),
            fmt::format("sweep {} was removed, and its folder is there", id));
    return;
  }
  require(it != sweeps.end(), fmt::format("sweep {} is gone", id));
  const daemon::SweepState& sweep = it->second;
  double seconds = 0;
  for (const db::AttemptRow& row : run.store().attempts(id)) {
    require(row.ended > 0, "attempt " + row.id.to_string() + " has no end");
    require(row.started == 0 || row.ended >= row.started,
            "attempt " + row.id.to_string() + " ended before it started");
  }
  run.store().events(0, [&](const db::Event& e) {
    if (e.id.sweep != id || e.kind != "ended") return;
    const auto at = e.data.find("\"node_seconds\":");
    if (at != std::string::npos) seconds += std::stod(e.data.substr(at + 15));
  });
  require(sweep.node_seconds >= 0 && std::abs(sweep.node_seconds - seconds) < 1e-6 * (1 + seconds),
          fmt::format("sweep {} has cost {} node seconds, its attempts {}", id, sweep.node_seconds,
                      seconds));
  check_promotions(run, sweep);
  check_looks(run, sweep);
  for (std::size_t i = 0; i < sweep.trials.size(); ++i)
    check_trial(run, sweep, static_cast<std::int64_t>(i + 1));
}

}  // namespace

/// At most one engine of a trial trains that was not told to end itself.
void check_training(Run& run, const Engine& began) {
  for (const Engine& other : run.engines.all())
    if (&other != &began && other.alive && other.training && other.id.sweep == began.id.sweep &&
        other.id.trial == began.id.trial && !given_up(other))
      throw Broken(fmt::format("attempt {} (start {}) trains while start {} of attempt {} does",
                               began.id.to_string(), began.start, other.start,
                               other.id.to_string()));
}

/// What people were told is in the record.
void check_record(Run& run) {
  for (const auto& [id, known] : run.sweeps) {
    const auto row = run.store().sweep(id);
    if (known.removed) {
      const auto& sweeps = run.controller()->state().sweeps;
      const auto it = sweeps.find(id);
      require(it == sweeps.end() || it->second.removing,
              fmt::format("the removal of sweep {} is forgotten", id));
      continue;
    }
    require(row.has_value(), fmt::format("sweep {} was accepted and is not there", id));
    require(row->name == known.name,
            fmt::format("sweep {} is called '{}' and not '{}'", id, row->name, known.name));
    if (known.cancelled) {
      const daemon::SweepState& sweep = run.controller()->state().sweeps.at(id);
      require(sweep.cancel || sweep.phase != SweepPhase::active,
              fmt::format("that sweep {} was cancelled is forgotten", id));
    }
  }
}

void check_now(Run& run) {
  if (run.machine) require(run.machine->harmed.empty(), run.machine->harmed);
  for (const auto& [id, sweep] : run.controller()->state().sweeps) {
    require(sweep.node_seconds >= 0, fmt::format("sweep {} has cost less than nothing", id));
    require(sweep.open >= 0 && sweep.nodes_in_flight >= 0,
            fmt::format("sweep {} counts less than nothing", id));
  }
}

void check_end(Run& run) {
  for (const Engine& engine : run.engines.all())
    require(!engine.alive, fmt::format("start {} is left over", engine.start));
  if (run.machine)
    require(run.machine->that([](const Process& p) { return !p.token.empty(); }).empty(),
            "a process is left over");
  for (const auto& [number, job] : run.slurm.jobs())
    require(job.of_a_stranger || (!job.waits() && !job.runs()),
            fmt::format("job {} is left over", number));
  for (const Engine& engine : run.engines.all()) {
    const bool own = engine.signal != 0 || engine.how == "failed" || engine.exit == 1;
    if (own) run.deeds_of(engine.id).own_failures += 1;
  }
  for (const auto& [id, known] : run.sweeps)
    check_sweep(run, id, known);
}

}  // namespace thalweg::simulation
