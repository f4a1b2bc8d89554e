#include "engine/gpu/cudnn_plans.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <memory>

#include "engine/gpu/cuda_error.h"

namespace thalweg::engine::gpu {
namespace {

constexpr std::size_t kWays = 8;

CudnnDescriptor engine_of(const CudnnDescriptor& configuration) {
  return configuration.descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR)
      .at(0);
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
  std::string name =
      "engine " + std::to_string(engine_of(configuration).integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
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

CudnnPlans::CudnnPlans(CudnnTarget& target, CudnnGraph graph, CudnnRules rules)
    : target_(target), graph_(std::move(graph)) {
  const std::lock_guard lock(target_.mutex());
  target_.use();
  const CudnnDescriptor finished = graph_.finish(target.handle());
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (const CudnnDescriptor& offer : offers(target, finished, mode))
      if (allowed(offer, rules)) offered_.push_back(offer);
}

bool CudnnPlans::none() const {
  make(1);
  const std::lock_guard lock(mutex_);
  return made_.empty();
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
    if (!plan.try_finalize()) continue;
    const auto bytes =
        static_cast<std::size_t>(plan.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
    made_.push_back({plan, bytes, name_of(offered_[tried_])});
  }
}

int CudnnPlans::count() const {
  make(kWays);
  const std::lock_guard lock(mutex_);
  return static_cast<int>(made_.size());
}

const CudnnPlans::Plan& CudnnPlans::plan(int way) const {
  make(static_cast<std::size_t>(way) + 1);
  const std::lock_guard lock(mutex_);
  return made_.at(static_cast<std::size_t>(way));
}

std::string CudnnPlans::name(int way) const {
  const auto number = static_cast<std::size_t>(way);
  make(number + 1);
  const std::lock_guard lock(mutex_);
  return number < made_.size() ? made_[number].name : "";
}
std::size_t CudnnPlans::workspace(int way) const {
  return plan(way).workspace;
}

void CudnnPlans::run(Queue& queue, int way, std::vector<std::int64_t> ids,
                     std::vector<void*> pointers, void* workspace) const {
  const std::vector<void*> scalars = graph_.scalar_pointers();
  ids.insert(ids.end(), graph_.scalar_ids().begin(), graph_.scalar_ids().end());
  pointers.insert(pointers.end(), scalars.begin(), scalars.end());
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers)
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, std::vector<void*>{workspace})
      .finalize();
  auto* const stream = static_cast<cudaStream_t>(queue.stream());
  const CudnnDescriptor& chosen = plan(way).descriptor;
  // A plan is for one thread at a time, too.
  const std::lock_guard lock(target_.mutex());
  check_cudnn(cudnn().set_stream(target_.handle(), stream), "cudnnSetStream");
  check_cudnn(cudnn().execute(target_.handle(), chosen.get(), pack.get()), "cudnnBackendExecute");
}

}  // namespace thalweg::engine::gpu
