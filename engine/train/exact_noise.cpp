#include "engine/train/exact_noise.h"

#include <algorithm>
#include <stdexcept>

#include "engine/data/dataset.h"
#include "engine/data/mixing.h"
#include "engine/data/pixel_answers.h"
#include "engine/device/batch.h"
#include "engine/device/executor.h"
#include "engine/device/input_shape.h"
#include "engine/optim/norm.h"
#include "engine/train/attempt.h"
#include "engine/train/checkpoint.h"
#include "engine/train/factory.h"
#include "engine/train/options.h"
#include "jobspec/complete.h"
#include "jobspec/schema.h"
#include "jobspec/trial.h"

namespace thalweg::engine {
namespace {

/// Gradients that one executor adds up before they join the whole: enough that joining costs
/// little.
constexpr std::size_t kChunk = 64;

/// Of some batches, computed by one executor.
struct Part {
  explicit Part(std::size_t floats)
      : gradient(Buffer::of_floats(floats)), sum(floats), squares(0) {}
  Buffer gradient;
  std::vector<double> sum;  ///< of mean gradients
  double squares;           ///< of their squared norms
};

/// The samples of one batch, contiguous.
struct Batched {
  explicit Batched(const ExactNoiseInput& in)
      : floats(input_floats(in.dataset.form())),
        labels_each(static_cast<std::size_t>(in.dataset.form().labels)),
        targets_each(static_cast<std::size_t>(in.dataset.form().targets)),
        original(floats),
        inputs(floats * static_cast<std::size_t>(in.batch)),
        targets(targets_each * static_cast<std::size_t>(in.batch)),
        labels(labels_each * static_cast<std::size_t>(in.batch)) {}

  Batch fill(const ExactNoiseInput& in, std::size_t number) {
    const auto size = static_cast<std::size_t>(in.batch);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t place = number * size + i;
      const std::uint32_t sample = in.samples[place];
      float* to = inputs.data() + i * floats;
      in.dataset.copy(sample, in.augmenter != nullptr ? original.data() : to);
      if (in.augmenter != nullptr)
        in.augmenter->apply(in.seed, 0, static_cast<std::uint32_t>(place), original.data(), to);
      copy_answers(in.dataset, sample, in.augmenter, {in.seed, 0, place}, answers,
                   labels.data() + i * labels_each, targets.data() + i * targets_each);
    }
    Batch batch;
    batch.inputs = inputs.data();
    batch.labels = labels.data();
    batch.targets = targets.data();
    batch.samples = in.batch;
    batch.seed = in.seed;
    batch.first_sample = number * size;
    return batch;
  }

  std::size_t floats, labels_each, targets_each;
  std::vector<float> original, inputs, targets;
  std::vector<std::int32_t> labels;
  AnswerWorkspace answers;
};

void add_up(const ExactNoiseInput& in, std::size_t begin, std::size_t end, Executor& executor,
            Part& part) {
  Batched batched(in);
  std::vector<float> statistics(in.model.statistics());
  float* gradient = part.gradient.floats();
  for (std::size_t number = begin; number < end; ++number) {
    std::fill_n(gradient, part.sum.size(), 0.0f);
    executor.train(in.parameters, batched.fill(in, number), 1.0f / static_cast<float>(in.batch),
                   gradient, statistics.data(), [](int) {});
    part.squares += optim::sum_of_squares(part.sum.size(), gradient);
    for (std::size_t i = 0; i < part.sum.size(); ++i)
      part.sum[i] += static_cast<double>(gradient[i]);
  }
}

std::string in_words(const ExactNoise& noise, std::int64_t step) {
  char text[400];
  std::snprintf(text, sizeof text,
                "B_simple      %.6g samples\n"
                "tr(Sigma)     %.6g\n"
                "|G|^2         %.6g\n"
                "gradients     of %lld samples, %d at a time, at step %lld\n",
                noise.b_simple(), noise.trace, noise.squared_norm,
                static_cast<long long>(noise.samples), noise.batch, static_cast<long long>(step));
  return text;
}

}  // namespace

ExactNoise exact_noise(const ExactNoiseInput& in, ExecutorPool& executors) {
  const std::size_t floats = in.model.parameter_floats();
  const std::size_t batches = in.samples.size() / static_cast<std::size_t>(in.batch);
  if (batches == 0)
    throw std::invalid_argument("there are " + std::to_string(in.samples.size()) +
                                " training samples, not even one batch of " +
                                std::to_string(in.batch));
  const std::size_t chunks = (batches + kChunk - 1) / kChunk;
  const auto at_once = static_cast<std::size_t>(executors.threads());
  std::vector<double> sum(floats);
  double squares = 0;
  for (std::size_t first = 0; first < chunks; first += at_once) {
    std::vector<Part> parts;
    for (std::size_t i = first; i < std::min(chunks, first + at_once); ++i)
      parts.emplace_back(floats);
    executors.run(static_cast<int>(parts.size()), [&](int task, Executor& executor) {
      const std::size_t begin = (first + static_cast<std::size_t>(task)) * kChunk;
      add_up(in, begin, std::min(batches, begin + kChunk), executor,
             parts[static_cast<std::size_t>(task)]);
    });
    for (const Part& part : parts) {
      squares += part.squares;
      for (std::size_t i = 0; i < floats; ++i)
        sum[i] += part.sum[i];
    }
  }
  ExactNoise noise;
  noise.batch = in.batch;
  noise.samples = static_cast<std::int64_t>(batches) * in.batch;
  const auto n = static_cast<double>(batches);
  noise.squared_norm = optim::sum_of_squares(floats, sum.data()) / (n * n);
  noise.trace = in.batch * (squares / n - noise.squared_norm);
  return noise;
}

std::string noise_of_trial(const std::filesystem::path& trial_file, bool as_json) {
  const jobspec::Trial trial = jobspec::read_trial(trial_file);
  const Factory factory(
      complete_for(trial.train, trial.resources.ranks(), train_schema(), trial_file.string()));
  const Settings settings = factory.settings();
  const auto dataset = factory.dataset();
  const auto augmenter = factory.augmenter(*dataset);
  const Split samples = factory.split(*dataset);
  // Gradients are added up on the host, in fp32.
  Settings on_host;
  on_host.device = settings.device == "cuda" ? "cpu" : settings.device;
  const auto compiled_for = [&](int batch) {
    return factory.model(input_shape(*dataset), batch, on_host);
  };
  int batch = 1;
  auto model = compiled_for(batch);
  if (model->statistics() > 0) {
    // A sample alone has no batch statistics: as many as a shard has.
    const int shards = choose_shards(settings, {trial.resources.ranks(), trial.sweep_ranks}, 0);
    batch = settings.global_batch / shards / micro_batches(settings, shards);
    model = compiled_for(batch);
  }
  Buffer parameters = Buffer::of_floats(model->parameter_floats());
  Buffer running = Buffer::of_floats(model->statistics());
  std::vector<std::filesystem::path> folders{std::filesystem::absolute(trial_file).parent_path() /
                                             checkpoints_folder};
  folders.insert(folders.end(), trial.resume.begin(), trial.resume.end());
  const FoundCheckpoint found = newest_checkpoint(folders);
  if (found.checkpoint) {
    if (found.checkpoint->parameters.size() != static_cast<std::size_t>(model->parameter_count()))
      throw BadCheckpoint(found.file.string() + ": its sizes are not those of this model");
    model->from_plain(found.checkpoint->parameters.data(), parameters.floats());
  } else {
    model->initialize(trial.seed, parameters.floats(), running.floats());
  }
  ExecutorPool executors(*model, std::max(1, trial.resources.threads_per_rank));
  const ExactNoise noise =
      exact_noise({*dataset, samples.training, augmenter->idle() ? nullptr : augmenter.get(),
                   trial.seed, *model, parameters.floats(), batch},
                  executors);
  const std::int64_t step = found.checkpoint ? found.checkpoint->step : 0;
  if (!as_json) return in_words(noise, step);
  return jobspec::Value(jobspec::Map{{"step", step},
                                     {"samples", noise.samples},
                                     {"batch", noise.batch},
                                     {"b_simple", noise.b_simple()},
                                     {"trace", noise.trace},
                                     {"squared_norm", noise.squared_norm}})
             .to_json() +
         "\n";
}

}  // namespace thalweg::engine
