#include "engine/device/cuda/measure.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <utility>

#include "engine/gpu/vectors.h"

namespace thalweg::engine::cuda {
namespace {

constexpr int kRuns = 5;

/// Where `work` throws, nothing is being captured afterwards.
template <class Work>
std::unique_ptr<gpu::CapturedGraph> capture(gpu::Stream& stream, const Work& work) {
  stream.begin_capture();
  try {
    work();
  } catch (const gpu::GpuError&) {
    try {
      (void)stream.end_capture();
    } catch (const gpu::GpuError&) {
      // The work's own error says more.
    }
    throw;
  }
  return stream.end_capture();
}

/// The median of kRuns runs of the chosen algorithm, in ms.
double time_of(gpu::Gpu& machine, gpu::Stream& stream, const gpu::Call& call,
               std::span<void* const> tensors, void* workspace) {
  std::array<std::unique_ptr<gpu::Event>, kRuns + 1> marks;
  for (auto& mark : marks)
    mark = machine.event();
  call.run(stream, tensors, workspace);  // loads and warms up what it needs
  stream.wait();
  const auto runs = capture(stream, [&] {
    call.run(stream, tensors, workspace);
    stream.record(*marks[0]);
    for (int i = 1; i <= kRuns; ++i) {
      call.run(stream, tensors, workspace);
      stream.record(*marks[static_cast<std::size_t>(i)]);
    }
  });
  stream.launch(*runs);
  stream.wait();
  std::array<double, kRuns> ms{};
  for (std::size_t i = 0; i < ms.size(); ++i)
    ms[i] = marks[i + 1]->ms_since(*marks[i]);
  std::nth_element(ms.begin(), ms.begin() + kRuns / 2, ms.end());
  return ms[kRuns / 2];
}

/// Memory for the tensors of a plan's calls, each home by itself, full of small numbers.
class Operands {
 public:
  Operands(gpu::Gpu& machine, gpu::Stream& stream, const Plan& plan,
           const std::vector<const LibraryCall*>& calls)
      : plan_(plan), stream_(stream) {
    std::map<Home, std::size_t> sizes;
    for (const LibraryCall* call : calls)
      for (const TensorId id : call->tensors)
        if (id >= 0) {
          const Tensor& whole = root(id);
          std::size_t& size = sizes[whole.home];
          size = std::max(size, place(*call, whole) + whole.desc.bytes());
        }
    for (const auto& [home, bytes] : sizes) {
      const auto& memory =
          homes_.emplace(home, gpu::Memory(machine, bytes, "tensors to measure kernels with"))
              .first->second;
      gpu::fill_with_numbers(stream, memory.data(), memory.bytes());
    }
  }

  /// No work may be left that knows the memory, whatever went wrong.
  ~Operands() {
    try {
      stream_.wait();
    } catch (const gpu::GpuError&) {
      // Told by the work that failed.
    }
  }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  /// Of one call, with numbers that no other call has written.
  std::vector<void*> of(const LibraryCall& call) {
    std::vector<void*> pointers;
    for (const TensorId id : call.tensors) {
      pointers.push_back(nullptr);
      if (id < 0) continue;
      const Tensor& whole = root(id);
      std::byte* const home = static_cast<std::byte*>(homes_.at(whole.home).data());
      gpu::fill_with_numbers(stream_, home + place(call, whole), whole.desc.bytes());
      pointers.back() = home + place(call, tensor(id));
    }
    return pointers;
  }

 private:
  const Tensor& tensor(TensorId id) const { return plan_.tensors[static_cast<std::size_t>(id)]; }
  const Tensor& root(TensorId id) const {
    return tensor(id).base < 0 ? tensor(id) : tensor(tensor(id).base);
  }
  static std::size_t place(const LibraryCall& call, const Tensor& tensor) {
    return call.in_backward ? tensor.again : tensor.offset;
  }

  const Plan& plan_;
  gpu::Stream& stream_;
  std::map<Home, gpu::Memory> homes_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::vector<CallKind> kinds_of(const Plan& plan) {
  std::vector<CallKind> kinds;
  std::map<std::string, std::size_t> places;
  std::vector<std::size_t> kind_of(plan.calls.size());
  for (std::size_t c = 0; c < plan.calls.size(); ++c) {
    const gpu::Call& call = *plan.calls[c].call;
    const auto [at, is_new] = places.emplace(call.key(), kinds.size());
    if (is_new) kinds.push_back({call.key(), call.name(), 0, 0});
    kind_of[c] = at->second;
    ++kinds[at->second].calls;
  }
  for (const auto* operations : {&plan.forward, &plan.loss, &plan.backward})
    for (const Operation& operation : *operations)
      if (operation.call >= 0) ++kinds[kind_of[static_cast<std::size_t>(operation.call)]].runs;
  std::erase_if(kinds, [](const CallKind& kind) { return kind.key.empty(); });
  return kinds;
}

CallTimes time_algorithms(gpu::Gpu& machine, gpu::Stream& stream, gpu::Call& call,
                          std::span<void* const> tensors, const MeasureOptions& options) {
  CallTimes times{call.name(), {}};
  gpu::Memory workspace;
  for (int algorithm = 0; algorithm < call.algorithms(); ++algorithm) {
    const std::string name = call.algorithm_name(algorithm);
    const auto leave_out = [&](const std::string& why) {
      options.note(call.name() + ", " + name + ": not measured: " + why);
    };
    const std::size_t bytes = call.workspace(algorithm);
    if (bytes > options.scratch) {
      leave_out("it needs " + std::to_string(bytes) + " bytes of workspace, of " +
                std::to_string(options.scratch));
      continue;
    }
    try {
      if (bytes > workspace.bytes()) {
        workspace = {};
        workspace = gpu::Memory(machine, bytes, "the workspace of " + call.name());
      }
      call.choose(algorithm);
      times.algorithms.push_back(
          {algorithm, name, bytes, time_of(machine, stream, call, tensors, workspace.data())});
    } catch (const gpu::GpuError& error) {
      leave_out(error.what());
      stream.wait();  // some of it may be under way; throws where the GPU is lost
    }
  }
  return times;
}

KernelTimes measure(gpu::Gpu& machine, const Plan& plan, const MeasureOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  KernelTimes times;
  std::vector<const LibraryCall*> calls;  // one of each kind
  for (const LibraryCall& call : plan.calls) {
    const std::string key = call.call->key();
    if (key.empty() || options.known.contains(key)) continue;
    if (times.emplace(key, CallTimes{call.call->name(), {}}).second) calls.push_back(&call);
  }
  if (calls.empty()) return times;
  const auto stream = machine.stream();
  Operands operands(machine, *stream, plan, calls);
  std::size_t done = 0;
  for (; done < calls.size() && seconds_since(start) < options.seconds; ++done) {
    gpu::Call& call = *calls[done]->call;
    const int before = call.chosen();
    times[call.key()] = time_algorithms(machine, *stream, call, operands.of(*calls[done]), options);
    call.choose(before);
    options.progress();
  }
  if (done < calls.size())
    options.note("the time for measuring is over: " + std::to_string(calls.size() - done) + " of " +
                 std::to_string(calls.size()) + " kinds of calls are left to their libraries");
  return times;
}

}  // namespace thalweg::engine::cuda
