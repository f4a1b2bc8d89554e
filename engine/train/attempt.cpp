// From trial.yaml to a state in which all ranks can make the first step.
#include "engine/train/attempt.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <exception>
#include <utility>

#include "base/commit.h"
#include "base/machine.h"
#include "engine/attempt/failure.h"
#include "engine/comm/group/autotune.h"
#include "engine/data/dataset.h"
#include "engine/data/mixing.h"
#include "engine/device/input_shape.h"
#include "engine/device/layer.h"
#include "engine/gpu/library.h"
#include "engine/nn/flops.h"
#include "engine/nn/graph.h"
#include "engine/optim/matrix.h"
#include "engine/sync/bucket_tuner.h"
#include "engine/sync/server_roles.h"
#include "engine/train/describe_failure.h"
#include "engine/train/kernels.h"
#include "engine/train/libraries.h"
#include "engine/train/memory.h"
#include "engine/train/node_facts.h"
#include "engine/train/validation.h"

namespace thalweg::engine {
namespace {

/// The checkpoint of rank 0 as every rank must know it.
struct ResumePoint {
  std::int64_t step = 0;
  std::int64_t shards = 0;  ///< 0 = no checkpoint
  std::int64_t micro_batches = 1;
  std::int64_t ranks = 0;

  /// Whether a sum over shards is added up in the same order. A power of two of micro-batches in
  /// each shard is as many more shards.
  bool adds_up_as(const Sharding& now) const {
    if (shards == now.shards && micro_batches == now.micro_batches) return true;
    return shards * micro_batches == std::int64_t{now.shards} * now.micro_batches &&
           std::has_single_bit(static_cast<std::uint64_t>(micro_batches)) &&
           std::has_single_bit(static_cast<unsigned>(now.micro_batches));
  }
};

std::string in_words(std::int64_t shards, std::int64_t micro_batches) {
  return std::to_string(shards) + " shards" +
         (micro_batches == 1 ? "" : " of " + std::to_string(micro_batches) + " micro-batches");
}

}  // namespace

void together(comm::Group& group, const std::function<void()>& part) {
  std::exception_ptr error;
  std::int32_t code = 0;
  try {
    part();
  } catch (const comm::CommError&) {
    throw;  // nothing more can be agreed
  } catch (...) {
    error = std::current_exception();
    code = static_cast<std::int32_t>(describe_failure(error, 0, "").code);
  }
  std::vector<std::int32_t> codes(static_cast<std::size_t>(group.size()));
  group.allgather(&code, codes.data(), sizeof code);
  if (error) std::rethrow_exception(error);
  for (int rank = 0; rank < group.size(); ++rank)
    if (const std::int32_t other = codes[static_cast<std::size_t>(rank)]; other != 0)
      throw PeerFailed(static_cast<ExitCode>(other), rank, group.node_of(rank));
}

Attempt::Attempt(const AttemptInput& input, Record& the_record)
    : in(input), record(the_record), factory(input.config) {
  together(in.group, [&] { load_data(); });
  require_one_device();
  require_gpus();
  together(in.group, [&] { choose_device(); });
  if (in.simulated == nullptr)
    energy = EnergyMeter(in.group,
                         settings.device == "cuda" ? gpu::chosen_gpu().info().uuid : std::string());
  if (factory.wants_autotune()) record.note("info", "measured " + comm::autotune(in.group).text());
  FoundCheckpoint found;
  together(in.group, [&] {
    found = find_checkpoint();
    resumed = found.checkpoint.has_value();
    if (is_root() && !resumed) load_beginning(found);
  });
  in.group.broadcast(&resumed, sizeof resumed, 0);
  ResumePoint point;
  if (const auto& c = found.checkpoint) point = {c->step, c->shards, c->micro_batches, c->ranks};
  in.group.broadcast(&point, sizeof point, 0);
  step = point.step;
  together(in.group, [&] {
    const Ranks ranks{workers_of(in.group.size(), settings.servers), in.trial.sweep_ranks};
    place_shards(choose_shards(settings, ranks, static_cast<int>(point.shards)));
    if (point.shards != 0) return;
    if (const std::string text = shards_note(settings, ranks, sharding.shards); !text.empty())
      record.note("info", text);
  });
  divide_shards();
  choose_kernels();
  together(in.group, [&] {
    build();
    if (point.shards == 0) return;
    const std::string differs = ": the curve is not bitwise the uninterrupted one";
    if (!point.adds_up_as(sharding))
      record.note("warning", "the checkpoint was made with " +
                                 in_words(point.shards, point.micro_batches) + ", this run has " +
                                 in_words(sharding.shards, sharding.micro_batches) + differs);
    if (point.ranks != 0 && point.ranks != in.group.size() && !mode->same_on_any_ranks())
      record.note("warning", "the checkpoint was made on " + std::to_string(point.ranks) +
                                 " ranks, this run has " + std::to_string(in.group.size()) +
                                 ", and it adds up by ranks" + differs);
  });
  start_fresh_or_resume(found);
  plan.end_step = growth.end_step();
  if (in.trial.pauses()) together(in.group, [&] { pause_step = find_pause(); });
  if (growth.multiple() > 1) resize_batch();
  require_equal_replicas();
  if (point.shards != 0) resume_mode(found);
  together(in.group, [&] { tell_start(); });
}

void Attempt::load_data() {
  settings = factory.settings(in.trial.resources.gpus_per_node);
  emulation = factory.emulation();
  on_demand = factory.takes_on_demand();
  tell_emulation();
  std::string lr_note;
  base_lr = factory.base_lr(&lr_note);
  for (const std::string& text : {lr_note, factory.beta_note()})
    if (!text.empty()) record.note("info", text);
  if (!settings.device_note.empty()) record.note("warning", settings.device_note);

  dataset = in.simulated != nullptr ? in.simulated->dataset(factory) : factory.dataset();
  for (const std::string& text : dataset->notes())
    record.note("warning", text);
  for (const std::string& text : dataset->facts())
    record.note("info", text);
  augmenter = factory.augmenter(*dataset);
  mixer = factory.mixer(*dataset);
  samples = factory.split(*dataset);
  plan = make_plan(settings, samples.training.size());
  growth =
      BatchGrowth(factory.tree(), plan.length, static_cast<std::int64_t>(samples.training.size()));
  if (growth.idle() && !on_demand) return;
  plan.eval.in_steps =
      plan.checkpoint.in_steps = [this](std::int64_t at) { return base_steps(at); };
}

void Attempt::tell_emulation() {
  if (in.simulated != nullptr) {
    record.emulated("simulated" + (emulation.any() ? " " + emulation.name : ""));
    record.note("warning", "simulated: " + in.simulated->label +
                               ": times are of a virtual clock, of no real machine");
    if (settings.device == "cuda")
      throw std::invalid_argument("device: cuda cannot be simulated; set device to cpu");
  } else if (emulation.any()) {
    record.emulated(emulation.name);
    record.note("warning", "emulated: " + emulation.label() + ": times are of no real machine");
  }
}

/// `device: auto` may find other things on other machines.
void Attempt::require_one_device() {
  const char mine = settings.device == "cuda" ? 1 : 0;
  std::vector<char> all(static_cast<std::size_t>(in.group.size()));
  in.group.allgather(&mine, all.data(), sizeof mine);
  for (int rank = 1; rank < in.group.size(); ++rank)
    if (all[static_cast<std::size_t>(rank)] != all[0])
      throw std::runtime_error("device auto: rank " + std::to_string(all[0] != 0 ? rank : 0) +
                               " on " + in.group.node_of(all[0] != 0 ? rank : 0) +
                               " sees no GPU, rank " + std::to_string(all[0] != 0 ? 0 : rank) +
                               " does; set device to cpu, or ask for GPUs on every node");
}

/// Where nobody asked for GPUs and no rank sees one, another attempt finds none either: bad input.
/// One that was asked for and is not there, or not on every node, is a machine's fault, and the
/// attempt fails as by any other (choose_device).
void Attempt::require_gpus() {
  if (settings.device != "cuda") return;
  const char mine = gpu::gpu_count() > 0 ? 1 : 0;
  std::vector<char> all(static_cast<std::size_t>(in.group.size()));
  in.group.allgather(&mine, all.data(), sizeof mine);
  if (in.trial.resources.gpus_per_node > 0 || std::find(all.begin(), all.end(), 1) != all.end())
    return;
  throw std::invalid_argument("device cuda: " + gpu::why_no_gpu() +
                              ". Set resources.gpus_per_node where Slurm hands them out, or device "
                              "to cpu");
}

/// Each of a machine's ranks takes a GPU in turn.
void Attempt::choose_device() {
  if (settings.device != "cuda") return;
  if (gpu::gpu_count() == 0)
    throw std::runtime_error(
        "device cuda: rank " + std::to_string(in.group.rank()) + " sees no GPU, and " +
        (in.trial.resources.gpus_per_node > 0 ? "resources.gpus_per_node asks for some"
                                              : "other ranks do") +
        ": " + gpu::why_no_gpu() + "; device: cpu trains without");
  int local = 0;
  for (int rank = 0; rank < in.group.rank(); ++rank)
    local += in.group.node_of(rank) == in.group.node_of(in.group.rank()) ? 1 : 0;
  gpu::choose_gpu(gpu::gpu_of_rank(local));
  const gpu::Info& info = gpu::chosen_gpu().info();
  record.note("info", "rank " + std::to_string(in.group.rank()) + " computes on GPU " +
                          std::to_string(info.number) + ": " + info.name);
}

void Attempt::place_shards(int shards) {
  sharding.shards = shards;
  sharding.global_batch = settings.global_batch;
  sharding.micro_batches = micro_batches(settings, shards);
}

std::shared_ptr<Model> Attempt::build_for(const Settings& with) const {
  if (in.simulated != nullptr)
    return in.simulated->model(factory, input_shape(*dataset), sharding.micro_batch(), with);
  return factory.model(input_shape(*dataset), sharding.micro_batch(), with);
}

void Attempt::choose_kernels() {
  if (settings.device != "cuda") return;
  const auto build_with = [&](const KernelOptions& kernels) {
    Settings with = settings;
    with.kernels = kernels;
    return factory.model(input_shape(*dataset), sharding.micro_batch(), with);
  };
  const auto needs = [&](const Model& of) {
    Sharding most = sharding;  // of the rank that has most shards
    most.first = 0;
    most.end = 0;
    const std::vector<int> first = in.group.first_shards(sharding.shards);
    for (std::size_t rank = 0; rank + 1 < first.size(); ++rank)
      most.end = std::max(most.end, first[rank + 1] - first[rank]);
    return memory_needs(of, *factory.optimizer(parameters_of(of)), batch_source(), most, 1);
  };
  const Stopwatch whole;
  settings.kernels = engine::choose_kernels({in.group, record, settings,
                                             [] { return machine_of(gpu::chosen_gpu()); },
                                             checkpoint_folders(), build_with, needs});
  spent.kernels = whole.ms() / 1000;
}

void Attempt::build() {
  model = build_for(settings);
  names = weight_names(factory.graph(input_shape(*dataset)));
  flops_per_sample = flops_of(factory.graph(input_shape(*dataset))).training();
  optimizer = factory.optimizer(parameters_of(*model));
  schedule = factory.schedule(plan.length);
  stop_rule = factory.stop_rule(in.trial.metric);
  best = factory.best(in.trial.metric);
  require_watched(*schedule, stop_rule, best, model->loss());
  require_blendable(*mixer, model->loss());
  const BatchSource source = batch_source();
  require_memory(factory, settings, input_shape(*dataset), *model, *optimizer, source, sharding);
  if (model->gpu() != nullptr)
    record.note("info", "memory of the GPU: " +
                            memory_needs(*model, *optimizer, source, sharding, 1).line());
  for (const std::string& text : gpu::refusals())
    record.note("warning", "done without the GPU's library: " + text);
  std::optional<comm::Group::Segment> part;
  if (settings.shards_optimizer)
    part = in.group.segment(model->parameter_floats(), in.group.rank());
  replica = std::make_unique<Replica>(*model, *optimizer, part);
  executors = make_executors();
  if (model->gpu() != nullptr) batches = gpu_batches(source, sharding);
  evaluation = std::make_unique<Evaluation>(*model, *dataset, *executors, sharding.micro_batch());
  require_growth();
  make_mode();
  if (const std::string text = mode->note(); !text.empty()) record.note("info", text);
  noise = NoiseScale(settings.noise_beta);
}

std::unique_ptr<ExecutorPool> Attempt::make_executors() {
  const int threads = Factory::executors(settings, model->joins_shards(), sharding.mine(),
                                         in.trial.resources.threads_per_rank);
  if (in.simulated == nullptr) return std::make_unique<ExecutorPool>(*model, threads);
  if (model->joins_shards())
    throw std::invalid_argument(
        "model.sync_batch_norm joins shards in the middle of a pass, which cannot be simulated; "
        "set it to false");
  return in.simulated->executors();
}

void Attempt::make_mode() {
  SyncParts parts{*model, *optimizer, in.group, *executors, *replica, sharding, in.trial.seed};
  parts.clip_norm = settings.clip_norm;
  parts.clip_value = settings.clip_value;
  parts.noise_every = settings.noise_every;
  parts.batches = batches ? &*batches : nullptr;
  parts.total_steps = plan.length.total_steps;
  parts.emulation = emulation.any() ? &emulation : nullptr;
  if (in.simulated != nullptr) parts.pass_time = &in.simulated->pass_time;
  tuned_buckets.reset();
  parts.on_buckets = [this](const BucketChoice& choice) {
    tuned_buckets = choice.sizes;
    record.note("info", choice.text);
  };
  mode = factory.sync_mode(parts);
}

void Attempt::require_growth() const {
  SyncFacts facts;
  facts.on_gpu = model->gpu() != nullptr;
  facts.joins_shards = model->joins_shards();
  engine::require_growth(growth, factory.tree(), settings, facts, sharding.small_batches());
}

/// The model, its executors and what they need of memory are those of a micro-batch, which stays.
void Attempt::resize_batch() {
  mode.reset();
  sharding.global_batch = settings.global_batch * growth.multiple();
  sharding.micro_batches = micro_batches(settings, sharding.shards) * growth.multiple();
  make_mode();
}

bool Attempt::batch_grows() {
  if (!growth.grow(step, noise, in.group)) return false;
  plan.end_step = growth.end_step();
  char text[160];
  std::snprintf(
      text, sizeof text, "batch_growth: %d samples in an update after step %lld, epoch %.4g",
      settings.global_batch * growth.multiple(), static_cast<long long>(step), growth.epochs(step));
  record.note("info", text);
  return true;
}

std::int64_t Attempt::find_pause() const {
  if (!growth.idle() || on_demand)
    throw std::invalid_argument(
        "the method pauses trials at a number of epochs or steps, and here the samples of a step "
        "change; use a batch that stays, or method: random");
  if (plan.eval.never() || plan.eval.seconds > 0)
    throw std::invalid_argument(
        "the method pauses trials at validations, and eval does not say after how many steps they "
        "come; set eval.every_epochs or eval.every_steps");
  if (in.trial.pause_epochs > kMaxSteps / plan.length.steps_per_epoch) return 0;
  std::int64_t at = in.trial.pause_steps > 0 ? in.trial.pause_steps
                                             : in.trial.pause_epochs * plan.length.steps_per_epoch;
  while (at < plan.end_step && !plan.eval.due(at))
    ++at;
  return at < plan.end_step ? at : 0;
}

double Attempt::base_steps(std::int64_t at) const {
  return on_demand ? mode->base_steps(at) : growth.base_steps(at);
}

double Attempt::epochs() const {
  if (!on_demand) return growth.epochs(step);
  return base_steps(step) / static_cast<double>(plan.length.steps_per_epoch);
}

std::int64_t Attempt::schedule_step(std::int64_t at) const {
  if (growth.idle() && !on_demand) return at;
  // Three thirds of an epoch are the epoch, in spite of rounding.
  return static_cast<std::int64_t>(std::floor(base_steps(at) * (1 + 1e-13)));
}

void Attempt::tell_start() {
  jobspec::Map fields = start_fields();
  if (beginning) fields.emplace_back("init_from", beginning->record(*factory.init_from()));
  if (emulation.any()) fields.emplace_back("emulation", emulation.label());
  if (in.simulated != nullptr) fields.emplace_back("simulation", in.simulated->label);
  record.start(std::move(fields));
}

jobspec::Map Attempt::start_fields() const {
  jobspec::List nodes;
  for (int rank = 0; rank < in.group.size(); ++rank)
    nodes.push_back(in.group.node_of(rank));
  const std::vector<std::string> routes = in.group.routes();
  const std::string gpu = model->gpu() != nullptr ? model->gpu()->info().name : "";
  jobspec::Map fields{{"format", 1},
                      {"attempt", in.trial.id.to_string()},
                      {"token", in.trial.token},
                      {"ranks", in.group.size()},
                      {"node_list", std::move(nodes)},
                      {"device", settings.device},
                      {"device_name", gpu.empty() ? processor_name() : gpu},
                      {"threads", executors->threads()},
                      {"shards", sharding.shards},
                      {"parameters", model->parameter_count()},
                      {"flops_per_sample", flops_per_sample},
                      {"steps", plan.end_step},
                      {"steps_per_epoch", plan.length.steps_per_epoch},
                      {"epochs", static_cast<double>(plan.length.total_steps) /
                                     static_cast<double>(plan.length.steps_per_epoch)},
                      {"resumed_step", resumed ? step : 0},
                      {"transport", jobspec::List(routes.begin(), routes.end())},
                      {"version", engine_version()},
                      {"commit", source_commit()},
                      {"libraries", library_versions()},
                      {"config", resolved_config()}};
  if (in.simulated == nullptr) {
    jobspec::Value machines = node_kinds(in.group, gpu);
    // Every rank updates its own weights, and they have to stay equal.
    optim::multiply_portably(differ_in_processor(machines));
    fields.emplace_back("machines", std::move(machines));
  }
  return fields;
}

StepContext Attempt::step_context() const {
  const ScheduleValue value = schedule->at(schedule_step(step));
  StepContext context;
  context.step = step;
  context.lr = base_lr * value.lr;
  context.momentum = value.momentum;
  return context;
}

LoaderPlan Attempt::loader_plan() {
  LoaderPlan p;
  p.seed = in.trial.seed;
  p.global_batch = static_cast<std::size_t>(sharding.global_batch);
  p.first_position = static_cast<std::size_t>(sharding.first * sharding.shard_batch());
  p.positions = static_cast<std::size_t>(sharding.mine() * sharding.shard_batch());
  p.shuffle_once = settings.shuffle_once;
  if (!augmenter->idle()) p.augmenter = augmenter.get();
  if (!mixer->idle()) p.mixer = mixer.get();
  p.workers = settings.loader_threads;
  p.ahead = settings.prefetch;
  if (in.simulated != nullptr) p.workers = p.ahead = 0;
  p.first_step = step;
  p.end_step = plan.end_step;
  if (on_demand) p.shards = sharding.shards;
  const BatchGrowth::Start start = growth.start();
  p.origin_step = start.step;
  p.origin_epoch = start.epoch;
  p.origin_place = start.place;
  if (!batches) return p;
  p.form = *batches;
  p.kept = 2;  // the next step is on its way before this one's outcome is known
  p.memory = [this](std::size_t bytes) {
    return static_cast<std::byte*>(
        batch_memory.emplace_back(*model->gpu(), bytes, "batches in host memory", true).data());
  };
  return p;
}

}  // namespace thalweg::engine
