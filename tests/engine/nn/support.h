// Graphs, batches and comparisons that the tests of layers and models share.
#pragma once

#include <cmath>
#include <cstdint>
#include <new>
#include <ostream>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/nn/graph.h"
#include "engine/nn/initialize.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/random.h"

namespace thalweg::engine::test {

/// One graph to try, with its classes (the last layer's outputs) and samples.
struct Case {
  std::string name;
  Shape input;
  int samples;
  int classes;
  std::vector<LayerSpec> layers;
  std::int64_t labels = 1;   ///< of a sample
  std::int64_t targets = 0;  ///< of a sample, in place of labels where classes is 0
  int vocabulary = 0;
  jobspec::Value loss = {};

  Graph graph() const {
    return build_graph(layers, {input, classes, labels, targets, vocabulary}, loss);
  }
};

/// For GoogleTest's messages.
inline void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

/// Roughly normal input and labels that depend only on `seed`.
struct Data {
  Data(const Shape& shape, int samples, int classes, std::uint64_t seed = 7)
      : Data(InputShape{shape, classes}, samples, seed) {}
  /// Of several labels a sample, one in eight does not count.
  Data(const InputShape& shape, int samples, std::uint64_t seed = 7)
      : inputs(static_cast<std::size_t>(samples * elements(shape.sample))),
        labels(static_cast<std::size_t>(samples * shape.labels)),
        targets(static_cast<std::size_t>(samples * shape.targets)) {
    const int classes = std::max(shape.classes, 1);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto bits = philox(seed, Stream::noise, 0, i);
      inputs[i] = uniform01(bits[0]) + uniform01(bits[1]) + uniform01(bits[2]) - 1.5f;
      if (shape.vocabulary > 0)
        inputs[i] = static_cast<float>(bits[0] % static_cast<std::uint32_t>(shape.vocabulary));
    }
    for (std::size_t i = 0; i < labels.size(); ++i)
      labels[i] = static_cast<std::int32_t>(philox(seed, Stream::noise, 1, i)[0] %
                                            static_cast<std::uint32_t>(classes));
    for (std::size_t i = 0; shape.labels > 1 && i < labels.size(); i += 8)
      labels[i] = no_label;
    for (std::size_t i = 0; i < targets.size(); ++i)
      targets[i] = uniform01(philox(seed, Stream::noise, 2, i)[0]);
    batch = {inputs.data(), labels.data(), targets.data(), samples, 11, 3, 40};
  }
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  std::vector<float> targets;
  Batch batch;
};

inline std::size_t statistics_of(const Graph& graph) {
  std::size_t count = 0;
  for (const LayerPlan& layer : graph.layers)
    for (const StatisticPlan& s : layer.statistics)
      count += static_cast<std::size_t>(s.count);
  return count;
}

/// Everything one training pass puts out, gradients in the plain layout, one vector a parameter.
template <class T>
struct Outcome {
  ShardResult result;
  std::vector<std::vector<T>> gradients;
  std::vector<T> statistics;
  std::vector<int> ready;
};

/// Plain start values of every parameter; biases and norms are moved off 0 and 1 so that nothing
/// hides there.
inline std::vector<std::vector<float>> start_values(const Graph& graph) {
  std::vector<std::vector<float>> values;
  for (const LayerPlan& layer : graph.layers) {
    for (const ParameterPlan& parameter : layer.parameters) {
      const auto number = static_cast<std::uint32_t>(values.size());
      std::vector<float> value(static_cast<std::size_t>(elements(parameter.shape)));
      initialize_parameter(parameter, 5, number, value.data());
      if (parameter.norm_or_bias)
        for (std::size_t i = 0; i < value.size(); ++i)
          value[i] += 0.2f * uniform01(philox(9, Stream::noise, number, i)[0]) - 0.1f;
      values.push_back(std::move(value));
    }
  }
  return values;
}

/// Memory as the kernels expect it: from a cache line's start.
template <class T>
struct CacheLines {
  using value_type = T;
  CacheLines() = default;
  template <class U>
  CacheLines(const CacheLines<U>&) {}
  static T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), kLine));
  }
  static void deallocate(T* p, std::size_t) { ::operator delete(p, kLine); }
  bool operator==(const CacheLines&) const { return true; }
  static constexpr std::align_val_t kLine{64};
};
template <class T>
using Flat = std::vector<T, CacheLines<T>>;

/// The flat memory of a program from plain values.
template <class T>
Flat<T> flat_memory(const BasicProgram<T>& program, const std::vector<std::vector<float>>& values) {
  Flat<T> flat;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ParameterInfo& info = program.parameters()[i];
    flat.resize(info.offset + info.count);
    const std::vector<T> plain(values[i].begin(), values[i].end());
    program.from_plain(static_cast<int>(i), plain.data(), flat.data() + info.offset);
  }
  return flat;
}

template <class T>
Outcome<T> train(const BasicProgram<T>& program, const Graph& graph, const Batch& batch,
                 BasicExecutor<T>& executor, const std::vector<std::vector<float>>& values,
                 T scale) {
  Outcome<T> outcome;
  const Flat<T> flat = flat_memory(program, values);
  Flat<T> gradients(flat.size(), T{777});  // what is not overwritten will be seen
  outcome.statistics.assign(statistics_of(graph), T{777});
  outcome.result =
      executor.train(flat.data(), batch, scale, gradients.data(), outcome.statistics.data(),
                     [&](int i) { outcome.ready.push_back(i); });
  for (std::size_t i = 0; i < values.size(); ++i) {
    outcome.gradients.emplace_back(values[i].size());
    program.to_plain(static_cast<int>(i), gradients.data() + program.parameters()[i].offset,
                     outcome.gradients.back().data());
  }
  return outcome;
}

/// || a - b || / || b ||, or || a - b || where b is 0.
template <class A, class B>
double relative_distance(const std::vector<A>& a, const std::vector<B>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    difference += d * d;
    norm += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

}  // namespace thalweg::engine::test
