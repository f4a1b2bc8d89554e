#include "engine/nn/model.h"

#include <algorithm>
#include <stdexcept>

#include "engine/device/device.h"
#include "engine/device/executor.h"
#include "engine/gpu/gpu.h"
#include "engine/nn/device_table.h"
#include "engine/nn/initialize.h"
#include "engine/nn/model_table.h"
#include "engine/tensor/buffer.h"

namespace thalweg::engine {
namespace {

class CompiledModel final : public Model {
 public:
  CompiledModel(std::string name, Graph graph, int shard_batch, const DeviceKind& device,
                const CompileOptions& options)
      : name_(std::move(name)),
        graph_(std::move(graph)),
        precision_(options.precision),
        program_(device.compile(graph_, shard_batch, options)) {
    for (const ParameterInfo& info : parameters()) {
      floats_ += info.count;
      count_ += elements(info.shape);
    }
    for (const LayerPlan& layer : graph_.layers)
      for (const StatisticPlan& s : layer.statistics)
        statistics_ += static_cast<std::size_t>(s.count);
  }

  const std::string& name() const override { return name_; }
  const std::vector<ParameterInfo>& parameters() const override { return program_->parameters(); }
  std::size_t parameter_floats() const override { return floats_; }
  std::int64_t parameter_count() const override { return count_; }
  std::size_t statistics() const override { return statistics_; }
  const std::vector<int>& ready_order() const override { return program_->ready_order(); }
  std::unique_ptr<Executor> executor() const override { return program_->executor(); }
  gpu::Gpu* gpu() const override { return program_->gpu(); }
  ExecutorMemory executor_memory() const override { return program_->executor_memory(); }
  std::vector<CallKind> library_calls() const override { return program_->library_calls(); }
  KernelTimes measure_calls(const MeasureOptions& options) const override {
    return program_->measure_calls(options);
  }
  gpu::Products products() const override {
    return precision_ == Precision::fp32 ? gpu::Products::fp32 : gpu::Products::tf32;
  }
  std::vector<float> statistic_momenta() const override {
    std::vector<float> momenta;
    for_each_statistic([&](const StatisticPlan& s, std::size_t) { momenta.push_back(s.momentum); });
    return momenta;
  }
  const LossPlan& loss() const override { return graph_.loss; }
  bool joins_shards() const override { return engine::joins_shards(graph_); }

  void initialize(std::uint64_t seed, float* device, float* running) const override {
    int number = 0;
    for (const LayerPlan& layer : graph_.layers) {
      for (const ParameterPlan& parameter : layer.parameters) {
        Buffer plain = Buffer::of_floats(static_cast<std::size_t>(elements(parameter.shape)));
        initialize_parameter(parameter, seed, static_cast<std::uint32_t>(number), plain.floats());
        program_->from_plain(number, plain.floats(), device + info(number).offset);
        ++number;
      }
    }
    for_each_statistic([&](const StatisticPlan& s, std::size_t i) { running[i] = s.initial; });
  }

  void update_running(const float* sum, int shards, float* running) const override {
    for_each_statistic([&](const StatisticPlan& s, std::size_t i) {
      running[i] =
          (1 - s.momentum) * running[i] + s.momentum * (sum[i] / static_cast<float>(shards));
    });
  }

  void to_plain(const float* device, float* plain) const override {
    for (int i = 0; i < static_cast<int>(parameters().size()); ++i) {
      program_->to_plain(i, device + info(i).offset, plain);
      plain += elements(info(i).shape);
    }
  }

  void from_plain(const float* plain, float* device) const override {
    for (int i = 0; i < static_cast<int>(parameters().size()); ++i) {
      program_->from_plain(i, plain, device + info(i).offset);
      plain += elements(info(i).shape);
    }
  }

  void to_plain(int number, const float* device, float* plain) const override {
    program_->to_plain(number, device, plain);
  }
  void from_plain(int number, const float* plain, float* device) const override {
    program_->from_plain(number, plain, device);
  }

 private:
  const ParameterInfo& info(int number) const {
    return parameters()[static_cast<std::size_t>(number)];
  }

  template <class Visit>
  void for_each_statistic(Visit visit) const {
    std::size_t i = 0;
    for (const LayerPlan& layer : graph_.layers)
      for (const StatisticPlan& s : layer.statistics)
        for (std::int64_t k = 0; k < s.count; ++k)
          visit(s, i++);
  }

  std::string name_;
  Graph graph_;
  Precision precision_;
  std::unique_ptr<Program> program_;
  std::size_t floats_ = 0;
  std::int64_t count_ = 0;
  std::size_t statistics_ = 0;
};

}  // namespace

std::unique_ptr<Model> build_model(const jobspec::Value& model, const InputShape& input,
                                   int shard_batch, const std::string& device,
                                   const jobspec::Value& loss, const CompileOptions& options) {
  const DeviceKind& kind = device_table().at(device);
  if (shard_batch < 1)
    throw std::invalid_argument("a shard of " + std::to_string(shard_batch) + " samples is empty");
  Graph graph = build_model_graph(model, input, loss);
  return std::make_unique<CompiledModel>(model.find("name")->as_string(), std::move(graph),
                                         shard_batch, kind, options);
}

}  // namespace thalweg::engine
