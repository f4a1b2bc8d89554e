#include "tests/bench/gpu/profile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/device/cuda/measure.h"
#include "engine/gpu/vectors.h"
#include "engine/nn/model_table.h"
#include "engine/tensor/random.h"
#include "tests/bench/gpu/measured_kernels.h"
#include "tests/bench/gpu/rates.h"
#include "tests/support/counted_plan.h"

namespace thalweg::engine::bench {
namespace {

using test::CountedOperation;
using test::CountedPlan;

constexpr int kRepeats = 4;  // of a loop that is looked at by itself
constexpr int kMaxPasses = 50;

std::string format(const char* pattern, auto... values) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::size_t index_of(TensorId id) {
  return static_cast<std::size_t>(id);
}

/// Memory for one pass over a plan: numbers everywhere, labels and tokens that there are.
class Stage {
 public:
  Stage(gpu::Gpu& machine, gpu::Stream& stream, const CountedPlan& counted)
      : counted_(counted), stream_(stream) {
    std::map<Home, std::size_t> sizes{{Home::arena, counted.plan.arena_bytes}};
    for (const cuda::Tensor& t : counted.plan.tensors)
      if (t.home != Home::arena) sizes[t.home] = std::max(sizes[t.home], t.offset + t.desc.bytes());
    for (const auto& [home, bytes] : sizes) {
      homes_[home] = gpu::Memory(machine, bytes + 64, "tensors to profile");
      if (home == Home::labels || home == Home::labels_b) continue;
      gpu::fill_with_numbers(stream, homes_[home].data(), homes_[home].bytes());
    }
    stream.wait();
    put_samples(machine);
    key_ = gpu::Memory(machine, sizeof(ShardKey), "a shard's key");
    const ShardKey key{1, 0, 1, counted.plan.samples,
                       1.0f / static_cast<float>(counted.plan.samples)};
    machine.copy(key_.data(), &key, sizeof key);
    for (const cuda::Tensor& t : counted.plan.tensors) {
      auto* const start = static_cast<std::byte*>(homes_.at(t.home).data());
      forward_.push_back(start + t.offset);
      backward_.push_back(start + (t.home == Home::arena ? t.again : t.offset));
    }
  }

  void run(const CountedOperation& operation) const {
    const bool backward = operation.pass == CountedOperation::Pass::backward;
    operation.operation->kernel({backward ? backward_.data() : forward_.data(),
                                 static_cast<const ShardKey*>(key_.data()), stream_});
  }

 private:
  void put_samples(gpu::Gpu& machine) {
    const InputShape& data = counted_.graph.loss.data;
    const auto draw = [](std::size_t i, int below) {
      return philox(1, Stream::noise, 0, i)[0] % static_cast<std::uint32_t>(below);
    };
    if (data.vocabulary > 0 && homes_.contains(Home::input)) {
      std::vector<float> tokens(homes_[Home::input].bytes() / sizeof(float));
      for (std::size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = static_cast<float>(draw(i, data.vocabulary));
      machine.copy(homes_[Home::input].data(), tokens.data(), tokens.size() * sizeof(float));
    }
    if (data.classes > 0 && homes_.contains(Home::labels)) {
      std::vector<std::int32_t> labels(homes_[Home::labels].bytes() / sizeof(std::int32_t));
      for (std::size_t i = 0; i < labels.size(); ++i)
        labels[i] = static_cast<std::int32_t>(draw(i, data.classes));
      machine.copy(homes_[Home::labels].data(), labels.data(),
                   labels.size() * sizeof(std::int32_t));
    }
  }

  const CountedPlan& counted_;
  gpu::Stream& stream_;
  std::map<Home, gpu::Memory> homes_;
  gpu::Memory key_;
  std::vector<std::byte*> forward_, backward_;
};

/// All that makes two loops the same work: whose they are, which of them, and their tensors.
std::vector<std::string> kinds_of_loops(const CountedPlan& counted) {
  std::vector<std::string> kinds;
  std::map<std::string, int> numbers;
  for (const CountedOperation& o : counted.operations) {
    std::string place = test::place_of(counted, o);
    const int number = ++numbers[place];
    const std::size_t first = place.find(' '), last = place.rfind(' ');
    std::string kind =
        place.substr(0, first) + place.substr(last) + " " + std::to_string(number) + ":";
    for (const TensorId id : o.operation->tensors) {
      if (id < 0) continue;
      const cuda::Desc& desc = counted.plan.tensors[index_of(id)].desc;
      kind += " " + to_text(desc.dims) + (desc.type == gpu::Type::bf16 ? "h" : "");
    }
    kinds.push_back(o.call == nullptr && o.launches > 0 ? kind : "");
  }
  return kinds;
}

/// Median ms of each operation over some launches of one captured graph; of those that are not
/// looked at 0. `repeats`: how often each is done between its events, after once without.
class Clock {
 public:
  Clock(gpu::Gpu& machine, gpu::Stream& stream, const CountedPlan& counted, const Stage& stage)
      : machine_(machine), stream_(stream), counted_(counted), stage_(stage) {
    for (const CountedOperation& o : counted.operations)
      stage.run(o);  // loads and warms up what it needs
    stream.wait();
  }

  std::vector<double> each(const std::vector<bool>& looked_at, int repeats, double seconds) {
    const std::size_t count = counted_.operations.size();
    std::vector<std::unique_ptr<gpu::Event>> before(count), after(count);
    for (std::size_t i = 0; i < count; ++i)
      if (looked_at[i]) before[i] = machine_.event(), after[i] = machine_.event();
    stream_.begin_capture();
    for (std::size_t i = 0; i < count; ++i) {
      const CountedOperation& o = counted_.operations[i];
      if (!looked_at[i] || repeats > 1) stage_.run(o);
      if (!looked_at[i]) continue;
      stream_.record(*before[i]);
      for (int turn = 0; turn < repeats; ++turn)
        stage_.run(o);
      stream_.record(*after[i]);
    }
    const auto graph = stream_.end_capture();
    std::vector<std::vector<double>> times(count);
    passes(*graph, seconds, [&] {
      for (std::size_t i = 0; i < count; ++i)
        if (looked_at[i]) times[i].push_back(after[i]->ms_since(*before[i]) / repeats);
    });
    std::vector<double> medians(count, 0);
    for (std::size_t i = 0; i < count; ++i)
      if (looked_at[i]) medians[i] = median(times[i]);
    return medians;
  }

  /// Of a pass without events inside.
  double whole(double seconds) {
    const auto begin = machine_.event(), end = machine_.event();
    stream_.begin_capture();
    stream_.record(*begin);
    for (const CountedOperation& o : counted_.operations)
      stage_.run(o);
    stream_.record(*end);
    const auto graph = stream_.end_capture();
    std::vector<double> times;
    passes(*graph, seconds, [&] { times.push_back(end->ms_since(*begin)); });
    return median(times);
  }

 private:
  template <class Look>
  void passes(const gpu::CapturedGraph& graph, double seconds, const Look& look) {
    using Time = std::chrono::steady_clock;
    const auto start = Time::now();
    for (int pass = 0; pass < kMaxPasses; ++pass) {
      stream_.launch(graph);
      stream_.wait();
      if (pass > 0) look();  // the first one loads the graph
      if (pass > 1 && std::chrono::duration<double>(Time::now() - start).count() > seconds) break;
    }
  }
  static double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  gpu::Gpu& machine_;
  gpu::Stream& stream_;
  const CountedPlan& counted_;
  const Stage& stage_;
};

CountedPlan plan_for(gpu::Gpu& machine, gpu::Stream& stream, const ProfileSettings& s) {
  CompileOptions options = s.options;
  options.kernels.workspace = std::size_t{1} << 30;  // as thalweg-train has it by default
  const auto plan = [&] {
    return test::count_plan(build_model_graph(s.model.model, s.model.data), s.batch, options,
                            &stream.library());
  };
  if (!s.measured || (machine.info().emulated && s.times.empty())) return plan();
  options.kernels = measured_kernels(machine, s.times, [&](const MeasureOptions& how) {
    return cuda::measure(machine, plan().plan, how);
  });
  return plan();
}

/// "conv2d c1 backward: conv 64x3x3x64 ... | 1.2 ms | ..." of one operation.
std::string line_of(const CountedPlan& counted, const CountedOperation& o, double ms, double all) {
  std::string text = test::place_of(counted, o);
  std::string engine = o.launches == 1 ? "1 kernel" : format("%d kernels", o.launches);
  if (o.call != nullptr) {
    const gpu::Call& call = *counted.plan.calls[static_cast<std::size_t>(o.operation->call)].call;
    engine = call.name() + ", " + call.algorithm_name(call.chosen());
  }
  text += format(" | %.4f ms | %.1f %% | %.2f MB | %.0f GB/s | ", ms, 100 * ms / all,
                 o.bytes * 1e-6, o.bytes / ms * 1e-6);
  return text + (o.call == nullptr ? "" : format("%.1f TFLOP/s", o.call->flops / ms * 1e-9)) +
         " | " + engine;
}

}  // namespace

int print_gpu_profile(const ProfileSettings& settings) {
  if (gpu::gpu_count() == 0) return std::printf("skipped: %s\n", gpu::why_no_gpu().c_str()), 77;
  gpu::Gpu& machine = gpu::chosen_gpu();
  const auto stream = machine.stream();
  const CountedPlan counted = plan_for(machine, *stream, settings);
  const Stage stage(machine, *stream, counted);
  Clock clock(machine, *stream, counted, stage);
  const std::size_t count = counted.operations.size();
  const std::vector<double> ms =
      clock.each(std::vector<bool>(count, true), 1, settings.seconds / 2);
  const double whole = clock.whole(settings.seconds / 2);

  double all = 0, loops = 0, calls = 0, loop_bytes = 0, flops = 0;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < count; ++i) {
    const CountedOperation& o = counted.operations[i];
    if (o.launches > 0) order.push_back(i);
    all += ms[i];
    (o.call == nullptr ? loops : calls) += ms[i];
    (o.call == nullptr ? loop_bytes : flops) += o.call == nullptr ? o.bytes : o.call->flops;
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return ms[a] > ms[b]; });
  for (std::size_t i = 0; i < std::min(order.size(), settings.top); ++i)
    std::printf("%s\n", line_of(counted, counted.operations[order[i]], ms[order[i]], all).c_str());
  std::printf(
      "operations=%zu sum_ms=%.4f pass_ms=%.4f loops_ms=%.4f loops_gb=%.3f loops_gb_s=%.1f "
      "calls_ms=%.4f calls_gflop=%.2f calls_tflop_s=%.2f\n",
      count, all, whole, loops, loop_bytes * 1e-9, loop_bytes / loops * 1e-6, calls, flops * 1e-9,
      flops / calls * 1e-9);
  return 0;
}

int print_gpu_loops(const ProfileSettings& settings) {
  if (gpu::gpu_count() == 0) return std::printf("skipped: %s\n", gpu::why_no_gpu().c_str()), 77;
  gpu::Gpu& machine = gpu::chosen_gpu();
  const auto stream = machine.stream();
  const double copy = copy_gb_s(machine, *stream);
  const CountedPlan counted = plan_for(machine, *stream, settings);
  const Stage stage(machine, *stream, counted);
  Clock clock(machine, *stream, counted, stage);

  const std::vector<std::string> kinds = kinds_of_loops(counted);
  std::map<std::string, int> times;  // in a pass
  std::vector<bool> looked_at;
  for (const std::string& kind : kinds)
    looked_at.push_back(!kind.empty() && ++times[kind] == 1);
  const std::vector<double> ms = clock.each(looked_at, kRepeats, settings.seconds);

  std::vector<std::size_t> order;
  double all = 0, bytes = 0;
  const auto share = [&](std::size_t i) { return ms[i] * times.at(kinds[i]); };
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (!looked_at[i]) continue;
    order.push_back(i);
    all += share(i);
    bytes += counted.operations[i].bytes * times.at(kinds[i]);
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return share(a) > share(b); });
  for (std::size_t n = 0; n < std::min(order.size(), settings.top); ++n) {
    const std::size_t i = order[n];
    const double rate = counted.operations[i].bytes / ms[i] * 1e-6;
    std::printf(
        "%s | %d x %.4f ms | %.1f %% of all | %.2f MB | %.0f GB/s | %.0f %% of the copy | %d "
        "kernels\n",
        kinds[i].c_str(), times.at(kinds[i]), ms[i], 100 * share(i) / all,
        counted.operations[i].bytes * 1e-6, rate, 100 * rate / copy,
        counted.operations[i].launches);
  }
  std::printf("loops=%zu sum_ms=%.4f gbyte=%.3f gb_s=%.1f copy_gb_s=%.1f\n", order.size(), all,
              bytes * 1e-9, bytes / all * 1e-6, copy);
  return 0;
}

void print_gpu_calls(const ProfileSettings& settings) {
  gpu::Gpu& machine = gpu::chosen_gpu();
  const auto stream = machine.stream();
  const CountedPlan counted = plan_for(machine, *stream, settings);
  std::map<std::string, int> runs;
  for (const CountedOperation& o : counted.operations) {
    if (o.call == nullptr) continue;
    const gpu::Call& call = *counted.plan.calls[index_of(o.operation->call)].call;
    ++runs[call.name() + ": " + call.algorithm_name(call.chosen()) + ", workspace " +
           std::to_string(call.workspace(call.chosen())) + " B"];
  }
  for (const auto& [what, times] : runs)
    std::printf("%d x %s\n", times, what.c_str());
  for (const std::string& refusal : gpu::refusals())
    std::printf("fallback: %s\n", refusal.c_str());
  std::printf("kinds=%zu\n", runs.size());
}

}  // namespace thalweg::engine::bench
