#include "engine/gpu/cudnn_plans.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "engine/gpu/cuda_error.h"
#include "engine/gpu/library.h"

namespace thalweg::engine::gpu {
namespace {

CudnnDescriptor engine_of(const CudnnDescriptor& configuration) {
  return configuration.descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR)
      .at(0);
}

std::int64_t number_of(const CudnnDescriptor& engine) {
  return engine.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
}

bool allowed(const CudnnDescriptor& configuration, CudnnRules rules) {
  const auto notes = engine_of(configuration)
                         .list<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                            CUDNN_TYPE_NUMERICAL_NOTE);
  return std::none_of(notes.begin(), notes.end(), [&](cudnnBackendNumericalNote_t note) {
    return note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC ||
           note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION ||
           note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
           (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE && !rules.tensor_cores);
  });
}

/// "engine 62 2=1 27=4": the engine and its knobs, by cuDNN's numbers.
std::string name_of(const CudnnDescriptor& configuration) {
  std::string name = "engine " + std::to_string(number_of(engine_of(configuration)));
  for (const CudnnDescriptor& knob :
       configuration.descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                 CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    const auto kind =
        knob.list<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE);
    name += " " + std::to_string(kind.at(0)) + "=" +
            std::to_string(knob.integer(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  return name;
}

bool is_compiled(const CudnnDescriptor& engine) {
  const auto notes = engine.list<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                                             CUDNN_TYPE_BEHAVIOR_NOTE);
  return std::find(notes.begin(), notes.end(), CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) !=
         notes.end();
}

/// Eight tile sizes of one engine tell less than several engines when they are timed: the first of
/// each engine, then the others. Of the fallbacks, general kernels that do anything, as many come
/// before those as make four engines, and ones that take a second to compile only where there are
/// no others.
std::vector<CudnnDescriptor> in_order_of_trial(const std::vector<CudnnDescriptor>& best,
                                               const std::vector<CudnnDescriptor>& fallbacks) {
  constexpr std::size_t enough = 4;
  std::vector<CudnnDescriptor> firsts, others, compiled;
  std::set<std::int64_t> engines;
  const auto add = [&](const CudnnDescriptor& offer, bool may_be_first) {
    const bool is_first = may_be_first && engines.insert(number_of(engine_of(offer))).second;
    (is_first ? firsts : others).push_back(offer);
  };
  for (const CudnnDescriptor& offer : best)
    add(offer, true);
  for (const CudnnDescriptor& offer : fallbacks)
    if (is_compiled(engine_of(offer))) {
      compiled.push_back(offer);
    } else {
      add(offer, engines.size() < enough);
    }
  for (const CudnnDescriptor& offer : compiled)
    add(offer, engines.size() < enough);
  firsts.insert(firsts.end(), others.begin(), others.end());
  return firsts;
}

/// What the heuristics offer, best first; nothing where a mode has no answer.
std::vector<CudnnDescriptor> offers(const CudnnTarget& target, const CudnnDescriptor& graph,
                                    cudnnBackendHeurMode_t mode) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (target.properties()) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.properties());
  if (!heuristics.try_finalize()) return {};
  return heuristics.descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
}

}  // namespace

CudnnTarget& CudnnTarget::of_gpu(int number) {
  static std::mutex& mutex = *new std::mutex;
  static auto& targets = *new std::map<int, std::unique_ptr<CudnnTarget>>;
  const std::lock_guard lock(mutex);
  auto& target = targets[number];
  if (!target) target.reset(new CudnnTarget(number));
  return *target;
}

CudnnTarget::CudnnTarget(int number) : number_(number) {
  check_cuda(cudaSetDevice(number), "cudaSetDevice");
  check_cudnn(cudnn().create(&handle_), "cudnnCreate");
}

void CudnnTarget::use() const {
  if (handle_ != nullptr) check_cuda(cudaSetDevice(number_), "cudaSetDevice");
}

CudnnTarget::CudnnTarget(const std::string& properties)
    : properties_(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR) {
  properties_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, properties).finalize();
}

std::shared_ptr<const CudnnPlans> CudnnTarget::plans(const std::string& key,
                                                     const std::string& call,
                                                     const std::function<CudnnGraph()>& graph,
                                                     CudnnRules rules) {
  const std::lock_guard lock(mutex_of_plans_);
  auto& found = plans_[key];
  if (!found) found = std::make_shared<const CudnnPlans>(*this, call, graph, rules);
  return found;
}

CudnnPlans::CudnnPlans(CudnnTarget& target, std::string call,
                       const std::function<CudnnGraph()>& graph, CudnnRules rules)
    : target_(target), call_(std::move(call)), why_none_("none of its engines does that") {
  const std::lock_guard lock(target_.mutex());
  target_.use();
  try {
    graph_ = graph();
    const CudnnDescriptor finished = graph_.finish(target.handle());
    const auto found = [&](cudnnBackendHeurMode_t mode) {
      std::vector<CudnnDescriptor> all = offers(target, finished, mode);
      std::erase_if(all, [&](const CudnnDescriptor& offer) { return !allowed(offer, rules); });
      return all;
    };
    offered_ = in_order_of_trial(found(CUDNN_HEUR_MODE_A), found(CUDNN_HEUR_MODE_FALLBACK));
  } catch (const GpuError& error) {
    why_none_ = error.what();
  }
}

std::size_t CudnnPlans::engines() const {
  std::set<std::int64_t> engines;
  for (const CudnnDescriptor& offer : offered_)
    engines.insert(number_of(engine_of(offer)));
  return engines.size();
}

bool CudnnPlans::has(int algorithm) const {
  make(static_cast<std::size_t>(algorithm) + 1);
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(algorithm) < made_.size();
}

std::string CudnnPlans::why_none() const {
  const std::lock_guard lock(mutex_);
  return "cuDNN: " + why_none_;
}

void CudnnPlans::make(std::size_t plans) const {
  const std::lock_guard lock(mutex_);
  if (made_.size() >= plans || tried_ >= offered_.size()) return;
  const std::lock_guard lock_of_handle(target_.mutex());
  target_.use();
  for (; made_.size() < plans && tried_ < offered_.size(); ++tried_) {
    CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, offered_[tried_]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    if (target_.handle() != nullptr)
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target_.handle());
#pragma GCC diagnostic pop
    if (target_.properties()) plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target_.properties());
    const std::string name = name_of(offered_[tried_]);
    if (!plan.try_finalize()) {
      why_none_ = "no plan of " + name + ": " + last_cudnn_error();
      note_refusal(call_, "cuDNN: " + why_none_);
      continue;
    }
    const auto bytes =
        static_cast<std::size_t>(plan.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
    made_.push_back({plan, bytes, name});
  }
}

int CudnnPlans::count(int most) const {
  const auto wanted = static_cast<std::size_t>(std::min(most, kAlgorithms));
  make(wanted);
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::min(made_.size(), wanted));
}

const CudnnPlans::Plan& CudnnPlans::plan(int algorithm) const {
  make(static_cast<std::size_t>(algorithm) + 1);
  const std::lock_guard lock(mutex_);
  return made_.at(static_cast<std::size_t>(algorithm));
}

std::string CudnnPlans::name(int algorithm) const {
  const auto number = static_cast<std::size_t>(algorithm);
  make(number + 1);
  const std::lock_guard lock(mutex_);
  return number < made_.size() ? made_[number].name : "";
}
std::size_t CudnnPlans::workspace(int algorithm) const {
  return plan(algorithm).workspace;
}

void CudnnPlans::run(Stream& stream, int algorithm, std::vector<std::int64_t> ids,
                     std::vector<void*> pointers, void* workspace) const {
  const std::vector<void*> scalars = graph_.scalar_pointers();
  ids.insert(ids.end(), graph_.scalar_ids().begin(), graph_.scalar_ids().end());
  pointers.insert(pointers.end(), scalars.begin(), scalars.end());
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers)
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, std::vector<void*>{workspace})
      .finalize();
  auto* const native = static_cast<cudaStream_t>(stream.native());
  const CudnnDescriptor& chosen = plan(algorithm).descriptor;
  // A plan is for one thread at a time, too.
  const std::lock_guard lock(target_.mutex());
  check_cudnn(cudnn().set_stream(target_.handle(), native), "cudnnSetStream");
  check_cudnn(cudnn().execute(target_.handle(), chosen.get(), pack.get()), "cudnnBackendExecute");
}

}  // namespace thalweg::engine::gpu
