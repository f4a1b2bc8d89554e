// Algorithms of library calls: how they are timed, and which are taken then. Mostly on the emulated
// GPU, whose calls have two algorithms; what only a clock can say is not asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "cases.h"
#include "engine/device/cuda/kernel_choice.h"
#include "engine/device/cuda/measure.h"
#include "engine/gpu/loops.h"
#include "near_reference.h"
#include "on_gpu.h"
#include "tests/support/emulated_gpu/emulated_gpu.h"

namespace thalweg::engine::test {
namespace {

using cuda::CudaProgram;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kHuge = std::size_t{1} << 60;

/// Algorithms with a time on the host and a workspace each.
class SleepingCall final : public gpu::Call {
 public:
  struct Algorithm {
    double ms = 0;
    std::size_t workspace = 0;
    bool fails = false, cannot_be_captured = false;
  };
  explicit SleepingCall(std::vector<Algorithm> algorithms) : algorithms_(std::move(algorithms)) {}
  std::string name() const override { return "sleep"; }
  std::string key() const override { return "sleep"; }
  int algorithms() const override { return static_cast<int>(algorithms_.size()); }
  std::size_t workspace(int algorithm) const override {
    return algorithms_[static_cast<std::size_t>(algorithm)].workspace;
  }
  void run(gpu::Stream& stream, std::span<void* const>, void* workspace) const override {
    const Algorithm& algorithm = algorithms_[static_cast<std::size_t>(chosen())];
    if (algorithm.fails) throw gpu::GpuError("it does not run");
    if (algorithm.cannot_be_captured && runs_ == 1) throw gpu::GpuError("it cannot be captured");
    if (algorithm.workspace > 0) *static_cast<char*>(workspace) = 1;
    ++runs_;
    stream.on_host([=] {
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(algorithm.ms));
    });
  }

 private:
  std::vector<Algorithm> algorithms_;
  mutable int runs_ = 0;
};

class TimedAlgorithms : public testing::Test {
 protected:
  CallTimes times_of(SleepingCall& call) {
    options_.note = [this](const std::string& text) { notes_.push_back(text); };
    return cuda::time_algorithms(gpu::emulated_gpu(), *stream_, call, {}, options_);
  }
  std::unique_ptr<gpu::Stream> stream_ = gpu::emulated_gpu().stream();
  MeasureOptions options_;
  std::vector<std::string> notes_;
};

TEST_F(TimedAlgorithms, TakeAtLeastTheirTime) {
  SleepingCall call({{3, 0}, {0, 64}, {1, 16}});
  const CallTimes times = times_of(call);
  ASSERT_THAT(times.algorithms, SizeIs(3));
  EXPECT_EQ(times.name, "sleep");
  EXPECT_GE(times.algorithms[0].ms, 3);
  EXPECT_GE(times.algorithms[1].ms, 0);
  EXPECT_GE(times.algorithms[2].ms, 1);
  EXPECT_EQ(times.algorithms[1].workspace, 64U);
  EXPECT_EQ(times.algorithms[1].name, "1");
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(TimedAlgorithms, AreLeftOutWhereTheyCannotBeRun) {
  SleepingCall call({{0, 0, true}, {0, 0}, {0, 1000}, {0, kHuge}});
  options_.scratch = 999;
  EXPECT_THAT(times_of(call).algorithms, ElementsAre(testing::Field(&AlgorithmTime::algorithm, 1)));
  ASSERT_THAT(notes_, SizeIs(3));
  EXPECT_THAT(notes_[0], HasSubstr("sleep, 0: not measured: it does not run"));
  EXPECT_THAT(notes_[1], HasSubstr("it needs 1000 bytes of workspace, of 999"));
  options_.scratch = kHuge;
  notes_.clear();
  EXPECT_THAT(times_of(call).algorithms, SizeIs(2));
  ASSERT_THAT(notes_, SizeIs(2));
  EXPECT_THAT(notes_[1], HasSubstr("bytes for the workspace of sleep"));  // the GPU has no more
}

TEST_F(TimedAlgorithms, AreLeftOutWhereTheyCannotBeCaptured) {
  SleepingCall call({{0, 0, false, true}, {0, 0}});
  EXPECT_THAT(times_of(call).algorithms, ElementsAre(testing::Field(&AlgorithmTime::algorithm, 1)));
  ASSERT_THAT(notes_, SizeIs(1));
  EXPECT_THAT(notes_[0], HasSubstr("it cannot be captured"));
  stream_->wait();  // nothing is being captured any more
}

KernelOptions choosing(std::size_t bound, std::vector<AlgorithmTime> algorithms) {
  return {bound, std::make_shared<const KernelTimes>(
                     KernelTimes{{"sleep", {"sleep", std::move(algorithms)}}})};
}

TEST(ChosenAlgorithm, IsTheFirstThatFitsWhereNothingIsMeasured) {
  const SleepingCall call({{0, 100}, {0, 40}, {0, 20}, {0, 30}});
  const auto within = [&](std::size_t bound) {
    return cuda::choose_algorithm(call, {bound, nullptr});
  };
  EXPECT_EQ(within(kHuge), 0);
  EXPECT_EQ(within(100), 0);
  EXPECT_EQ(within(99), 1);
  EXPECT_EQ(within(39), 2);
  EXPECT_EQ(within(10), 2);  // none fits: the leanest
  EXPECT_EQ(cuda::choose_algorithm(call, choosing(99, {})), 1);
}

TEST(ChosenAlgorithm, IsTheFastestMeasuredThatFits) {
  const SleepingCall call({{0, 0}, {0, 40}, {0, 20}});
  const std::vector<AlgorithmTime> algorithms{{0, "0", 0, 3}, {1, "1", 40, 1}, {2, "2", 20, 2}};
  EXPECT_EQ(cuda::choose_algorithm(call, choosing(kHuge, algorithms)), 1);
  EXPECT_EQ(cuda::choose_algorithm(call, choosing(39, algorithms)), 2);
  EXPECT_EQ(cuda::choose_algorithm(call, choosing(19, algorithms)), 0);
}

TEST(ChosenAlgorithm, IsTheFirstThatWantsAboutAsLittleAsCanBeWhereNoneFits) {
  // cuDNN's attention backward of 2048 positions: an sm90 kernel, and an sm80 one for 128 bytes
  // less.
  const SleepingCall attention({{0, 1612185856}, {0, 1612185728}});
  EXPECT_EQ(cuda::choose_algorithm(attention, {std::size_t{1} << 30, nullptr}), 0);
  const SleepingCall apart({{0, 106}, {0, 104}, {0, 100}});
  EXPECT_EQ(cuda::choose_algorithm(apart, {10, nullptr}), 1);
  const std::vector<AlgorithmTime> algorithms{{0, "0", 106, 1}, {1, "1", 104, 3}, {2, "2", 100, 2}};
  EXPECT_EQ(cuda::choose_algorithm(apart, choosing(10, algorithms)), 2);
}

TEST(ChosenAlgorithm, IsTheFirstOfEqualTimes) {
  const SleepingCall call({{0, 0}, {0, 0}, {0, 0}});
  const std::vector<AlgorithmTime> algorithms{{0, "0", 0, 3}, {1, "1", 0, 1}, {2, "2", 0, 1}};
  EXPECT_EQ(cuda::choose_algorithm(call, choosing(kHuge, algorithms)), 1);
}

// kernels.json of an older program, in which the algorithms stood in another order.
TEST(ChosenAlgorithm, IsKnownByItsName) {
  const SleepingCall call({{0, 0}, {0, 0}, {0, 0}});
  EXPECT_EQ(cuda::choose_algorithm(call, choosing(kHuge, {{0, "0", 0, 3}, {1, "2", 0, 1}})), 2);
  EXPECT_EQ(cuda::choose_algorithm(call, choosing(kHuge, {{7, "1", 0, 1}})), 1);
}

TEST(ChosenAlgorithm, IsNotOneThatTheLibraryHasNoMoreOrNamesOtherwise) {
  const SleepingCall call({{0, 0}, {0, 0}});
  EXPECT_EQ(cuda::choose_algorithm(call, choosing(kHuge, {{0, "0", 0, 3}, {1, "another", 0, 1}})),
            0);
  EXPECT_EQ(cuda::choose_algorithm(call, choosing(kHuge, {{0, "0", 0, 3}, {7, "7", 0, 1}})), 0);
}

TEST(StepTimes, AreSumsOverRuns) {
  const std::vector<CallKind> kinds{{"a", "A", 1, 2}, {"b", "B", 2, 2}, {"c", "C", 1, 9}};
  const KernelTimes times{{"a", {"A", {{0, "0", 0, 10}, {1, "1", 6, 4}}}},
                          {"b", {"B", {{0, "0", 0, 10}, {1, "1", 5, 5}}}},
                          {"c", {"C", {}}}};  // was not measured
  const StepTimes all = step_times(kinds, times, kHuge);
  EXPECT_EQ(all.first, 2 * 10 + 2 * 10);
  EXPECT_EQ(all.best, 2 * 4 + 2 * 5);
  EXPECT_EQ(all.chosen, all.best);
  const StepTimes within = step_times(kinds, times, 5);
  EXPECT_EQ(within.best, all.best);
  EXPECT_EQ(within.chosen, 2 * 10 + 2 * 5);
  // Workspaces of 6, 5 and 5 bytes.
  const CallTimes hungry{"A", {{0, "0", 90, 1}, {1, "1", 40, 2}, {2, "2", 70, 3}}};
  EXPECT_EQ(step_times({{"a", "A", 1, 1}}, {{"a", hungry}}, 10).chosen, 2);  // the leanest
  // 3 bytes more than the leanest are not worth a slower kernel.
  const CallTimes alike{"A", {{0, "0", 103, 1}, {1, "1", 100, 2}}};
  EXPECT_EQ(step_times({{"a", "A", 1, 1}}, {{"a", alike}}, 10).chosen, 1);
}

Graph conv_and_linear() {
  const std::vector<Case> cases = small_cases();
  return std::find_if(cases.begin(), cases.end(),
                      [](const Case& c) { return c.name == "conv_same"; })
      ->graph();
}

TEST(CudaMeasuredCalls, AreAllThatAProgramHasAndLeaveItAsItWas) {
  const Graph graph = conv_and_linear();
  const CudaProgram program(some_gpu(), graph, 2, {});
  const std::size_t before = some_gpu().free_bytes();
  int turns = 0;
  MeasureOptions options;
  options.progress = [&] { ++turns; };
  KernelTimes times = program.measure_calls(options);
  const std::vector<CallKind> kinds = program.library_calls();
  ASSERT_FALSE(kinds.empty());
  EXPECT_EQ(times.size(), kinds.size());
  EXPECT_EQ(static_cast<std::size_t>(turns), kinds.size());
  const bool emulated = some_gpu().info().emulated;
  for (const CallKind& kind : kinds) {
    EXPECT_GE(kind.runs, 1) << kind.name;
    ASSERT_TRUE(times.contains(kind.key)) << kind.name;
    const std::size_t algorithms = times.at(kind.key).algorithms.size();
    EXPECT_TRUE(emulated ? algorithms == 2 : algorithms >= 1) << kind.name << ": " << algorithms;
    for (const AlgorithmTime& algorithm : times.at(kind.key).algorithms)
      EXPECT_GT(algorithm.ms, 0) << kind.name << ", " << algorithm.name;
  }
  for (const cuda::LibraryCall& call : program.plan().calls)
    EXPECT_EQ(call.call->chosen(), 0);
  if (emulated) {
    EXPECT_EQ(some_gpu().free_bytes(), before);
  }
  options.known = times;
  EXPECT_THAT(program.measure_calls(options), IsEmpty());

  CompileOptions fastest;
  fastest.kernels.times = std::make_shared<const KernelTimes>(std::move(times));
  const CudaProgram chosen(some_gpu(), graph, 2, fastest);
  GpuExecutor executor(chosen, statistics_of(graph));
  expect_near_reference(graph, chosen, executor, 2, 1e-5);
}

TEST(CudaMeasuredCalls, AreLeftToTheirLibrariesWhenTimeIsOver) {
  const Graph graph = conv_and_linear();
  const CudaProgram program(some_gpu(), graph, 2, {});
  std::string note;
  MeasureOptions options;
  options.seconds = 0;
  options.note = [&](const std::string& text) { note = text; };
  const KernelTimes times = program.measure_calls(options);
  EXPECT_EQ(times.size(), program.library_calls().size());
  for (const auto& [key, call] : times)
    EXPECT_THAT(call.algorithms, IsEmpty());
  EXPECT_THAT(note, HasSubstr("the time for measuring is over"));
}

class SecondAlgorithms : public testing::TestWithParam<Case> {};

/// All calls in their last algorithms: another order of sums, other workspaces.
TEST_P(SecondAlgorithms, ComputeTheSameInTheirOwnWorkspace) {
  const Graph graph = GetParam().graph();
  const int samples = GetParam().samples;
  const CudaProgram first(gpu::emulated_gpu(), graph, samples, {});
  KernelTimes times = first.measure_calls({});
  std::size_t workspace = 0;
  for (auto& [key, call] : times) {
    for (AlgorithmTime& algorithm : call.algorithms)
      algorithm.ms = 10 - algorithm.algorithm;
    workspace = std::max(workspace, (call.algorithms.back().workspace + 3) / 4 * 4);
  }
  CompileOptions options;
  options.kernels.times = std::make_shared<const KernelTimes>(times);
  const CudaProgram second(gpu::emulated_gpu(), graph, samples, options);
  for (const cuda::LibraryCall& call : second.plan().calls)
    EXPECT_EQ(call.call->chosen(), call.call->algorithms() - 1) << call.call->name();
  EXPECT_EQ(second.executor_memory().workspace, workspace);
  GpuExecutor executor(second, statistics_of(graph));
  expect_near_reference(graph, second, executor, samples, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Layers, SecondAlgorithms, testing::ValuesIn(small_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::engine::test
