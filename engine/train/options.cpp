// The trainer's own options, and its reading of a complete tree.
#include "engine/train/options.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "engine/data/augment.h"
#include "engine/data/dataset.h"
#include "engine/data/mixing.h"
#include "engine/data/table.h"
#include "engine/device/input_shape.h"
#include "engine/device/layer.h"
#include "engine/gpu/gpu.h"
#include "engine/nn/model.h"
#include "engine/optim/optimizer.h"
#include "engine/sync/emulate.h"
#include "engine/sync/mode.h"
#include "engine/sync/options.h"
#include "engine/sync/server_roles.h"
#include "engine/train/batch_growth.h"
#include "engine/train/init_from.h"
#include "engine/train/libraries.h"
#include "engine/train/stop_rule.h"
#include "jobspec/complete.h"
#include "jobspec/option.h"
#include "jobspec/options.h"

namespace thalweg::engine {
namespace {

using jobspec::Option;
using jobspec::Section;
using jobspec::Value;

// `auto` reports this often in an epoch: a curve of a few epochs has a hundred points.
constexpr std::int64_t kReportsPerEpoch = 20;
constexpr double kMaxInt = std::numeric_limits<int>::max();

Option integer(const char* name, const char* doc, Value fallback, double min,
               double max = jobspec::no_limit) {
  return jobspec::int_option(name, std::move(fallback), min, max, doc);
}

Section section(const char* path, const char* doc, std::vector<Option> options) {
  Section s;
  s.path = path;
  s.doc = doc;
  s.options = std::move(options);
  return s;
}

/// `auto` first; the fast device where it was built.
std::vector<std::string> device_names() {
  std::vector<std::string> names{"auto"};
  for (const DeviceKind& device : device_table())
    names.push_back(device.name);
  return names;
}

Option device_option() {
  std::string doc = cuda_seen_on_gpu ? "what computes; auto: cuda where there is a GPU or "
                                       "resources.gpus_per_node asks for one, else cpu"
                                     : "what computes; auto: cpu";
  for (const DeviceKind& device : device_table())
    doc += "; " + device.name + ": " + device.doc;
  Option option = jobspec::choice_option("device", device_names(), doc);
  option.synonyms = {{"gpu", "cuda"}};  // by its letters nearest to cpu
  return option;
}

Section root() {
  using jobspec::no_limit;
  return section(
      "", "One training run",
      {integer("epochs", "how often to go through the training samples (1 unless steps is given)",
               {}, 1),
       integer("steps", "how many updates to make, instead of epochs", {}, 1), device_option(),
       jobspec::choice_option(
           "precision", precision_names(),
           "what is computed in; bf16: values between layers and products in bfloat16, parameters, "
           "their gradients, sums and losses in fp32 (GPUs, and processors with avx512_bf16 or "
           "AMX). tf32: factors have 10 bits of mantissa (GPUs)"),
       jobspec::choice_option("recompute", {"none", "blocks"},
                              "activation checkpointing: what backward computes again instead of "
                              "keeping it; blocks: most layers, one more "
                              "forward pass for less memory, the same numbers (device cuda)"),
       jobspec::float_option("clip_norm", 0.0, 0, no_limit,
                             "largest norm of the whole gradient: longer ones times this / norm, "
                             "without the 1e-6 that PyTorch adds to the norm; 0 = any"),
       jobspec::float_option(
           "clip_value", 0.0, 0, no_limit,
           "largest size of any element of the gradient, cut before clip_norm; 0 = any")});
}

/// Where a choice depends on a clock it is kept with the run: kernels.md.
Section kernels() {
  Option measure = jobspec::choice_option(
      "measure", {"auto", "always", "never"},
      "whether cuDNN's and cuBLASLt's algorithms for each call are timed at the start, and the "
      "fastest are used by all attempts of the run. never = the libraries' own choice, the same in "
      "every run; auto = on real GPUs");
  measure.synonyms = {{"true", "always"}, {"false", "never"}};
  return section(
      "kernels", "The libraries' kernels (device cuda)",
      {std::move(measure),
       jobspec::float_option("workspace_mib", 1024.0, 0, 1 << 20,
                             "memory that the kernels of one call may use beside its tensors, in "
                             "MiB; less where less is free"),
       jobspec::float_option("seconds", 120.0, 0, 86400,
                             "how long is measured at most; calls that are left then stay as the "
                             "libraries think best")});
}

Section eval() {
  std::vector<Option> options{integer("every", "epochs between two validations", 1, 1)};
  for (Option& option : every_options("validations"))
    options.push_back(std::move(option));
  options.push_back(jobspec::flag_option("at_start", false, "a first validation before step 1"));
  options.push_back(
      jobspec::choice_option("test", {"end", "always"},
                             "when the test samples are evaluated, where there are any: after the "
                             "last step, or with every validation"));
  return section("eval", "Validation", std::move(options));
}

Section checkpoint() {
  std::vector<Option> options{integer(
      "every", "steps between two checkpoints; 0 = only when asked to stop; auto = every epoch",
      "auto", 0)};
  for (Option& option : every_options("checkpoints")) {
    if (option.name == "every_seconds") {
      option.or_auto = true;
      option.doc +=
          "; auto = as often as loses the least time, by what checkpoints take and how often nodes "
          "have failed (Young)";
    }
    options.push_back(std::move(option));
  }
  options.push_back(integer("keep", "how many of the newest ones stay", 2, 1, kMaxInt));
  options.push_back(jobspec::flag_option(
      "best", false,
      "whether that of the validation with the best value of the sweep's metric stays, too; it is "
      "written at its step, whatever `every` says"));
  return section("checkpoint", "Checkpoints", std::move(options));
}

std::vector<Section> own_sections() {
  Option shards = integer("shards",
                          "logical parts of the batch, whatever the number of ranks. auto = the "
                          "batch's largest divisor up to 4 (GPUs: 1), or up to the smallest power "
                          "of two not below the largest number of ranks in the sweep",
                          "auto", 1, 65536);
  shards.divides = "batch.global";
  Option beta = jobspec::float_option(
      "beta", 0.99, 0, 0.999999,
      "what the past weighs in the running means of the two terms, from 0 to below 1");
  return {
      root(),
      section(
          "batch", "The global batch",
          {integer("global", "samples in one update, all ranks together", 128, 1, kMaxInt),
           integer("per_rank",
                   "instead of global: samples of each rank in one update, those of sync.servers "
                   "not counted",
                   {}, 1, kMaxInt),
           std::move(shards),
           jobspec::list_option("shares", {},
                                "relative share of the shards for each rank but those of "
                                "sync.servers: [1, 1, 2, 4] for ranks of these speeds, 0 for one "
                                "that computes none; changes no bit; default: equal"),
           jobspec::flag_option(
               "measure_shares", false,
               "whether the shares come from what each rank takes for a shard, measured at the "
               "start (device cpu)")}),
      batch_growth_section(),
      section(
          "noise", "The gradient noise scale, from the shards' gradients and their sum",
          {integer("every", "steps between two measurements; 0 = never", 1, 0), std::move(beta)}),
      section(
          "log", "Metrics",
          {integer("every", "steps between two reports; auto = 20 reports an epoch", "auto", 1)}),
      eval(),
      checkpoint(),
      stop_section(),
      init_from_section(),
      kernels(),
  };
}

}  // namespace

jobspec::Schema train_schema() {
  jobspec::Schema schema;
  schema.version = engine_version();
  schema.sections = own_sections();
  for (auto sections :
       {model_schema(), data_schema(), optimizer_schema(), schedule_schema(), sync_schema()})
    std::move(sections.begin(), sections.end(), std::back_inserter(schema.sections));
  schema.sections.push_back(augment_schema());
  schema.sections.push_back(emulate_section());
  return schema;
}

namespace {

void read_kernels(const jobspec::Options& options, Settings& s) {
  using enum Settings::Measure;
  const std::string& measure = options.text("measure");
  s.measure = measure == "always" ? always : measure == "never" ? never : automatic;
  if (s.measure == always && s.device != "cuda")
    throw std::invalid_argument("kernels.measure: device " + s.device +
                                " has no calls of libraries to measure; use device: cuda, or leave "
                                "it at auto");
  constexpr double kMiB = 1 << 20;
  s.kernels.workspace = static_cast<std::size_t>(options.real("workspace_mib") * kMiB);
  s.measure_seconds = options.real("seconds");
}

/// The trainer's own section of that path.
jobspec::Options options_at(const Value& complete, const std::string& path) {
  for (const Section& section : own_sections())
    if (section.path == path)
      return {path.empty() ? complete : *complete.find(path), section.options,
              path.empty() ? "" : path + "."};
  throw std::logic_error("no section " + path);
}

std::optional<std::int64_t> number_or_auto(const jobspec::Options& options, const char* name) {
  if (options.is_auto(name)) return std::nullopt;
  return options.integer(name);
}

/// Nothing = auto.
std::optional<Every> checkpoint_every(const jobspec::Options& options) {
  constexpr double kUnset = -1;
  Every every{Every::Unit::steps, kUnset};
  if (const auto steps = number_or_auto(options, "every"))
    every.count = static_cast<double>(*steps);
  every = read_every(options, "checkpoint", every);
  return every.count == kUnset ? std::nullopt : std::optional(every);
}

}  // namespace

Value complete_for(const Value& train, int ranks, const jobspec::Schema& schema,
                   const std::string& file) {
  Value complete = jobspec::complete_train(train, schema, file);
  const auto batch = options_at(complete, "batch");
  if (!batch.has("per_rank")) return complete;
  if (train.find("batch.global") != nullptr)
    throw std::invalid_argument(
        "batch.per_rank: both batch.global and batch.per_rank are set; keep one of them");
  const int workers = workers_of(ranks, dedicated_servers(*complete.find("sync")));
  const std::int64_t global = batch.integer("per_rank") * workers;
  if (global > std::numeric_limits<int>::max())
    throw std::invalid_argument("batch.per_rank: " + std::to_string(workers) + " ranks make " +
                                std::to_string(global) + " samples, more than can be counted");
  Value resolved = *complete.find("batch");
  std::erase_if(resolved.as_map(), [](const auto& entry) { return entry.first == "per_rank"; });
  resolved.set("global", global);
  complete.set("batch", std::move(resolved));
  return complete;
}

DeviceChoice resolve_device(const std::string& asked, int gpus_here, int gpus_per_node,
                            bool seen_on_gpu) {
  if (asked != "auto") return {asked, ""};
  if (seen_on_gpu) return {gpus_here > 0 || gpus_per_node > 0 ? "cuda" : "cpu", ""};
  const std::string why = std::string("auto is cpu, since cuda is ") + cuda_caveat;
  if (gpus_per_node > 0)
    throw std::invalid_argument(
        "device: " + why +
        ", and resources.gpus_per_node asks for GPUs; set device to cuda, or ask for none");
  if (gpus_here == 0) return {"cpu", ""};
  return {"cpu",
          "device " + why + "; the GPU of this machine is left alone, device: cuda takes it"};
}

Settings read_settings(const Value& complete, int gpus_per_node) {
  const auto root = options_at(complete, ""), batch = options_at(complete, "batch"),
             noise = options_at(complete, "noise"), eval = options_at(complete, "eval"),
             checkpoint = options_at(complete, "checkpoint");
  const jobspec::Options data(*complete.find("data"), data::common_options(), "data."),
      sync(*complete.find("sync"), sync_options(), "sync.");
  Settings s;
  s.global_batch = static_cast<int>(batch.integer("global"));
  if (!batch.is_auto("shards")) s.shards = static_cast<int>(batch.integer("shards"));
  s.micro_batches = static_cast<int>(sync.integer("accumulate"));
  s.compare_every = sync.integer("compare_every");
  s.shards_optimizer = sync.flag("shard_optimizer");
  s.servers = dedicated_servers(*complete.find("sync"));
  s.repairs_replicas = sync.text("on_difference") == "broadcast";
  if (batch.has("shares")) s.shares = batch.reals("shares");
  s.measures_shares = batch.flag("measure_shares");
  if (s.measures_shares && !s.shares.empty())
    throw std::invalid_argument(
        "batch.shares: both batch.shares and batch.measure_shares are set; keep one of them");
  if (root.has("epochs")) s.epochs = root.integer("epochs");
  if (root.has("steps")) s.steps = root.integer("steps");
  if (s.epochs && s.steps)
    throw std::invalid_argument("epochs: both epochs and steps are set; keep one of them");
  if (!s.epochs && !s.steps) s.epochs = 1;
  DeviceChoice device = resolve_device(root.text("device"), gpu::gpu_count(), gpus_per_node);
  s.device = std::move(device.name);
  s.device_note = std::move(device.note);
  if (s.measures_shares && s.device == "cuda")
    throw std::invalid_argument(
        "batch.measure_shares: a GPU's speed is not measured; give batch.shares");
  s.precision = precision_named(root.text("precision"));
  s.recompute = root.text("recompute") != "none";
  read_kernels(options_at(complete, "kernels"), s);
  s.clip_norm = root.real("clip_norm");
  s.clip_value = root.real("clip_value");
  s.shuffle_once = data.text("shuffle") == "once";
  s.loader_threads = static_cast<int>(data.integer("workers"));
  s.prefetch = static_cast<int>(data.integer("ahead"));
  s.noise_every = static_cast<int>(std::min<std::int64_t>(noise.integer("every"), 1 << 30));
  s.noise_beta = noise.real("beta");
  s.log_every = number_or_auto(options_at(complete, "log"), "every");
  s.eval_every =
      read_every(eval, "eval", {Every::Unit::epochs, static_cast<double>(eval.integer("every"))});
  s.eval_at_start = eval.flag("at_start");
  s.always_tests = eval.text("test") == "always";
  s.checkpoint_every = checkpoint_every(checkpoint);
  s.checkpoints_kept = static_cast<int>(checkpoint.integer("keep"));
  s.keeps_best = checkpoint.flag("best");
  return s;
}

CompileOptions compile_options(const Settings& settings) {
  CompileOptions options = settings.precision;
  options.recompute = settings.recompute;
  options.kernels = settings.kernels;
  return options;
}

void require_blendable(const Mixer& mixer, const LossPlan& loss) {
  if (mixer.idle() || !loss.kind->of_labels || loss.kind->blends_labels) return;
  if (loss.positions > 1) return;  // each has the label of one sample
  throw std::invalid_argument("augment.mixup and augment.cutmix weigh two labels, which loss " +
                              loss.kind->name + " cannot do; use cross_entropy, or set them to 0");
}

InputShape input_shape(const Dataset& dataset) {
  const SampleForm& form = dataset.form();
  return {form.input, form.classes, form.labels, form.targets, form.vocabulary};
}

namespace {

/// `count` of the option, each of `steps` steps.
std::int64_t in_steps(const char* option, std::int64_t count, std::int64_t steps) {
  const std::int64_t most = kMaxSteps / steps;
  if (count <= most) return count * steps;
  throw std::invalid_argument(std::string(option) + ": " + std::to_string(count) +
                              (steps == 1 ? "" : " of " + std::to_string(steps) + " steps each") +
                              " is more than can be counted; use at most " + std::to_string(most));
}

}  // namespace

Plan make_plan(const Settings& settings, std::size_t training_samples) {
  Plan plan;
  plan.length.steps_per_epoch = static_cast<std::int64_t>(training_samples) / settings.global_batch;
  if (plan.length.steps_per_epoch < 1)
    throw std::invalid_argument("batch.global: " + std::to_string(settings.global_batch) +
                                " is more than the " + std::to_string(training_samples) +
                                " training samples");
  plan.length.global_batch = settings.global_batch;
  const std::int64_t epoch = plan.length.steps_per_epoch;
  plan.length.total_steps = settings.steps ? in_steps("steps", *settings.steps, 1)
                                           : in_steps("epochs", *settings.epochs, epoch);
  plan.end_step = plan.length.total_steps;
  plan.log_every = settings.log_every.value_or(
      std::max<std::int64_t>(1, plan.length.steps_per_epoch / kReportsPerEpoch));
  plan.eval = period_of(settings.eval_every, "eval", plan.length);
  plan.checkpoint = period_of(settings.checkpoint_every.value_or(Every{Every::Unit::epochs, 1}),
                              "checkpoint", plan.length);
  return plan;
}

}  // namespace thalweg::engine
