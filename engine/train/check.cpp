// --check: what a trial would need, without training.
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "engine/data/augment.h"
#include "engine/data/dataset.h"
#include "engine/data/split.h"
#include "engine/gpu/gpu.h"
#include "engine/nn/model.h"
#include "engine/optim/optimizer.h"
#include "engine/schedule/schedule.h"
#include "engine/train/attempt.h"
#include "engine/train/kernels.h"
#include "engine/train/memory.h"
#include "engine/train/options.h"
#include "engine/train/program.h"
#include "engine/train/validation.h"
#include "jobspec/trial.h"

namespace thalweg::engine {
namespace {

std::string grouped(std::int64_t n) {
  std::string text = std::to_string(n);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

std::string mebibytes(double bytes) {
  constexpr double kMiB = 1 << 20;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", bytes / kMiB);
  return text;
}

double resident_bytes() {
  std::ifstream in("/proc/self/statm");
  double total = 0, resident = 0;
  in >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// Memory of one lane: what a shard of zeros makes resident.
double lane_bytes(const Model& model, const Dataset& dataset, int samples) {
  const auto n = static_cast<std::size_t>(samples);
  const std::vector<float> inputs(n * static_cast<std::size_t>(elements(dataset.sample_shape())));
  const std::vector<std::int32_t> labels(n * static_cast<std::size_t>(dataset.form().labels));
  const std::vector<float> targets(n * static_cast<std::size_t>(dataset.form().targets));
  Buffer parameters = Buffer::of_floats(model.parameter_floats());
  Buffer gradients = Buffer::of_floats(model.parameter_floats());
  Buffer statistics = Buffer::of_floats(model.statistics());
  std::fill_n(gradients.floats(), model.parameter_floats(), 0.0f);
  model.initialize(1, parameters.floats(), statistics.floats());
  const double before = resident_bytes();
  const auto lane = model.lane();
  Batch batch;
  batch.inputs = inputs.data();
  batch.labels = labels.data();
  batch.targets = targets.data();
  batch.samples = samples;
  lane->train(parameters.floats(), batch, 1, gradients.floats(), statistics.floats(), [](int) {});
  return std::max(0.0, resident_bytes() - before);
}

}  // namespace

std::string check_trial(const std::filesystem::path& trial_file) {
  const jobspec::Trial trial = jobspec::read_trial(trial_file);
  const jobspec::Value config = complete(trial.train, train_schema(), trial_file.string());
  Settings settings = read_settings(config, trial.resources.gpus_per_node);
  const int ranks = trial.resources.ranks();
  std::vector<std::string> notes;
  if (settings.device == "cuda" && config.find("device")->as_string() == "auto" &&
      gpu::gpu_count() == 0) {
    // As on a login node; where it trains, it needs them.
    notes.push_back("resources.gpus_per_node asks for GPUs, and this machine has none (" +
                    gpu::why_no_gpu() + "): checked for device cpu; here it would not train");
    settings = read_settings(config);
  }
  const int shards = choose_shards(settings, ranks, 0);
  const double before = resident_bytes();
  const auto dataset = load_dataset(*config.find("data"));
  for (const std::string& note : dataset->notes())
    notes.push_back(note);
  const Augmenter augmenter(*config.find("augment"), dataset->form());  // says what does not fit
  const double data_bytes = resident_bytes() - before;
  const Split samples = split_samples(*dataset, *config.find("data"));
  const Plan plan = make_plan(settings, samples.training.size());
  const int shard_batch = settings.global_batch / shards;
  const int pieces = micro_batches(config, shards);
  const auto model = build_model(*config.find("model"), input_shape(*dataset), shard_batch / pieces,
                                 settings.device, *config.find("loss"), compile_options(settings));
  const auto optimizer = make_optimizer<float>(*config.find("optimizer"), parameters_of(*model));
  std::string lr_note;
  const double base_lr = base_learning_rate(*config.find("optimizer"), model->name(), &lr_note);
  for (const std::string& note : {lr_note, shards_note(settings, ranks, shards)})
    if (!note.empty()) notes.push_back(note);
  const Mixer mixer(*config.find("augment"), dataset->form());
  require_blendable(mixer, model->loss());
  require_watched(*make_schedule(*config.find("schedule"), plan.length), model->loss());
  const std::string schedule = describe_schedule(*config.find("schedule"), plan.length, base_lr);

  const int local_shards = (shards + ranks - 1) / ranks;
  const int lanes = model->joins_shards()
                        ? local_shards
                        : std::clamp(trial.resources.threads_per_rank, 1, local_shards);
  const Sharding sharding{shards, settings.global_batch, 0, local_shards, pieces};
  const BatchSource source{*dataset, augmenter, mixer};
  require_memory(config, settings, input_shape(*dataset), *model, *optimizer, source, sharding);
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += name + std::string(12 - std::string(name).size(), ' ') + value + "\n";
  };
  line("trial",
       trial.id.to_string() + ": " + model->name() + " on " + config.find("data.name")->to_text() +
           ", device " + settings.device +
           (settings.precision == Precision::fp32 ? ""
                                                  : ", " + config.find("precision")->as_string()));
  line("parameters", grouped(model->parameter_count()));
  line("samples",
       grouped(static_cast<std::int64_t>(samples.training.size())) + " to train on, " +
           grouped(static_cast<std::int64_t>(samples.validation.size())) + " to validate" +
           (samples.test.empty()
                ? ""
                : ", " + grouped(static_cast<std::int64_t>(samples.test.size())) + " to test"));
  line("batch", grouped(settings.global_batch) + " in " + std::to_string(shards) +
                    (shards == 1 ? " shard of " : " shards of ") + std::to_string(shard_batch) +
                    (pieces == 1 ? "" : " (each as " + std::to_string(pieces) + " micro-batches)") +
                    ", " + std::to_string(ranks) + (ranks == 1 ? " rank, " : " ranks, ") +
                    std::to_string(lanes) + (lanes == 1 ? " thread each" : " threads each"));
  line("steps", grouped(plan.length.total_steps) + ", " + grouped(plan.length.steps_per_epoch) +
                    " an epoch");
  line("schedule", schedule);
  if (const gpu::Gpu* gpu = model->gpu()) {
    line("memory", mebibytes(data_bytes) + " of the host a rank: samples");
    MemoryNeeds needs = memory_needs(*model, *optimizer, source, sharding, 1);
    const bool measures = measures_kernels(settings, gpu->info());
    if (measures)
      needs.workspace = std::max(
          needs.workspace, workspace_within(needs, settings.kernels.workspace, gpu->free_bytes()));
    line("GPU memory",
         needs.line() + ", of " + in_mebibytes(gpu->free_bytes()) + " free on " + gpu->info().name);
    line("kernels", std::to_string(model->library_calls().size()) + " kinds of library calls" +
                        (measures ? " are measured at the start, unless an earlier attempt has; "
                                    "the fastest are taken, within "
                                  : ", as the libraries think best within ") +
                        in_mebibytes(measures ? needs.workspace : settings.kernels.workspace) +
                        " of workspace");
    for (const std::string& note : notes)
      line("note", note);
    return text;
  }
  const MemoryNeeds needs = memory_needs(*model, *optimizer, source, sharding, lanes);
  const auto weights = static_cast<double>(needs.parameters + needs.optimizer);
  const auto gradients = static_cast<double>(needs.gradients);
  // Measured: kernels take memory that no plan knows of.
  const double activations = lanes * lane_bytes(*model, *dataset, shard_batch / pieces);
  line("memory", mebibytes(data_bytes + weights + gradients + activations) + " a rank: samples " +
                     mebibytes(data_bytes) + ", parameters and optimizer " + mebibytes(weights) +
                     ", gradients " + mebibytes(gradients) + ", activations " +
                     mebibytes(activations));
  for (const std::string& note : notes)
    line("note", note);
  return text;
}

}  // namespace thalweg::engine
