// The main loop.
#include "engine/train/train.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/attempt/claim.h"
#include "engine/attempt/fence.h"
#include "engine/sync/replica_check.h"
#include "engine/threads/denormals.h"
#include "engine/threads/threads.h"
#include "engine/train/checkpoint_interval.h"
#include "engine/train/describe_failure.h"
#include "engine/train/metrics.h"
#include "engine/train/step_samples.h"
#include "engine/train/validation.h"

namespace thalweg::engine {
namespace {

constexpr const char* kGivenUp =
    "fenced: the controller has given this attempt up; a later one continues";

std::string four_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

/// `ends`: the interval ends here, also where the batch grows; one of log.every's does in any case.
void report_interval(Attempt& a, bool ends = false) {
  std::vector<MetricPoint> points =
      a.interval.report(a.step, a.learning_rate(a.step - 1), a.epochs(), a.flops_per_sample,
                        ends || a.step % a.plan.log_every == 0);
  if (!a.growth.idle()) {
    points.push_back({metric::batch_size, a.step,
                      static_cast<double>(a.settings.global_batch) * a.growth.multiple()});
    points.push_back(
        {metric::batch_samples, a.step, static_cast<double>(a.growth.samples(a.step))});
  }
  if (a.on_demand)
    points.push_back({metric::batch_samples, a.step,
                      a.base_steps(a.step) * static_cast<double>(a.settings.global_batch)});
  const std::vector<MetricPoint> noise = a.noise.report(a.step);
  points.insert(points.end(), noise.begin(), noise.end());
  a.record.metrics(points);
}

/// Adds an evaluation's metrics; the same in words: ", val/loss 0.3000, val/error 0.1000".
std::string add_metrics(const char* set, const EvalResult& evaluated, std::int64_t step,
                        std::vector<MetricPoint>& metrics) {
  const std::size_t first = metrics.size();
  metrics.push_back({held_out_metric(set, metric::loss), step, evaluated.loss});
  for (const EvalResult::Metric& m : evaluated.metrics)
    metrics.push_back({held_out_metric(set, m.name), step, m.value});
  std::string text;
  for (std::size_t i = first; i < metrics.size(); ++i)
    text += ", " + metrics[i].name + " " + four_digits(metrics[i].value);
  return text;
}

/// Of all ranks, with each validation. Collective.
std::vector<MetricPoint> report_ranks(Attempt& a) {
  const Energy energy = a.in.simulated == nullptr ? a.energy.joules() : Energy();
  RankTimes::All all = a.rank_times.gather(a.in.group, energy);
  if (a.tuned_buckets) {
    const auto add = [&](const char* name, std::size_t bytes) {
      all.record.emplace_back(name, static_cast<double>(bytes) / (1 << 20));
    };
    add("bucket_mib", a.tuned_buckets->bytes);
    add("first_bucket_mib", a.tuned_buckets->first_bytes);
  }
  if (a.step > 0) a.record.ranks(a.step, std::move(all.record));
  std::vector<MetricPoint> points;
  for (const auto& [name, joules] : {std::pair{metric::cpu_energy_j, all.energy.cpu},
                                     std::pair{metric::gpu_energy_j, all.energy.gpu},
                                     std::pair{metric::node_energy_j, all.energy.node},
                                     std::pair{metric::slurm_energy_j, all.energy.slurm}})
    if (!std::isnan(joules)) points.push_back({name, a.step, joules});
  return points;
}

/// Of a world's clock.
double world_seconds() {
  return std::chrono::duration<double>(threads::now().time_since_epoch()).count();
}

/// Since the program was started; of a world's clock since its beginning.
double process_seconds() {
  if (threads::world() != nullptr) return world_seconds();
  static const Stopwatch since_start;
  return since_start.ms() / 1000;
}
const double clock_starts = process_seconds();  // before main()

/// What the attempt has spent on other things than training up to now.
std::vector<MetricPoint> spent_points(const Attempt& a) {
  return {{metric::startup_s, a.step, a.startup_s},
          {metric::kernels_s, a.step, a.spent.kernels},
          {metric::validation_s, a.step, a.spent.validation},
          {metric::checkpoint_s, a.step, a.spent.checkpoints}};
}

/// `train_loss`: of the last step; nothing before the first one.
void report_validation(Attempt& a, std::optional<double> train_loss) {
  const Stopwatch whole;
  const float* weights = a.mode->evaluated();
  const float* running = a.replica->running.floats();
  FlatVector measured;
  if (a.optimizer->has_eval_weights() && a.model->statistics() > 0) {
    const std::vector<float> values = statistics_at(*a.evaluation, a.samples.training,
                                                    a.model->statistics(), weights, a.in.group);
    measured = FlatVector::of(*a.model, values.size(), "running statistics");
    measured.write(values.data());
    running = measured.floats();
  }
  const auto evaluate = [&](const std::vector<std::uint32_t>& samples) {
    return validate(*a.evaluation, samples, a.model->loss(), weights, running, a.in.group);
  };
  const EvalResult evaluated = evaluate(a.samples.validation);
  if (!std::isfinite(evaluated.loss) && !std::exchange(a.looked_at_validation, true))
    if (const std::string data = not_finite_in(*a.dataset, a.samples.validation); !data.empty())
      a.record.note("warning", "val/loss is not finite: " + data);
  std::vector<MetricPoint> metrics;
  std::string text = add_metrics(metric::validation, evaluated, a.step, metrics);
  for (const MetricPoint& m : metrics) {  // the same numbers on every rank
    a.schedule->observe(a.schedule_step(a.step), m.name, m.value);
    a.stop_rule.observe(a.step, m.name, m.value);
    a.best.observe(a.step, m.name, m.value);
  }
  // After both have looked: nothing that steers training may see the test.
  const bool tests = a.settings.always_tests || a.plan.last(a.step) || a.stops();
  if (tests && !a.samples.test.empty())
    text += add_metrics(metric::test, evaluate(a.samples.test), a.step, metrics);
  a.spent.validation += whole.ms() / 1000;
  for (const auto& [name, value] : a.mode->measured())
    metrics.push_back({name, a.step, value});
  for (const std::vector<MetricPoint>& more : {spent_points(a), report_ranks(a)})
    metrics.insert(metrics.end(), more.begin(), more.end());
  a.record.metrics(metrics);
  if (!a.is_root()) return;
  if (train_loss)
    text = ": loss " + four_digits(*train_loss) + text;
  else
    text.replace(0, 1, ":");
  std::fprintf(stderr, "%s: step %lld of %lld%s\n", a.in.trial.id.to_string().c_str(),
               static_cast<long long>(a.step), static_cast<long long>(a.plan.end_step),
               text.c_str());
}

/// Throws where a rank has other numbers than most, or gives it theirs.
void compare_replicas(Attempt& a) {
  const auto found = find_divergence(a.in.group, *a.model, *a.replica, a.mode->gradient());
  if (!found) return;
  const std::string text = describe(*found, a.in.group) + " after step " + std::to_string(a.step);
  if (!a.settings.repairs_replicas)
    throw std::runtime_error(text +
                             " (a processor or memory that errs, or another library there?)");
  broadcast_replica(a.in.group, *a.replica, found->reference);
  a.mode->replica_written();
  a.record.note("warning",
                text + ": all have those of rank " + std::to_string(found->reference) + " now");
}

bool diverges(const StepOutcome& step) {
  return !std::isfinite(step.loss) || !step.not_finite.empty();
}

Outcome diverged(Attempt& a, const StepOutcome& step, StepSamples& samples) {
  const std::int64_t number = step.step + 1;
  const std::string what = std::isfinite(step.loss)
                               ? "the gradient of " + step.not_finite + " was not finite"
                               : "the loss became " + jobspec::Value(step.loss).to_text();
  const std::string when = what + " at step " + std::to_string(number) + " (lr " +
                           jobspec::Value(a.learning_rate(number - 1)).to_text() + ")";
  const std::string data = not_finite_in(*a.dataset, samples.of(step.step));
  const std::string reason = "diverged: " + (data.empty() ? when : data + "; " + when);
  report_interval(a);
  a.record.note("warning", reason);
  return {ExitCode::diverged, number, reason};
}

/// The later attempt begins at this one's last checkpoint, so a fenced one writes it as well.
Outcome stopped(Attempt& a) {
  a.save_checkpoint();
  char fenced = a.in.fenced() ? 1 : 0;
  a.in.group.broadcast(&fenced, sizeof fenced, 0);
  if (fenced == 0) return {ExitCode::stopped, a.step, "asked to stop"};
  return {ExitCode::superseded, a.step, kGivenUp};
}

/// By the stop rule. What was not reported yet is; the weights stay where checkpoints are kept.
Outcome stopped_early(Attempt& a) {
  if (a.interval.steps() > 0) report_interval(a);
  if (!a.plan.checkpoint.never())
    a.save_checkpoint();
  else if (a.best.is(a.step))
    a.save_best();
  if (a.is_root())
    std::fprintf(stderr, "%s: stopped: %s\n", a.in.trial.id.to_string().c_str(),
                 a.stop_rule.reason().c_str());
  a.record.note("info", "stopped: " + a.stop_rule.reason());
  return {ExitCode::finished, a.step, a.stop_rule.reason()};
}

/// At a rung: as when asked to stop, and a later attempt goes on if this is among the best. Its
/// checkpoint is there.
Outcome paused(const Attempt& a) {
  return {ExitCode::stopped, a.step, "paused at step " + std::to_string(a.step)};
}

/// Returns whether some rank was asked to stop.
bool take(Attempt& a, const StepOutcome& outcome) {
  a.interval.add(outcome, a.sharding.global_batch);
  a.rank_times.add(outcome);
  if (outcome.noise) a.noise.add(*outcome.noise);
  return outcome.stop;
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

int nodes_of(const comm::Group& group) {
  std::set<std::string> nodes;
  for (int rank = 0; rank < group.size(); ++rank)
    nodes.insert(group.node_of(rank));
  return static_cast<int>(nodes.size());
}

/// A checkpoint, and from what it took the time of the next one where that is `auto`.
void save_in_time(Attempt& a, Due& checkpoints, CheckpointInterval& interval) {
  const double before = a.spent.checkpoints;
  a.save_checkpoint();
  if (!a.plan.checkpoint.automatic || !a.is_root()) return;
  const bool first = !interval.measured();
  interval.took(a.spent.checkpoints - before);
  checkpoints.set_seconds(interval.seconds());
  if (!first) return;
  a.record.note("info", "checkpoint.every_seconds: auto is " + seconds_text(interval.seconds()) +
                            ": training waits " + seconds_text(a.spent.checkpoints - before) +
                            " for a checkpoint, and a failure is expected every " +
                            seconds_text(interval.between_failures_s()));
}

/// What comes before the first step; an outcome where there is none to do.
std::optional<Outcome> begin(Attempt& a) {
  if (a.plan.last(a.step) || a.mode->ends())
    return Outcome{ExitCode::finished, a.step, "all steps were done before"};
  if (a.stops()) return Outcome{ExitCode::finished, a.step, a.stop_rule.reason()};
  if (a.pauses()) return paused(a);
  a.startup_s = process_seconds();
  if (a.step != 0 || a.resumed || !a.settings.eval_at_start) return {};
  report_validation(a, {});
  if (a.stops()) return stopped_early(a);
  if (a.best.is(0)) a.save_best();
  return {};
}

Outcome train_on(Attempt& a) {
  if (const auto ended = begin(a)) return *ended;
  Due validations(a.plan.eval, a.step, process_seconds);
  Due checkpoints(a.plan.checkpoint, a.step, process_seconds);
  CheckpointInterval interval(a.in.trial.node_failure_s, nodes_of(a.in.group));
  if (a.plan.checkpoint.automatic) checkpoints.set_seconds(interval.seconds());
  StepSamples samples(a);

  while (!a.plan.last(a.step)) {
    const Stopwatch whole;
    std::optional<StepOutcome> outcome = a.mode->step(samples.input());
    const double data_ms = samples.take_wait_ms();
    bool stopping = outcome && take(a, *outcome);
    if (outcome && diverges(*outcome)) return diverged(a, *outcome, samples);

    ++a.step;
    if (a.mode->ends()) a.plan.end_step = a.step;
    // Whoever reads the replica or reports this very step needs it done.
    const bool grows = a.batch_grows();
    const bool last = a.plan.last(a.step), logs = grows || a.plan.log_due(a.step);
    const bool may_evaluate = last || validations.possible(a.step);
    const bool may_save = checkpoints.possible(a.step) || (last && !a.plan.checkpoint.never());
    const bool compares = a.settings.compare_every > 0 && a.step % a.settings.compare_every == 0;
    if (stopping || logs || may_evaluate || may_save || compares || a.writes_slices()) {
      if (auto settled = a.mode->settle()) {
        stopping = take(a, *settled) || stopping;
        if (diverges(*settled)) return diverged(a, *settled, samples);
        outcome = std::move(settled);
      }
    }
    if (stopping || may_evaluate || may_save || compares)
      if (const auto met = a.mode->meet()) return diverged(a, *met, samples);
    a.look_at_checkpoint();
    if (compares) compare_replicas(a);
    a.interval.add_time(data_ms, whole.ms());
    a.rank_times.add_data(data_ms);
    if (logs) {
      report_interval(a, grows);
      a.energy.keep_up();
    }
    const bool evaluated = may_evaluate && (last || validations.decide(a.step, a.in.group));
    if (evaluated) report_validation(a, outcome ? std::optional(outcome->loss) : std::nullopt);
    if (a.stops() && !last) return stopped_early(a);
    if (evaluated && a.pauses()) {
      a.save_checkpoint();
      return paused(a);
    }
    // Every rank saw the same wish in the step's sums: all stop here, after the same step.
    stopping = stopping && !last;
    if (stopping) return stopped(a);
    if (may_save && (last || checkpoints.decide(a.step, a.in.group)))
      save_in_time(a, checkpoints, interval);
    else if (evaluated && a.best.is(a.step))
      a.save_best();
    if (!grows || last) continue;
    a.resize_batch();
    samples.restart();
  }
  return {ExitCode::finished, a.step, ""};
}

}  // namespace

Outcome train(Attempt& a) {
  const Outcome outcome = train_on(a);
  a.finish_checkpoint();
  return outcome;
}

namespace {

/// The group's warnings of stalls stand in the journal too, from when there is one.
class Warnings {
 public:
  Warnings(comm::Group& group, const std::unique_ptr<Record>& record) : group_(group) {
    group_.on_warning([&record](const std::string& text) {
      comm::warn_on_stderr(text);
      if (record) record->note("warning", text);
    });
  }
  ~Warnings() { group_.on_warning(comm::warn_on_stderr); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

 private:
  comm::Group& group_;
};

const char* status_of(ExitCode code) {
  switch (code) {
    case ExitCode::finished:
      return "finished";
    case ExitCode::stopped:
      return "stopped";
    case ExitCode::superseded:
      return "fenced";
    default:
      return "failed";
  }
}

/// Of rank 0, from when the attempt is its own.
std::unique_ptr<Fence> make_fence(const AttemptInput& in, std::shared_ptr<const StopFlag> heard,
                                  const std::unique_ptr<Record>& record) {
  claim_attempt(in.trial, in.folder);
  return std::make_unique<Fence>(in.folder, std::move(heard), [&record] {
    // The ranks do not come to a common stop: nothing more of this attempt is written.
    if (record) record->last("fenced", kGivenUp);
    std::fprintf(stderr, "thalweg-train: %s\n", kGivenUp);
    _exit(static_cast<int>(ExitCode::superseded));
  });
}

}  // namespace

Outcome run_attempt(const AttemptInput& input) {
  const FlushDenormals flush;
  AttemptInput in = input;
  const bool leads = in.group.rank() == 0;
  std::unique_ptr<Record> record;
  std::unique_ptr<Fence> fence;  // its thread has ended when the record goes
  const Warnings warnings(in.group, record);
  std::unique_ptr<Attempt> attempt;
  try {
    together(in.group, [&] {
      const auto heard = std::make_shared<StopFlag>();
      if (leads && in.simulated == nullptr) fence = make_fence(in, heard, record);
      if (fence) in.fence = &fence->flag();
      record = std::make_unique<Record>(
          in.trial, in.folder, leads, [heard] { heard->request(); },
          threads::world() == nullptr ? Journal::Now{} : world_seconds);
    });
    attempt = std::make_unique<Attempt>(in, *record);
    const Outcome outcome = train(*attempt);
    record->end(status_of(outcome.code), outcome.step, outcome.reason);
    in.group.barrier();  // a rank that leaves early would look like a lost one
    return outcome;
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    try {
      if (record)
        record->end(attempt ? attempt->step : 0,
                    describe_failure(error, in.group.rank(), in.group.node_of(in.group.rank())));
    } catch (const std::exception&) {
      // The journal cannot be written: that may be the very error, which goes on its way.
    }
    std::rethrow_exception(error);
  }
}

}  // namespace thalweg::engine
