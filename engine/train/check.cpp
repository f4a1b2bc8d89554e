// --check and --describe of one configuration. Stages that do not need one another's results are
// all gone through, so that one check names every mistake; a stage that needs what failed is left
// out.
#include "engine/train/check.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "engine/data/augment.h"
#include "engine/data/dataset.h"
#include "engine/data/mixing.h"
#include "engine/data/split.h"
#include "engine/device/device.h"
#include "engine/gpu/gpu.h"
#include "engine/nn/flops.h"
#include "engine/nn/graph.h"
#include "engine/nn/model.h"
#include "engine/nn/model_table.h"
#include "engine/optim/optimizer.h"
#include "engine/schedule/schedule.h"
#include "engine/sync/mode.h"
#include "engine/sync/replica.h"
#include "engine/sync/server_roles.h"
#include "engine/train/batch_growth.h"
#include "engine/train/factory.h"
#include "engine/train/kernels.h"
#include "engine/train/memory.h"
#include "engine/train/metrics.h"
#include "engine/train/validation.h"
#include "jobspec/complete.h"

namespace thalweg::engine {
namespace {

using jobspec::Value;

std::size_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  in >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

/// Samples, or why there are none.
struct Checker::Data {
  std::unique_ptr<Dataset> dataset;
  std::exception_ptr error;
  std::size_t bytes = 0;
  data::HeaderFacts unseen{};  ///< where only the header was read
};

/// A model, or why there is none; with its plan of memory where that was asked for.
struct Checker::Compiled {
  std::optional<Graph> graph;
  std::unique_ptr<Model> model;
  bool planned = false;
  std::exception_ptr error;
};

/// What an init_from leads to, without the arrays: a sweep's trials may begin with many of them.
struct Checker::Begun {
  Beginning beginning;
  std::exception_ptr error;
};

/// One configuration on its way through the stages.
class Checker::Visit {
 public:
  Visit(Checker& checker, const CheckSubject& subject)
      : c_(checker), subject_(subject), resources_(subject.resources) {}

  CheckReport run() {
    if (!complete_tree()) return std::move(report);
    const bool settled = stage("", [&] { read(); });
    if (settled) stage("device", [&] { require_gpus(); });
    const bool batched = settled && stage("batch", [&] { place_shards(); });
    const bool loaded = stage("data", [&] { load(); }) && data_->dataset;
    const bool split = loaded && stage("data", [&] { split_data(); }) && report.training > 0;
    const bool mixed = loaded && stage("augment", [&] { augment(); });
    const bool planned = split && settled && stage("batch", [&] { plan_run(); });
    const bool built =
        loaded && settled && !data_->unseen.classes_unknown && stage("model", [&] { build(); });
    const bool optimized = built && stage("optimizer", [&] { make_optimizer_of_graph(); });
    const bool paced = stage("emulate", [&] { emulates_ = factory_.emulation().any(); });
    if (batched && optimized && paced) stage("sync", [&] { require_sync_mode(); });
    if (planned) stage("schedule", [&] { plan_rates(built); });
    if (built && mixed) stage("augment", [&] { require_blendable(*mixer_, graph().loss); });
    if (built) stage("init_from", [&] { look_at_beginning(); });
    if (built && batched && planned) tell_metrics();
    if (built && batched && planned && mixed && optimizer_ && compiled_->model)
      stage("batch", [&] { tell_memory(); });
    return std::move(report);
  }

  CheckReport report;

 private:
  template <class F>
  bool stage(const char* section, const F& part) {
    try {
      part();
      return true;
    } catch (...) {
      add(error_of(c_.schema_, std::current_exception(), section, config_));
      return false;
    }
  }

  void add(CheckError error) {
    if (c_.options_.elsewhere && error.missing_file) {
      report.notes.push_back((error.key.starts_with("init_from")
                                  ? "init_from.file cannot be read on this machine: "
                                  : "the data cannot be read on this machine, so the model was "
                                    "not checked: ") +
                             error.message);
      return;
    }
    report.errors.push_back(std::move(error));
  }

  bool complete_tree() {
    try {
      config_ = complete_for(subject_.train, resources_.ranks(), c_.schema_, subject_.file);
      factory_ = Factory(config_);
      return true;
    } catch (const std::invalid_argument&) {
      report.errors.push_back(
          error_of(c_.schema_, std::current_exception(), "batch", subject_.train));
      return false;
    } catch (const jobspec::InputError& e) {
      const std::string prefix = "train.";
      for (const jobspec::Diagnostic& d : e.diagnostics())
        report.errors.push_back(
            {d.key.starts_with(prefix) ? d.key.substr(prefix.size()) : std::string(), d.message,
             d.hint, false, std::current_exception()});
      return false;
    }
  }

  void read() {
    settings_ = factory_.settings(resources_.gpus_per_node);
    if (!settings_.device_note.empty()) report.notes.push_back(settings_.device_note);
    report.ranks = resources_.ranks();
    report.min_ranks = resources_.required_nodes() * resources_.ranks_per_node;
    report.global_batch = settings_.global_batch;
    report.what = factory_.model_name() + " on " + factory_.data_name() + ", device " +
                  settings_.device +
                  (settings_.precision == Precision::fp32
                       ? ""
                       : ", " + precision_names()[static_cast<std::size_t>(settings_.precision)]);
    factory_.base_lr(&report.rate_note);
  }

  void require_gpus() {
    if (settings_.device != "cuda" || has_gpu()) return;
    const bool automatic = config_.find("device")->as_string() == "auto";
    const std::string asked =
        automatic ? "auto is cuda where resources.gpus_per_node asks for GPUs" : "cuda";
    if (!c_.options_.elsewhere)
      throw std::invalid_argument("device: " + asked + ": " + gpu::why_no_gpu());
    report.notes.push_back(
        "no GPU here, and gpu_memory in config.yaml does not say how much the compute nodes' have: "
        "what a run takes of it was not planned");
  }

  /// To plan for.
  bool has_gpu() const { return plans_elsewhere() || gpu::gpu_count() > 0; }
  bool plans_elsewhere() const { return c_.options_.elsewhere && c_.options_.gpu_memory > 0; }

  void place_shards() {
    min_workers_ = workers_of(report.min_ranks, settings_.servers);
    workers_ = workers_of(report.ranks, settings_.servers);
    if (settings_.servers > 0)
      report.notes.push_back(servers_text(report.ranks, settings_.servers));
    const Ranks ranks{workers_, subject_.sweep_ranks};
    report.shards = choose_shards(settings_, ranks, 0);
    report.micro_batches = micro_batches(settings_, report.shards);
    report.shards_note = shards_note(settings_, ranks, report.shards);
    if (settings_.shares.empty()) return;
    first_ = divide_shards(speeds_of(settings_.shares, workers_), report.shards);
    report.notes.push_back("unequal ranks: they have " + division_text(first_));
  }

  void load() {
    data_key_ = factory_.data_key();
    std::shared_ptr<const Data>& known = c_.data_[data_key_];
    if (!known) {
      auto loaded = std::make_shared<Data>();
      const std::size_t before = resident_bytes();
      try {
        open(*loaded);
      } catch (...) {
        loaded->error = std::current_exception();
      }
      const std::size_t after = resident_bytes();
      if (c_.options_.contents) loaded->bytes = after > before ? after - before : 0;
      known = std::move(loaded);
    }
    data_ = known;
    if (data_->error) std::rethrow_exception(data_->error);
    report.data_bytes = data_->bytes;
    report.unseen = data_->unseen.unseen;
    if (!data_->dataset || data_->unseen.classes_unknown)
      report.notes.push_back("the model was not checked: " + report.unseen.back().what + " " +
                             report.unseen.back().why);
    if (!data_->dataset) return;
    const SampleForm& form = data_->dataset->form();
    report.sample_bytes =
        (input_floats(form) + static_cast<std::size_t>(form.targets)) * sizeof(float) +
        static_cast<std::size_t>(form.labels) * sizeof(std::int32_t);
    for (const std::string& note : data_->dataset->notes())
      report.notes.push_back(note);
  }

  void open(Data& data) const {
    if (c_.options_.contents) {
      data.dataset = factory_.dataset(false);
      return;
    }
    DataHeader header = factory_.data_header();
    data.dataset = std::move(header.dataset);
    data.bytes = header.facts.held_bytes;
    data.unseen = std::move(header.facts);
  }

  void split_data() {
    if (c_.options_.contents) {
      const Split samples = factory_.split(*data_->dataset);
      tell_samples({samples.training.size(), samples.validation.size(), samples.test.size()});
    } else if (const auto sizes = factory_.split_sizes(*data_->dataset)) {
      tell_samples(*sizes);
    } else {
      report.unseen.push_back({"data.groups", "says how many samples train, and was not read"});
    }
  }

  void tell_samples(const SplitSizes& sizes) {
    report.training = sizes.training;
    report.validation = sizes.validation;
    report.test = sizes.test;
  }

  void augment() {
    augmenter_ = factory_.augmenter(*data_->dataset);
    mixer_ = factory_.mixer(*data_->dataset);
  }

  void plan_run() {
    report.length = make_plan(settings_, report.training).length;
    growth_ = {config_, report.length, static_cast<std::int64_t>(report.training)};
    if (const std::int64_t most = growth_.largest(); most > 1)
      report.notes.push_back("batch_growth: up to " + std::to_string(most) +
                             " times batch.global, and then as many times fewer steps an epoch");
  }

  /// The graph alone tells everything but memory, and takes no time.
  void build() {
    const bool compiles = subject_.plan_memory && report.shards > 0 && may_compile();
    const int samples =
        report.shards > 0 ? settings_.global_batch / report.shards / report.micro_batches : 0;
    const std::string key =
        data_key_ + factory_.graph_key() +
        (compiles ? settings_.device + std::to_string(samples) +
                        precision_names()[static_cast<std::size_t>(settings_.precision)] +
                        (settings_.recompute ? "recompute" : "")
                  : "");
    std::shared_ptr<const Compiled>& known = c_.compiled_[key];
    if (!known) {
      auto compiled = std::make_shared<Compiled>();
      try {
        const InputShape input = input_shape(*data_->dataset);
        compiled->graph = factory_.graph(input);
        if (compiles) compiled->model = factory_.model(input, samples, settings_);
      } catch (...) {
        compiled->error = std::current_exception();
      }
      known = std::move(compiled);
    }
    compiled_ = known;
    if (compiled_->error) std::rethrow_exception(compiled_->error);
    report.parameters = parameter_count(graph());
    report.flops = flops_of(graph());
    report.graph = std::shared_ptr<const Graph>(compiled_, &graph());
  }

  /// A device that this machine lacks plans nothing.
  bool may_compile() const {
    if (settings_.device == "cuda") return has_gpu();
    return !c_.options_.elsewhere || settings_.precision == Precision::fp32;
  }

  const Graph& graph() const { return *compiled_->graph; }

  void make_optimizer_of_graph() {
    optimizer_ = factory_.optimizer(
        compiled_->model ? parameters_of(*compiled_->model)
                         : Parameters<float>{place_parameters(graph(), {}), nullptr});
  }

  /// Of the rank that has most, on the fewest ranks.
  int local_shards() const {
    int most = (report.shards + min_workers_ - 1) / min_workers_;
    if (!first_.empty()) most = 0;
    for (std::size_t rank = 0; rank + 1 < first_.size(); ++rank)
      most = std::max(most, first_[rank + 1] - first_[rank]);
    return most;
  }
  int min_shards() const {
    int fewest = report.shards / workers_;
    for (std::size_t rank = 0; rank + 1 < first_.size(); ++rank)
      fewest = std::min(fewest, first_[rank + 1] - first_[rank]);
    return fewest;
  }

  int executors(bool joins_shards) const {
    return Factory::executors(settings_, joins_shards, local_shards(), resources_.threads_per_rank);
  }

  void require_sync_mode() {
    SyncFacts facts;
    facts.ranks = report.ranks;
    facts.machines = resources_.nodes;
    facts.own_shards = local_shards();
    facts.min_shards = min_shards();
    facts.emulates = emulates_;
    facts.micro_batches = report.micro_batches;
    facts.on_gpu = settings_.device == "cuda";
    facts.joins_shards = joins_shards(graph());
    facts.threads = executors(facts.joins_shards);
    if (compiled_->model) facts.touches_all = compiled_->model->touches_all();
    facts.observes_curvature = optimizer_->observes_curvature();
    facts.has_eval_weights = optimizer_->has_eval_weights();
    facts.keeps_scalars = optimizer_->own() > 0 || optimizer_->scalars() > 0;
    if (compiled_->model)
      facts.elementwise = is_elementwise(*optimizer_, compiled_->model->parameters().size());
    factory_.require_sync(facts);
    require_growth(growth_, config_, settings_, facts,
                   std::int64_t{report.shards} * report.micro_batches);
  }

  void plan_rates(bool built) {
    const auto schedule = factory_.schedule(report.length);
    // What the sweep leaves open is chosen among what validation reports.
    jobspec::Metric unknown;
    unknown.name.clear();
    const StopRule stop = factory_.stop_rule(subject_.metric.value_or(unknown));
    if (built)
      require_watched(*schedule, stop, factory_.best(subject_.metric.value_or(unknown)),
                      graph().loss);
    report.schedule = factory_.describe_schedule(report.length);
  }

  void look_at_beginning() {
    const auto from = factory_.init_from();
    if (!from || (from->file.empty() && subject_.init_from.empty())) return;
    std::string key = data_key_ + factory_.graph_key() + factory_.init_from_key();
    for (const std::filesystem::path& folder : subject_.init_from)
      key += '\n' + folder.string();
    std::shared_ptr<const Begun>& known = c_.begun_[key];
    if (!known) known = std::make_shared<const Begun>(begin_with(*from));
    if (known->error) std::rethrow_exception(known->error);
    if (known->beginning.checkpoint && report.length.total_steps > 0)
      continued(known->beginning, run_identity(factory_.resolved(settings_, report.shards), 0,
                                               report.length.total_steps));
  }

  Begun begin_with(const InitFrom& from) const {
    Begun begun;
    try {
      begun.beginning = load_beginning(from, subject_.init_from, graph());
    } catch (...) {
      begun.error = std::current_exception();
    }
    begun.beginning.arrays.clear();
    if (begun.beginning.checkpoint) begun.beginning.checkpoint->drop_arrays();
    return begun;
  }

  void tell_metrics() {
    RunFacts facts;
    facts.loss = &graph().loss;
    facts.several_ranks = report.ranks > 1;
    facts.tests = report.test > 0;
    facts.several_steps = report.length.total_steps > 1;
    facts.checkpoints = !make_plan(settings_, report.training).checkpoint.never();
    const std::string mode = config_.find("sync.mode")->to_text();
    facts.on_demand = factory_.takes_on_demand();
    facts.stale = mode == "async" || mode == "hybrid" || facts.on_demand;
    facts.grows = !growth_.idle();
    const Value* const compress = config_.find("sync.compress");
    const std::string kind = compress == nullptr ? "none" : compress->to_text();
    const bool plain_mean = mode == "sync" && kind != "powersgd" && kind != "top-k";
    facts.measures_noise =
        settings_.noise_every > 0 && report.shards * report.micro_batches > 1 && plain_mean;
    report.metrics = reported_metrics(facts);
    report.default_metric = default_metric(graph().loss);
  }

  void tell_memory() {
    const Model& model = *compiled_->model;
    report.executors = executors(model.joins_shards());
    const int most = static_cast<int>(growth_.largest());
    const Sharding sharding{report.shards, settings_.global_batch * most, 0, local_shards(),
                            report.micro_batches * most};
    const BatchSource source{*data_->dataset, *augmenter_, *mixer_};
    require_memory(factory_, settings_, input_shape(*data_->dataset), model, *optimizer_, source,
                   sharding);
    report.on_gpu = model.gpu() != nullptr;
    report.needs = memory_needs(model, *optimizer_, source, sharding, report.executors);
    report.needs->gradients +=
        static_cast<std::size_t>(factory_.sync_vectors(sharding, report.ranks, report.on_gpu)) *
        model.parameter_floats() * sizeof(float);
    if (settings_.shards_optimizer)
      report.needs->optimizer /= static_cast<std::size_t>(report.min_ranks);
    if (report.on_gpu) tell_gpu(model);
  }

  void tell_gpu(const Model& model) {
    gpu::Gpu& gpu = *model.gpu();
    MemoryNeeds needs = *report.needs;
    if (plans_elsewhere()) {
      report.gpu_lines = "GPU memory  " + needs.line() + " and the libraries' workspace, of " +
                         in_mebibytes(gpu.free_bytes()) + " of each of " + gpu.info().name + "\n";
      return;
    }
    const bool measures = measures_kernels(settings_, gpu.info());
    if (measures)
      needs.workspace = std::max(
          needs.workspace, workspace_within(needs, settings_.kernels.workspace, gpu.free_bytes()));
    report.gpu_lines =
        "GPU memory  " + needs.line() + ", of " + in_mebibytes(gpu.free_bytes()) + " free on " +
        gpu.info().name + "\nkernels     " + std::to_string(model.library_calls().size()) +
        " kinds of library calls" +
        (measures ? " are measured at the start, unless an earlier attempt has; the fastest are "
                    "taken, within "
                  : ", as the libraries think best within ") +
        in_mebibytes(measures ? needs.workspace : settings_.kernels.workspace) + " of workspace\n";
  }

  Checker& c_;
  const CheckSubject& subject_;
  const jobspec::Resources& resources_;
  Value config_ = jobspec::Map{};
  Factory factory_;
  Settings settings_;
  std::string data_key_;
  std::shared_ptr<const Data> data_;
  std::shared_ptr<const Compiled> compiled_;
  std::unique_ptr<Augmenter> augmenter_;
  std::unique_ptr<Mixer> mixer_;
  bool emulates_ = false;
  std::vector<int> first_;             ///< of unequal ranks: who owns which shards
  int workers_ = 1, min_workers_ = 1;  ///< of report.ranks and min_ranks
  BatchGrowth growth_;
  std::unique_ptr<Optimizer<float>> optimizer_;
};

Checker::Checker(CheckOptions options) : options_(std::move(options)), schema_(train_schema()) {
  if (options_.elsewhere && options_.gpu_memory > 0) planned_gpu_.emplace(options_.gpu_memory);
}
Checker::~Checker() = default;

CheckReport Checker::check(const CheckSubject& subject) {
  return Visit(*this, subject).run();
}

std::string check_trial(const std::filesystem::path& trial_file) {
  const jobspec::Trial trial = jobspec::read_trial(trial_file);
  const CheckReport report =
      Checker().check({trial.train, trial.resources, trial_file.string(), trial.metric,
                       trial.sweep_ranks, true, trial.init_from});
  if (!report.errors.empty()) std::rethrow_exception(report.errors.front().thrown);
  return "trial       " + trial.id.to_string() + ": " + report.text();
}

}  // namespace thalweg::engine
