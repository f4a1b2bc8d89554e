// Memory, streams, events and captured graphs, on both machines.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <future>
#include <numeric>
#include <thread>
#include <vector>

#include "engine/gpu/library.h"
#include "tests/engine/gpu/machines.h"

namespace thalweg::engine::gpu {
namespace {

class Machine : public OnMachine {};

TEST_P(Machine, SaysWhatItIs) {
  EXPECT_FALSE(gpu_->info().name.empty());
  EXPECT_GT(gpu_->info().memory_bytes, 0u);
  EXPECT_LE(gpu_->free_bytes(), gpu_->info().memory_bytes);
  EXPECT_EQ(gpu_->info().emulated, stream_->emulated());
  EXPECT_EQ(stream_->native() == nullptr, stream_->emulated());
}

TEST_P(Machine, MemoryIsZeroedAndAligned) {
  for (const std::size_t bytes : {1u, 255u, 4097u, 1u << 20}) {
    const Memory memory(*gpu_, bytes, "a test");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 256, 0u);
    EXPECT_EQ(memory.bytes(), bytes);
    EXPECT_EQ(down<char>(memory), std::vector<char>(bytes));
  }
  const Memory pinned(*gpu_, 100, "a test", true);
  const auto* const at = static_cast<const char*>(pinned.data());
  EXPECT_EQ(std::vector<char>(at, at + 100), std::vector<char>(100));
  EXPECT_EQ(Memory(*gpu_, 0, "nothing").data(), nullptr);
}

TEST_P(Machine, MemoryMoves) {
  Memory first(*gpu_, 64, "a test");
  void* const at = first.data();
  Memory second(std::move(first));
  EXPECT_EQ(first.data(), nullptr);
  EXPECT_EQ(second.data(), at);
  first = std::move(second);
  EXPECT_EQ(first.data(), at);
  EXPECT_EQ(first.bytes(), 64u);
}

TEST_P(Machine, CopiesInOrder) {
  const Memory host(*gpu_, 400, "a test", true), back(*gpu_, 400, "a test", true);
  const Memory a(*gpu_, 400, "a test"), b(*gpu_, 400, "a test");
  std::iota(static_cast<int*>(host.data()), static_cast<int*>(host.data()) + 100, 5);
  const Counts before = gpu_->counts();
  stream_->copy(a.data(), host.data(), 400);
  stream_->copy(b.data(), a.data(), 400);
  stream_->zero(a.data(), 200);
  stream_->copy(static_cast<char*>(b.data()) + 200, a.data(), 200);
  stream_->copy(back.data(), b.data(), 400);
  stream_->wait();
  const int* const result = static_cast<const int*>(back.data());
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(result[i], i < 50 ? i + 5 : 0);
  const Counts after = gpu_->counts();
  EXPECT_EQ(after.waits, before.waits + 1);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.pageable_copies, before.pageable_copies);
}

TEST_P(Machine, CountsPageableCopiesAndAllocations) {
  const Memory memory(*gpu_, 400, "a test");
  std::vector<char> host(400);
  const Counts before = gpu_->counts();
  stream_->copy(memory.data(), host.data(), 400);
  stream_->copy(host.data(), memory.data(), 400);
  stream_->wait();
  EXPECT_EQ(gpu_->counts().pageable_copies, before.pageable_copies + 2);
  EXPECT_EQ(gpu_->counts().allocations, before.allocations);
  const Memory more(*gpu_, 4, "a test"), pinned(*gpu_, 4, "a test", true);
  EXPECT_EQ(gpu_->counts().allocations, before.allocations + 2);
}

TEST_P(Machine, Events) {
  const auto first = gpu_->event(), second = gpu_->event();
  EXPECT_TRUE(first->done()) << "never recorded";
  EXPECT_THROW((void)second->ms_since(*first), GpuError);
  const Memory memory(*gpu_, 1 << 20, "a test");
  stream_->record(*first);
  stream_->zero(memory.data(), memory.bytes());
  stream_->record(*second);
  second->wait();
  EXPECT_TRUE(first->done());
  EXPECT_TRUE(second->done());
  EXPECT_GE(second->ms_since(*first), 0);
}

TEST_P(Machine, OneStreamWaitsForAnother) {
  const auto other = gpu_->stream(true);
  const auto filled = gpu_->event();
  constexpr std::size_t bytes = 64 << 20;
  const Memory host(*gpu_, bytes, "a test", true), back(*gpu_, bytes, "a test", true);
  const Memory memory(*gpu_, bytes, "a test");
  std::fill_n(static_cast<unsigned char*>(host.data()), bytes, 0x5a);
  stream_->copy(memory.data(), host.data(), bytes);
  stream_->record(*filled);
  other->wait_for(*filled);
  other->copy(back.data(), memory.data(), bytes);
  other->wait();
  EXPECT_EQ(static_cast<const unsigned char*>(back.data())[bytes - 1], 0x5a);
}

TEST_P(Machine, RecordedWorkIsDoneAtEveryLaunchAndNotBefore) {
  const Memory host(*gpu_, 4, "a test", true), back(*gpu_, 4, "a test", true);
  const Memory memory(*gpu_, 4, "a test");
  const auto done = gpu_->event();
  const auto other = gpu_->stream();
  auto& value = *static_cast<int*>(host.data());
  const auto& result = *static_cast<const int*>(back.data());
  value = 1;
  stream_->begin_capture();
  stream_->copy(memory.data(), host.data(), 4);
  stream_->record(*done);
  const auto graph = stream_->end_capture();
  stream_->wait();
  EXPECT_EQ(down<int>(memory), std::vector<int>{0});
  for (int launch = 2; launch < 5; ++launch) {
    value = launch;
    stream_->launch(*graph);
    other->wait_for(*done);
    other->copy(back.data(), memory.data(), 4);
    other->wait();
    EXPECT_EQ(result, launch);
  }
  value = 9;
  stream_->copy(memory.data(), host.data(), 4);
  EXPECT_EQ(down<int>(memory), std::vector<int>{9}) << "after the capture work is done again";
}

TEST_P(Machine, ACapturedGraphWaitsForAnEventOfAnotherStreamAtEveryLaunch) {
  constexpr std::size_t bytes = 64 << 20;
  const auto other = gpu_->stream();
  const auto ready = gpu_->event();
  const Memory host(*gpu_, bytes, "a test", true), back(*gpu_, bytes, "a test", true);
  const Memory memory(*gpu_, bytes, "a test");
  auto* const at = static_cast<unsigned char*>(host.data());
  stream_->begin_capture();
  stream_->wait_for(*ready);
  stream_->copy(back.data(), memory.data(), bytes);
  const auto graph = stream_->end_capture();
  for (unsigned char launch = 1; launch < 4; ++launch) {
    at[bytes - 1] = launch;
    other->copy(memory.data(), host.data(), bytes);
    other->record(*ready);
    stream_->launch(*graph);
    stream_->wait();
    EXPECT_EQ(static_cast<const unsigned char*>(back.data())[bytes - 1], launch);
  }
}

TEST_P(Machine, RefusesWhatBreaksACapture) {
  EXPECT_THROW((void)stream_->end_capture(), GpuError);
  stream_->begin_capture();
  EXPECT_THROW(stream_->begin_capture(), GpuError);
  EXPECT_THROW(stream_->wait(), GpuError);
  EXPECT_THROW((void)gpu_->allocate(4, "a test"), GpuError);
  EXPECT_THROW((void)gpu_->allocate_pinned(4), GpuError);
  char byte = 0;
  EXPECT_THROW(gpu_->copy(&byte, &byte, 1), GpuError);
  const auto graph = stream_->end_capture();
  stream_->launch(*graph);
  stream_->wait();
}

TEST_P(Machine, OutOfMemoryNamesWhatWasAsked) {
  const std::size_t more = 2 * gpu_->info().memory_bytes;
  try {
    (void)gpu_->allocate(more, "activations of a shard of 32");
    FAIL() << "there is memory for " << more << " bytes";
  } catch (const OutOfMemory& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("activations of a shard of 32"), std::string::npos) << text;
    EXPECT_NE(text.find(std::to_string(more)), std::string::npos) << text;
  }
  const Memory still(*gpu_, 4, "a test");
}

THALWEG_ON_MACHINES(Machine);

/// A variable of the environment, as it was afterwards.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old, had_ = true;
    setenv(name, value, 1);
  }
  ~Environment() {
    if (had_) {
      setenv(name_, old_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

TEST(EmulatedMachine, NamesAMistypedSizeOfMemory) {
  for (const char* const text : {"8G", "", "-1", "99999999999999999999999"}) {
    const Environment limit("THALWEG_GPU_MEMORY", text);
    try {
      (void)emulated_gpu().free_bytes();
      FAIL() << text;
    } catch (const GpuError& error) {
      EXPECT_NE(std::string(error.what()).find("expected a number of bytes"), std::string::npos);
    }
  }
}

TEST(EmulatedMachine, HasTheMemoryThatTheEnvironmentSays) {
  Gpu& gpu = emulated_gpu();
  const Environment limit("THALWEG_GPU_MEMORY", "1000");
  const Memory first(gpu, 600, "the first");
  EXPECT_EQ(gpu.free_bytes(), 400u);
  try {
    (void)gpu.allocate(401, "the second");
    FAIL();
  } catch (const OutOfMemory& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("401 bytes for the second"), std::string::npos) << text;
    EXPECT_NE(text.find("400 of 1000"), std::string::npos) << text;
  }
  { const Memory fits(gpu, 400, "the second"); }
  EXPECT_EQ(gpu.free_bytes(), 400u);
}

TEST(EmulatedMachine, ItsStreamsHaveThreadsWhereTheEnvironmentSays) {
  Gpu& gpu = emulated_gpu();
  const Environment wish("THALWEG_GPU_STREAMS", "threads");
  const auto first = gpu.stream(), second = gpu.stream();
  const auto begun = gpu.event(), go_on = gpu.event();
  const auto asker = std::this_thread::get_id();
  std::thread::id doer = asker;
  std::promise<void> gate;
  first->on_host([&] { gate.get_future().wait(); });
  first->on_host([&] { doer = std::this_thread::get_id(); });
  first->record(*go_on);
  int order = 0;
  second->record(*begun);
  second->wait_for(*go_on);
  second->on_host([&] { order = doer == asker ? 1 : 2; });
  begun->wait();
  EXPECT_FALSE(go_on->done());
  EXPECT_THROW((void)go_on->ms_since(*begun), GpuError) << "not done yet";
  gate.set_value();
  second->wait();
  EXPECT_EQ(order, 2);
  EXPECT_GE(go_on->ms_since(*begun), 0);
  first->on_host([] { throw GpuError("it failed"); });
  first->on_host([&] { order = 3; });
  first->record(*go_on);
  EXPECT_THROW(go_on->wait(), GpuError);
  EXPECT_THROW(first->wait(), GpuError);
  EXPECT_EQ(order, 2);
  const Environment mistyped("THALWEG_GPU_STREAMS", "thread");
  EXPECT_THROW((void)gpu.stream(), GpuError);
}

TEST(EmulatedMachine, IsTakenWhereTheEnvironmentSays) {
  const Environment wish("THALWEG_GPU", "emulated");
  EXPECT_EQ(gpu_count(), 1);
  EXPECT_EQ(why_no_gpu(), "");
  EXPECT_TRUE(gpu(0).info().emulated);
  EXPECT_TRUE(gpu(5).info().emulated);
  EXPECT_EQ(gpu_of_rank(3), 0);
}

TEST(EmulatedMachine, IsNotTakenForAMistypedWish) {
  const Environment wish("THALWEG_GPU", "emulate");
  EXPECT_EQ(gpu_count(), 0);
  EXPECT_NE(why_no_gpu().find("THALWEG_GPU is 'emulate'"), std::string::npos) << why_no_gpu();
  EXPECT_THROW(gpu(0), GpuError);
}

TEST(NoGpu, SaysWhatToDo) {
  if (gpu_count() > 0) GTEST_SKIP() << "there is a GPU";
  EXPECT_FALSE(why_no_gpu().empty());
  try {
    gpu(0);
    FAIL();
  } catch (const GpuError& error) {
    EXPECT_EQ(error.what(), why_no_gpu());
  }
  EXPECT_THROW((void)gpu_of_rank(0), GpuError);
}

}  // namespace
}  // namespace thalweg::engine::gpu
