// The reference program: runs the layers of a graph one after another.
#include <algorithm>

#include "engine/device/device.h"
#include "engine/device/graph/node.h"
#include "engine/device/reference/layer.h"

namespace thalweg::engine::reference {
namespace {

template <class T>
const LossFunction<T>& loss_of(const Graph& graph) {
  if constexpr (sizeof(T) == sizeof(float))
    return graph.loss.kind->reference->f32;
  else
    return graph.loss.kind->reference->f64;
}

template <class T>
class ReferenceProgram final : public BasicProgram<T> {
 public:
  ReferenceProgram(const Graph& graph, int samples)
      : graph_(graph),
        samples_(samples),
        infos_(place_parameters(graph, {})),
        nodes_(fuse(graph_, {})) {
    for (std::size_t l = graph_.layers.size(); l-- > 0;)
      for (std::size_t p = 0; p < graph_.layers[l].parameters.size(); ++p)
        ready_order_.push_back(nodes_[l].first_parameter + static_cast<int>(p));
  }

  const std::vector<ParameterInfo>& parameters() const override { return infos_; }
  const std::vector<int>& ready_order() const override { return ready_order_; }
  std::unique_ptr<BasicExecutor<T>> executor() const override;

  void to_plain(int parameter, const T* device, T* plain) const override {
    std::copy_n(device, elements(info(parameter).shape), plain);
  }
  void from_plain(int parameter, const T* plain, T* device) const override {
    const auto count = static_cast<std::size_t>(elements(info(parameter).shape));
    std::copy_n(plain, count, device);
    std::fill(device + count, device + info(parameter).count, T{0});
  }

  const Graph& graph() const { return graph_; }
  int samples() const { return samples_; }
  const Node& node(std::size_t layer) const { return nodes_[layer]; }
  const ParameterInfo& info(std::size_t parameter) const { return infos_[parameter]; }

 private:
  Graph graph_;
  int samples_;
  std::vector<ParameterInfo> infos_;
  std::vector<Node> nodes_;  ///< one for each layer
  std::vector<int> ready_order_;
};

template <class T>
class ReferenceExecutor final : public BasicExecutor<T> {
 public:
  explicit ReferenceExecutor(const ReferenceProgram<T>& program) : program_(program) {
    const auto room = [&](const Shape& s) {
      return std::vector<T>(static_cast<std::size_t>(program.samples() * elements(s)));
    };
    values_.push_back(room(program.graph().input));
    for (const LayerPlan& layer : program.graph().layers)
      values_.push_back(room(layer.out));
    gradients_ = values_;
  }

  using BasicExecutor<T>::train;
  using BasicExecutor<T>::evaluate;

  void train(gpu::Stream*, const BasicShard<T>& shard, const ReadyFunction& ready) override {
    const Batch& batch = shard.batch;
    check_batch(batch, program_.samples(), true);
    forward(shard, true);
    const Graph& graph = program_.graph();
    Batch labelled = batch;
    if (batch.draw_labels) {
      draw_labels(graph.loss, values_.back().data(), batch, drawn_);
      labelled.labels = drawn_.data();
    }
    *shard.result = loss_of<T>(graph)(
        graph.loss, {values_.back().data(), &labelled, shard.scale, gradients_.back().data()});
    has_gradient_.assign(values_.size(), false);
    for (std::size_t l = graph.layers.size(); l-- > 0;) {
      const LayerPlan& layer = graph.layers[l];
      Call<T> call = make_call(l, shard);
      call.training = true;
      call.dy = gradients_[l + 1].data();
      for (std::size_t k = 0; k < layer.from.size(); ++k)
        call.dxs.push_back(gradient_place(layer.from[k], k));
      call.dx = call.dxs.front();
      const auto first = static_cast<std::size_t>(program_.node(l).first_parameter);
      for (std::size_t p = 0; p < layer.parameters.size(); ++p) {
        const ParameterInfo& info = program_.info(first + p);
        std::fill_n(shard.gradients + info.offset, info.count, T{0});
        call.gradients.push_back(shard.gradients + info.offset);
      }
      layer.kind->reference->template functions<T>().backward(layer, call);
      for (std::size_t k = 0; k < layer.from.size(); ++k)
        add_gradient(layer.from[k], k);
      if (!ready) continue;
      for (std::size_t p = 0; p < layer.parameters.size(); ++p)
        ready(static_cast<int>(first + p));
    }
  }

  void evaluate(gpu::Stream*, const BasicShard<T>& shard) override {
    check_batch(shard.batch, program_.samples(), false);
    forward(shard, false);
    const Graph& graph = program_.graph();
    *shard.result =
        loss_of<T>(graph)(graph.loss, {values_.back().data(), &shard.batch, T{1}, nullptr});
    if (shard.outputs != nullptr)
      std::copy_n(values_.back().data(),
                  static_cast<std::size_t>(shard.batch.samples * elements(graph.loss.output)),
                  shard.outputs);
  }

 private:
  /// Where a layer leaves the gradient of its input k, for add_gradient to add it to those of the
  /// other layers that take the value. Null for the graph's input.
  T* gradient_place(int value, std::size_t k) {
    const auto v = static_cast<std::size_t>(value);
    if (value == 0) return nullptr;
    if (asides_.size() <= k) asides_.resize(k + 1);
    asides_[k].resize(values_[v].size());
    return asides_[k].data();
  }

  void add_gradient(int value, std::size_t k) {
    const auto v = static_cast<std::size_t>(value);
    if (value == 0) return;
    if (!has_gradient_[v])
      std::swap(gradients_[v], asides_[k]);
    else
      for (std::size_t i = 0; i < gradients_[v].size(); ++i)
        gradients_[v][i] += asides_[k][i];
    has_gradient_[v] = true;
  }

  Call<T> make_call(std::size_t l, const BasicShard<T>& shard) {
    Call<T> call;
    call.batch = &shard.batch;
    for (const int value : program_.graph().layers[l].from)
      call.xs.push_back(values_[static_cast<std::size_t>(value)].data());
    call.x = call.xs.front();
    call.y = values_[l + 1].data();
    const auto first = static_cast<std::size_t>(program_.node(l).first_parameter);
    for (std::size_t p = 0; p < program_.graph().layers[l].parameters.size(); ++p)
      call.weights.push_back(shard.parameters + program_.info(first + p).offset);
    return call;
  }

  void forward(const BasicShard<T>& shard, bool training) {
    const Graph& graph = program_.graph();
    std::copy_n(shard.batch.inputs, shard.batch.samples * elements(graph.input), values_[0].data());
    for (std::size_t l = 0; l < graph.layers.size(); ++l) {
      Call<T> call = make_call(l, shard);
      call.training = training;
      const std::size_t at = program_.node(l).statistics;
      if (!training && shard.running != nullptr) call.running = shard.running + at;
      if (training && shard.statistics != nullptr) call.statistics = shard.statistics + at;
      graph.layers[l].kind->reference->template functions<T>().forward(graph.layers[l], call);
    }
  }

  const ReferenceProgram<T>& program_;
  std::vector<std::vector<T>> values_;  ///< input, then every layer's output
  std::vector<std::int32_t> drawn_;
  std::vector<std::vector<T>> gradients_;  ///< their gradients
  std::vector<bool> has_gradient_;         ///< some layer has left its part there
  std::vector<std::vector<T>> asides_;     ///< a layer's gradients before they are added
};

template <class T>
std::unique_ptr<BasicExecutor<T>> ReferenceProgram<T>::executor() const {
  return std::make_unique<ReferenceExecutor<T>>(*this);
}

}  // namespace

template <class T>
std::unique_ptr<BasicProgram<T>> compile(const Graph& graph, int samples) {
  return std::make_unique<ReferenceProgram<T>>(graph, samples);
}

template std::unique_ptr<BasicProgram<float>> compile(const Graph&, int);
template std::unique_ptr<BasicProgram<double>> compile(const Graph&, int);

}  // namespace thalweg::engine::reference
