// A world of one rank that computes on the processor, whatever the trial ran on: weights lie in
// checkpoints in a layout of no device. What validation would evaluate is made as training makes
// it, the optimizer's averages and their batch-norm statistics included.
#include "engine/train/restored.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "engine/comm/group.h"
#include "engine/comm/wireup/wireup.h"
#include "engine/data/dataset.h"
#include "engine/device/input_shape.h"
#include "engine/sync/device/evaluation.h"
#include "engine/sync/executor_pool.h"
#include "engine/train/checkpoint.h"
#include "engine/train/metrics.h"
#include "engine/train/validation.h"

namespace thalweg::engine {
namespace {

/// One rank, with executors and chunks of its own.
class Evaluator {
 public:
  explicit Evaluator(const Restored& of)
      : wireup_(comm::Wireup::connect()),
        group_(wireup_->transport()),
        executors_(*of.model, std::max(1, of.trial.resources.threads_per_rank)),
        evaluation_(*of.model, *of.dataset, executors_, of.batch) {}

  Evaluation& evaluation() { return evaluation_; }
  comm::Group& group() { return group_; }

 private:
  std::unique_ptr<comm::Wireup> wireup_;
  comm::Group group_;
  ExecutorPool executors_;
  Evaluation evaluation_;
};

Settings on_the_host(const Settings& settings) {
  Settings host;
  host.device = settings.device == "cuda" ? "cpu" : settings.device;
  return host;
}

FoundCheckpoint find(const jobspec::Trial& trial, const std::filesystem::path& trial_file,
                     const WhichCheckpoint& which) {
  if (!which.file.empty()) return {read_checkpoint(which.file), which.file, {}};
  std::vector<std::filesystem::path> folders{std::filesystem::absolute(trial_file).parent_path() /
                                             checkpoints_folder};
  folders.insert(folders.end(), trial.resume.begin(), trial.resume.end());
  if (which.best) return best_checkpoint(folders);
  FoundCheckpoint found = newest_checkpoint(folders);
  if (found.checkpoint) return found;
  std::string why = "there is no checkpoint in " + folders.front().string();
  for (const std::string& reason : found.rejected)
    why += "; " + reason;
  throw std::invalid_argument(why + " (checkpoint.every says how often one is written)");
}

jobspec::Trial read_engine_trial(const std::filesystem::path& trial_file) {
  jobspec::Trial trial = jobspec::read_trial(trial_file);
  if (trial.program)
    throw std::invalid_argument(trial_file.string() +
                                ": a program of your own runs this trial: only it can read the "
                                "checkpoints that it has written");
  return trial;
}

}  // namespace

Restored::~Restored() = default;

Restored::Restored(const std::filesystem::path& trial_file, const WhichCheckpoint& which,
                   int at_once)
    : trial(read_engine_trial(trial_file)),
      factory(
          complete_for(trial.train, trial.resources.ranks(), train_schema(), trial_file.string())) {
  const Settings settings = factory.settings(trial.resources.gpus_per_node);
  FoundCheckpoint found = find(trial, trial_file, which);
  const Checkpoint& c = *found.checkpoint;
  file = found.file;
  step = c.step;
  dataset = factory.dataset();
  samples = factory.split(*dataset);
  batch = at_once > 0 ? at_once : settings.global_batch / c.shards / c.micro_batches;
  model = factory.model(input_shape(*dataset), batch, on_the_host(settings));
  optimizer = factory.optimizer(parameters_of(*model));
  replica = std::make_unique<Replica>(*model, *optimizer);
  if (c.parameters.size() != static_cast<std::size_t>(model->parameter_count()) ||
      c.running.size() != model->statistics() || c.states.size() != replica->states.size() ||
      c.own.size() != replica->own.size() || c.scalars.size() != replica->scalars.size())
    throw BadCheckpoint(file.string() + ": its sizes are not those of this trial's model");
  model->from_plain(c.parameters.data(), replica->parameters.floats());
  for (std::size_t i = 0; i < c.states.size(); ++i)
    model->from_plain(c.states[i].data(), replica->states[i].floats());
  replica->own.assign(c.own.begin(), c.own.end());
  replica->scalars.assign(c.scalars.begin(), c.scalars.end());
  running = c.running;
  if (!optimizer->has_eval_weights() || running.empty()) return;
  Evaluator evaluator(*this);
  running = statistics_at(evaluator.evaluation(), samples.training, running.size(), weights(),
                          evaluator.group());
}

std::string evaluate_trial(const std::filesystem::path& trial_file, const WhichCheckpoint& which,
                           bool as_json) {
  Restored restored(trial_file, which);
  Evaluator evaluator(restored);
  std::vector<std::pair<std::string, double>> metrics;
  for (const auto& [set, samples] : {std::pair{metric::validation, &restored.samples.validation},
                                     std::pair{metric::test, &restored.samples.test}}) {
    if (samples->empty()) continue;
    const EvalResult evaluated =
        validate(evaluator.evaluation(), *samples, restored.model->loss(), restored.weights(),
                 restored.running.data(), evaluator.group());
    metrics.emplace_back(held_out_metric(set, metric::loss), evaluated.loss);
    for (const EvalResult::Metric& m : evaluated.metrics)
      metrics.emplace_back(held_out_metric(set, m.name), m.value);
  }
  if (as_json) {
    jobspec::Map values;
    for (const auto& [name, value] : metrics)
      values.emplace_back(name, value);
    return jobspec::Value(jobspec::Map{{"checkpoint", restored.file.string()},
                                       {"step", restored.step},
                                       {"metrics", std::move(values)}})
               .to_json() +
           "\n";
  }
  std::string text =
      "checkpoint " + restored.file.string() + ", step " + std::to_string(restored.step) + "\n";
  for (const auto& [name, value] : metrics) {
    char line[96];
    std::snprintf(line, sizeof line, "%-16s %.6g\n", name.c_str(), value);
    text += line;
  }
  return text;
}

}  // namespace thalweg::engine
