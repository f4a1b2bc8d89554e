// An LSTM as calls: the algorithms that cuDNN offers are planned, tried out and run with our
// weights where it wants them.
#include "engine/gpu/cudnn_recurrence.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/gpu/cudnn.h"
#include "engine/gpu/cudnn_rnn.h"
#include "engine/gpu/library_loops.h"
#include "engine/gpu/names.h"

namespace thalweg::engine::gpu {
namespace {

/// An algorithm, with the sizes that it wants and where the weights lie in its space of them.
struct Algorithm {
  std::string name;
  std::shared_ptr<cudnnRNNStruct> descriptor;
  std::size_t weights = 0, reserve = 0, training = 0, evaluation = 0;  ///< bytes
  std::vector<std::size_t> offsets;  ///< bytes, of the tensors of Recurrence's "weights"

  std::size_t space_of_weights() const { return (weights + 255) / 256 * 256; }
};

using Pointers = std::span<void* const>;

/// An LSTM with its own handle: cuDNN's streams for what it does concurrently are the handle's, and
/// two streams must not be captured with the same ones at a time.
class Lstm {
 public:
  Lstm(Gpu& gpu, const Recurrence& shape) : shape_(shape) {
    (void)gpu.stream()->native();  // makes the GPU the calling thread's
    check_cudnn(cudnn().create(&handle_), "cudnnCreate");
    try {
      x_ = sequence_descriptor(shape, shape.features);
      y_ = sequence_descriptor(shape, shape.width);
      states_ = state_descriptor(shape);
      plan_algorithms(gpu);
    } catch (...) {
      (void)rnn().destroy(handle_);
      throw;
    }
  }
  ~Lstm() { (void)rnn().destroy(handle_); }
  Lstm(const Lstm&) = delete;
  Lstm& operator=(const Lstm&) = delete;

  const Recurrence& shape() const { return shape_; }
  const std::vector<Algorithm>& algorithms() const { return algorithms_; }

  // Training keeps the weights as cuDNN wants them, then its reserve. Workspaces: cuDNN's; in
  // evaluation the weights before it, in backward their gradients.
  static std::size_t saved_bytes(const Algorithm& algorithm) {
    return algorithm.space_of_weights() + algorithm.reserve;
  }
  static std::size_t for_evaluation(const Algorithm& algorithm) {
    return algorithm.space_of_weights() + algorithm.evaluation;
  }
  static std::size_t for_backward(const Algorithm& algorithm) {
    return algorithm.space_of_weights() + algorithm.training;
  }

  void train(Stream& stream, const Algorithm& algorithm, Pointers t, void* workspace) const {
    auto* const weights = static_cast<std::byte*>(t[2]);
    collect(stream, algorithm, t.subspan(3), weights);
    forward(stream, algorithm, CUDNN_FWD_MODE_TRAINING, t[0], t[1], weights, algorithm.training,
            workspace, algorithm.reserve, weights + algorithm.space_of_weights());
  }

  void evaluate(Stream& stream, const Algorithm& algorithm, Pointers t, void* workspace) const {
    auto* const weights = static_cast<std::byte*>(workspace);
    collect(stream, algorithm, t.subspan(2), weights);
    forward(stream, algorithm, CUDNN_FWD_MODE_INFERENCE, t[0], t[1], weights, algorithm.evaluation,
            weights + algorithm.space_of_weights(), 0, nullptr);
  }

  void run_backward(Stream& stream, const Algorithm& algorithm, Pointers t, void* workspace) const {
    auto* const weights = static_cast<std::byte*>(t[3]);
    void* const reserve = weights + algorithm.space_of_weights();
    auto* const gradients = static_cast<std::byte*>(workspace);
    void* const temporary = gradients + algorithm.space_of_weights();
    stream.zero(gradients, algorithm.weights);  // cuDNN adds to it
    {
      const std::lock_guard lock(mutex_);
      use(stream);
      check_cudnn(
          rnn().backward_data(handle_, algorithm.descriptor.get(), nullptr, y_.get(), t[1], t[2],
                              x_.get(), t[4], states_.get(), nullptr, nullptr, nullptr,
                              states_.get(), nullptr, nullptr, nullptr, algorithm.weights, weights,
                              algorithm.training, temporary, algorithm.reserve, reserve),
          "cudnnRNNBackwardData_v8");
      check_cudnn(rnn().backward_weights(handle_, algorithm.descriptor.get(), CUDNN_WGRAD_MODE_ADD,
                                         nullptr, x_.get(), t[0], states_.get(), nullptr, y_.get(),
                                         t[1], algorithm.weights, gradients, algorithm.training,
                                         temporary, algorithm.reserve, reserve),
                  "cudnnRNNBackwardWeights_v8");
    }
    const Pointers into = t.subspan(5 + algorithm.offsets.size());
    for (std::size_t i = 0; i < algorithm.offsets.size(); ++i) {
      const void* const from = gradients + algorithm.offsets[i];
      if (shape_.type == Type::f32) {
        stream.copy(into[i], from, bytes(i));
      } else {
        widen(stream, count(i), static_cast<const Bf16*>(from), static_cast<float*>(into[i]));
      }
    }
  }

 private:
  /// Of the i-th of the weights.
  std::int64_t inputs(std::size_t i) const {
    return i % 4 == 1 || i >= 4 ? shape_.width : shape_.features;
  }
  std::int64_t count(std::size_t i) const { return 4 * shape_.width * (i % 4 < 2 ? inputs(i) : 1); }
  std::size_t bytes(std::size_t i) const {
    return static_cast<std::size_t>(count(i)) * size_of(shape_.type);
  }

  void use(Stream& stream) const {
    check_cudnn(cudnn().set_stream(handle_, static_cast<cudaStream_t>(stream.native())),
                "cudnnSetStream");
  }

  void collect(Stream& stream, const Algorithm& algorithm, Pointers from, std::byte* space) const {
    for (std::size_t i = 0; i < algorithm.offsets.size(); ++i)
      stream.copy(space + algorithm.offsets[i], from[i], bytes(i));
  }

  void forward(Stream& stream, const Algorithm& algorithm, cudnnForwardMode_t mode, const void* x,
               void* y, const void* weights, std::size_t temporary_bytes, void* temporary,
               std::size_t reserve_bytes, void* reserve) const {
    const std::lock_guard lock(mutex_);
    use(stream);
    check_cudnn(rnn().forward(handle_, algorithm.descriptor.get(), mode, nullptr, x_.get(), x,
                              y_.get(), y, states_.get(), nullptr, nullptr, states_.get(), nullptr,
                              nullptr, algorithm.weights, weights, temporary_bytes, temporary,
                              reserve_bytes, reserve),
                "cudnnRNNForward");
  }

  /// Best first. Small widths: PyTorch's rule, whose authors have measured it; wider than that its
  /// backward has no such kernel. The persistent kernels for larger widths wait for each other
  /// inside a grid, which other work on the GPU, such as an exchange of gradients, can keep from
  /// ever being there as a whole.
  void plan_algorithms(Gpu& gpu) {
    constexpr std::int64_t small = 128;
    std::vector<std::pair<cudnnRNNAlgo_t, const char*>> algorithms;
    if (shape_.width <= small)
      algorithms.emplace_back(CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H, "persistent, small width");
    algorithms.emplace_back(CUDNN_RNN_ALGO_STANDARD, "standard");
    std::string why;
    for (const auto& [rnn_algorithm, name] : algorithms) {
      try {
        Algorithm algorithm;
        algorithm.name = name;
        algorithm.descriptor = descriptor_of(shape_, rnn_algorithm);
        find_sizes(algorithm);
        find_offsets(gpu, algorithm);
        try_out(gpu, algorithm);
        algorithms_.push_back(std::move(algorithm));
      } catch (const GpuError& error) {
        why = std::string("cuDNN, ") + name + ": " + error.what();
        note_refusal(name_of(shape_), why);
        (void)cudaGetLastError();  // what cuDNN may have left would be taken for a loop's
      }
    }
    if (algorithms_.empty()) throw GpuError(why);
  }

  void find_sizes(Algorithm& algorithm) const {
    const Rnn& f = rnn();
    check_cudnn(f.weight_space_size(handle_, algorithm.descriptor.get(), &algorithm.weights),
                "cudnnGetRNNWeightSpaceSize");
    check_cudnn(f.temp_space_sizes(handle_, algorithm.descriptor.get(), CUDNN_FWD_MODE_TRAINING,
                                   x_.get(), &algorithm.training, &algorithm.reserve),
                "cudnnGetRNNTempSpaceSizes");
    std::size_t none = 0;
    check_cudnn(f.temp_space_sizes(handle_, algorithm.descriptor.get(), CUDNN_FWD_MODE_INFERENCE,
                                   x_.get(), &algorithm.evaluation, &none),
                "cudnnGetRNNTempSpaceSizes");
  }

  /// cuDNN names a matrix and a bias for each gate: 0 to 3 of the inputs, 4 to 7 of h, in
  /// Recurrence's order. A tensor of ours is four of them, which must be contiguous.
  void find_offsets(Gpu& gpu, Algorithm& algorithm) const {
    const Memory space(gpu, algorithm.weights, "the weights of an lstm");
    const auto* const start = static_cast<const std::byte*>(space.data());
    const auto matrix = tensor_descriptor(), bias = tensor_descriptor();
    algorithm.offsets.assign(4 * static_cast<std::size_t>(shape_.layers), 0);
    for (std::size_t l = 0; l < static_cast<std::size_t>(shape_.layers); ++l)
      for (std::size_t gate = 0; gate < 8; ++gate) {
        void* at[2] = {nullptr, nullptr};
        check_cudnn(rnn().weight_params(handle_, algorithm.descriptor.get(), static_cast<int>(l),
                                        algorithm.weights, space.data(), static_cast<int>(gate),
                                        matrix.get(), &at[0], bias.get(), &at[1]),
                    "cudnnGetRNNWeightParams");
        const std::size_t weight = 4 * l + gate / 4, biases = weight + 2;
        refuse_other_sizes(*matrix, inputs(weight));
        refuse_other_sizes(*bias, 1);
        for (const auto& [number, pointer] : {std::pair{weight, at[0]}, std::pair{biases, at[1]}}) {
          const auto found =
              static_cast<std::size_t>(static_cast<const std::byte*>(pointer) - start);
          if (gate % 4 == 0) algorithm.offsets[number] = found;
          if (pointer == nullptr || found + bytes(number) / 4 > algorithm.weights ||
              found != algorithm.offsets[number] + gate % 4 * bytes(number) / 4)
            throw GpuError("the weights of the " + name_of(shape_) + " are not gate by gate");
        }
      }
  }

  void refuse_other_sizes(cudnnTensorStruct& part, std::int64_t columns) const {
    cudnnDataType_t type{};
    int dimensions = 0;
    std::array<int, 3> sizes{}, strides{};
    check_cudnn(rnn().get_tensor(&part, 3, &type, &dimensions, sizes.data(), strides.data()),
                "cudnnGetTensorNdDescriptor");
    if (dimensions != 3 || type != rnn_type(shape_.type) || sizes[1] != shape_.width ||
        sizes[2] != columns || strides[1] != columns)
      throw GpuError("cuDNN has weights of other sizes for the " + name_of(shape_));
  }

  /// Once as it is and once captured in another stream: what cuDNN sets up at its first call it
  /// cannot while a stream is captured, and some refusals come no earlier.
  void try_out(Gpu& gpu, const Algorithm& algorithm) const {
    const std::int64_t rows = shape_.samples * shape_.positions;
    const std::string what = "trying the " + name_of(shape_);
    const auto values = [&](std::int64_t columns) {
      return Memory(gpu, up(static_cast<std::size_t>(rows * columns) * size_of(shape_.type)), what);
    };
    const Memory x = values(shape_.features), dx = values(shape_.features);
    const Memory y = values(shape_.width), dy = values(shape_.width);
    const Memory reserve_memory(gpu, saved_bytes(algorithm), what);
    const Memory workspace(gpu,
                           std::max({algorithm.training, for_evaluation(algorithm),
                                     for_backward(algorithm), std::size_t{1}}),
                           what);
    std::vector<Memory> weights, gradients;
    std::vector<void*> training{x.data(), y.data(), reserve_memory.data()};
    std::vector<void*> evaluation{x.data(), y.data()};
    std::vector<void*> backward{x.data(), y.data(), dy.data(), reserve_memory.data(), dx.data()};
    for (std::size_t i = 0; i < algorithm.offsets.size(); ++i) {
      weights.emplace_back(gpu, bytes(i), what);
      for (auto* const tensors : {&training, &evaluation, &backward})
        tensors->push_back(weights.back().data());
    }
    for (std::size_t i = 0; i < algorithm.offsets.size(); ++i) {
      gradients.emplace_back(gpu, static_cast<std::size_t>(count(i)) * sizeof(float), what);
      backward.push_back(gradients.back().data());
    }
    const auto all = [&](Stream& stream) {
      train(stream, algorithm, training, workspace.data());
      run_backward(stream, algorithm, backward, workspace.data());
      evaluate(stream, algorithm, evaluation, workspace.data());
    };
    const std::unique_ptr<Stream> first = gpu.stream(), other = gpu.stream();
    all(*first);
    first->wait();
    other->begin_capture();
    all(*other);
    (void)other->end_capture();
  }

  Recurrence shape_;
  cudnnHandle_t handle_ = nullptr;
  mutable std::mutex mutex_;  ///< a handle is for one thread at a time
  std::shared_ptr<cudnnRNNDataStruct> x_, y_;
  std::shared_ptr<cudnnTensorStruct> states_;
  std::vector<Algorithm> algorithms_;
};

class Forward final : public Call {
 public:
  Forward(std::shared_ptr<const Lstm> lstm, bool training)
      : lstm_(std::move(lstm)), training_(training) {}
  std::string name() const override {
    return name_of(lstm_->shape()) + (training_ ? " training" : " evaluation");
  }
  std::string key() const override {
    return key_of(lstm_->shape()) + (training_ ? " training" : " evaluation");
  }
  int algorithms() const override { return static_cast<int>(lstm_->algorithms().size()); }
  std::string algorithm_name(int number) const override {
    return number < algorithms() ? algorithm(number).name : "";
  }
  std::size_t workspace(int number) const override {
    return training_ ? algorithm(number).training : Lstm::for_evaluation(algorithm(number));
  }
  void run(Stream& stream, Pointers tensors, void* workspace) const override {
    if (training_) {
      lstm_->train(stream, algorithm(chosen()), tensors, workspace);
    } else {
      lstm_->evaluate(stream, algorithm(chosen()), tensors, workspace);
    }
  }

 private:
  const Algorithm& algorithm(int number) const {
    return lstm_->algorithms().at(static_cast<std::size_t>(number));
  }

  std::shared_ptr<const Lstm> lstm_;
  bool training_;
};

/// What an algorithm keeps only the same one reads.
class Backward final : public Call {
 public:
  Backward(std::shared_ptr<const Lstm> lstm, std::shared_ptr<const Call> training)
      : lstm_(std::move(lstm)), training_(std::move(training)) {}
  std::string name() const override { return name_of(lstm_->shape()) + " backward"; }
  std::size_t workspace(int) const override {
    std::size_t most = 0;
    for (const Algorithm& algorithm : lstm_->algorithms())
      most = std::max(most, Lstm::for_backward(algorithm));
    return most;
  }
  void run(Stream& stream, Pointers tensors, void* workspace) const override {
    lstm_->run_backward(stream,
                        lstm_->algorithms().at(static_cast<std::size_t>(training_->chosen())),
                        tensors, workspace);
  }

 private:
  std::shared_ptr<const Lstm> lstm_;
  std::shared_ptr<const Call> training_;
};

}  // namespace

RecurrenceCalls cudnn_recurrence(Gpu& gpu, const Recurrence& shape) {
  try {
    const auto lstm = std::make_shared<const Lstm>(gpu, shape);
    RecurrenceCalls calls;
    calls.training = std::make_shared<Forward>(lstm, true);
    calls.evaluation = std::make_shared<Forward>(lstm, false);
    calls.backward = std::make_shared<Backward>(lstm, calls.training);
    for (const Algorithm& algorithm : lstm->algorithms())
      calls.reserve = std::max(calls.reserve, Lstm::saved_bytes(algorithm));
    return calls;
  } catch (const GpuError& error) {
    note_refusal(name_of(shape), error.what());
    return {};
  }
}

}  // namespace thalweg::engine::gpu
