// Messages between GPUs, sums in a tree.
#include "engine/gpu/peers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>

#include "engine/gpu/peers_of_machines.h"
#include "engine/gpu/vectors.h"
#include "tests/engine/gpu/machines.h"

namespace thalweg::engine::gpu {
namespace {

using testing::HasSubstr;

class TreeSum : public OnMachine {};

TEST_P(TreeSum, AddsInTheOrderThatJoinsSay) {
  // ((a b) (c d)) (e f), and a tail that fills no pack.
  constexpr std::size_t count = 10, number = 6;
  std::vector<std::vector<float>> values;
  std::vector<Memory> memory;
  std::vector<const float*> pointers;
  for (std::size_t p = 0; p < number; ++p) {
    values.emplace_back(count);
    for (std::size_t i = 0; i < count; ++i)
      values[p][i] =
          static_cast<float>(p * p + 1) * (i % 2 == 0 ? 1e7f : 0.1f) + static_cast<float>(i) * 0.3f;
    memory.push_back(up(values[p]));
    pointers.push_back(memory[p].floats());
  }
  const Memory places = up(pointers), joins = up(std::vector<int>{0, 1, 0, 2, 0, 2});
  sum_in_tree(*stream_, memory[2].floats(), static_cast<const float* const*>(places.data()),
              static_cast<const int*>(joins.data()), number, count);
  std::vector<float> expected;
  for (std::size_t i = 0; i < count; ++i) {
    const auto v = [&](std::size_t p) { return values[p][i]; };
    expected.push_back(((v(0) + v(1)) + (v(2) + v(3))) + (v(4) + v(5)));
  }
  EXPECT_EQ(down<float>(memory[2]), expected);
}

TEST_P(TreeSum, KeepsAsManySumsOpenAsItSays) {
  for (const int number : {1, 2, 5, sum_in_tree_depth + 1}) {
    // All stay open until the last has come: a + (b + (c + ...)).
    std::vector<int> joins(static_cast<std::size_t>(number), 0);
    joins.back() = number - 1;
    std::vector<Memory> memory;
    std::vector<const float*> pointers;
    std::vector<float> expected(7);
    for (int p = 0; p < number; ++p) {
      memory.push_back(up(std::vector<float>(7, 1.0f + 1e-7f * static_cast<float>(p * p))));
      pointers.push_back(memory.back().floats());
    }
    for (int p = number - 1; p >= 0; --p)
      for (float& sum : expected)
        sum = 1.0f + 1e-7f * static_cast<float>(p * p) + (p == number - 1 ? 0 : sum);
    const Memory places = up(pointers), at_joins = up(joins);
    sum_in_tree(*stream_, memory[0].floats(), static_cast<const float* const*>(places.data()),
                static_cast<const int*>(at_joins.data()), number, 7);
    EXPECT_EQ(down<float>(memory[0]), expected) << number;
  }
}

THALWEG_ON_MACHINES(TreeSum);

/// Calls `body` in a thread for each rank; an exception is rethrown here.
void on_threads(int ranks, const std::function<void(int rank)>& body) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

const auto nothing = [] {};

TEST(EmulatedPeers, EveryRankReceivesFromAllOthersInOrder) {
  constexpr int ranks = 4;
  Gpu& gpu = emulated_gpu();
  const PeersId id = new_peers_id(gpu);
  on_threads(ranks, [&](int rank) {
    const auto stream = gpu.stream(true);
    const auto peers = join_peers(gpu, id, rank, ranks, nothing);
    const Memory out(gpu, 64, "a test"), in(gpu, 4 * ranks * 2, "a test");
    auto* const from = static_cast<int*>(out.data());
    auto* const to = static_cast<int*>(in.data());
    for (int round = 0; round < 3; ++round) {
      from[0] = 100 * round + 10 * rank;
      from[1] = from[0] + 1;
      std::vector<Peers::Message> send, receive;
      for (int peer = 0; peer < ranks; ++peer)
        for (int part = 0; peer != rank && part < 2; ++part) {
          send.push_back({peer, from + part, 4});
          receive.push_back({peer, to + 2 * peer + part, 4});
        }
      peers->exchange(*stream, send, receive);
      peers->check();
      for (int peer = 0; peer < ranks; ++peer)
        for (int part = 0; peer != rank && part < 2; ++part)
          EXPECT_EQ(to[2 * peer + part], 100 * round + 10 * peer + part);
    }
  });
}

TEST(EmulatedPeers, AnotherLengthIsRefused) {
  Gpu& gpu = emulated_gpu();
  const PeersId id = new_peers_id(gpu);
  const auto mistaken = [&](int rank) {
    const auto stream = gpu.stream();
    const auto peers = join_peers(gpu, id, rank, 2, nothing);
    char bytes[8]{};
    const Peers::Message message{1 - rank, bytes, rank == 0 ? 8u : 4u};
    if (rank == 0) peers->exchange(*stream, std::span(&message, 1), {});
    if (rank == 1) peers->exchange(*stream, {}, std::span(&message, 1));
  };
  try {
    on_threads(2, mistaken);
    FAIL();
  } catch (const GpuError& error) {
    EXPECT_THAT(error.what(), HasSubstr("GPU 0 sent 8 bytes where GPU 1 expects 4"));
  }
}

TEST(EmulatedPeers, WhoWaitsLooksRound) {
  Gpu& gpu = emulated_gpu();
  struct Lost {};
  int looks = 0;
  const auto look = [&] {
    if (++looks == 3) throw Lost();
  };
  EXPECT_THROW((void)join_peers(gpu, new_peers_id(gpu), 0, 2, look), Lost);
  const auto stream = gpu.stream();
  const auto peers = join_peers(gpu, new_peers_id(gpu), 0, 1, look);
  looks = 0;
  char byte = 0;
  const Peers::Message message{1, &byte, 1};
  EXPECT_THROW(peers->exchange(*stream, {}, std::span(&message, 1)), Lost);
}

TEST(EmulatedPeers, AbortEndsWhatAStreamWaitsFor) {
  Gpu& gpu = emulated_gpu();
  setenv("THALWEG_GPU_STREAMS", "threads", 1);
  const auto stream = gpu.stream();
  unsetenv("THALWEG_GPU_STREAMS");
  const auto peers = join_peers(gpu, new_peers_id(gpu), 0, 1, nothing);
  const auto done = gpu.event();
  char byte = 0;
  const Peers::Message message{1, &byte, 1};
  peers->exchange(*stream, {}, std::span(&message, 1));
  stream->record(*done);
  EXPECT_FALSE(done->done()) << "nobody has sent anything";
  peers->abort();
  stream->wait();
  EXPECT_TRUE(done->done());
}

TEST(EmulatedPeers, RefuseOtherProcessesAndCaptures) {
  Gpu& gpu = emulated_gpu();
  PeersId id = new_peers_id(gpu);
  const auto stream = gpu.stream();
  const auto peers = join_peers(gpu, id, 0, 1, nothing);
  stream->begin_capture();
  EXPECT_THROW(peers->exchange(*stream, {}, {}), GpuError);
  (void)stream->end_capture();
  const int other = -1;
  std::memcpy(id.bytes.data(), &other, sizeof other);
  EXPECT_THROW((void)join_peers(gpu, id, 0, 1, nothing), GpuError);
}

/// A ring of ranks, each a thread with a GPU; one alone sends to itself.
void expect_a_ring(const std::vector<Gpu*>& gpus) {
  const auto ranks = static_cast<int>(gpus.size());
  const PeersId id = new_peers_id(*gpus[0]);
  on_threads(ranks, [&](int rank) {
    Gpu& gpu = *gpus[static_cast<std::size_t>(rank)];
    const auto stream = gpu.stream(true);
    const auto peers = join_peers(gpu, id, rank, ranks, nothing);
    constexpr std::size_t count = 100000;
    const Memory out(gpu, count * sizeof(int), "a test"), in(gpu, count * sizeof(int), "a test");
    for (int round = 0; round < 5; ++round) {
      std::vector<int> values(count, 10 * round + rank);
      gpu.copy(out.data(), values.data(), out.bytes());
      const Peers::Message send{(rank + 1) % ranks, out.data(), out.bytes()};
      const Peers::Message receive{(rank + ranks - 1) % ranks, in.data(), in.bytes()};
      peers->exchange(*stream, std::span(&send, 1), std::span(&receive, 1));
      stream->wait();
      peers->check();
      gpu.copy(values.data(), in.data(), in.bytes());
      EXPECT_EQ(values, std::vector<int>(count, 10 * round + receive.peer));
    }
  });
}

/// A rank alone: joins, sends to itself, parts from itself; then again, aborted with work behind it
/// in the stream. All that NCCL can be asked where there is one GPU.
void expect_a_meeting_of_one(Gpu& gpu) {
  for (const bool aborted : {false, true, false}) {
    const auto stream = gpu.stream(true);
    const auto peers = join_peers(gpu, new_peers_id(gpu), 0, 1, nothing);
    const Memory out(gpu, 64 * sizeof(int), "a test"), in(gpu, 64 * sizeof(int), "a test");
    const int number = aborted ? 5 : 6;
    std::vector<int> values(64, number);
    gpu.copy(out.data(), values.data(), out.bytes());
    const Peers::Message first{0, out.data(), 128}, second{0, out.data(), 64};
    const Peers::Message here{0, in.data(), 128}, there{0, static_cast<char*>(in.data()) + 128, 64};
    peers->exchange(*stream, std::vector{first, second}, std::vector{here, there});
    peers->exchange(*stream, {}, {});
    stream->wait();
    peers->check();
    gpu.copy(values.data(), in.data(), in.bytes());
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i], i < 48 ? number : 0) << i;
    if (aborted) peers->abort();
    stream->wait();
  }
}

TEST(EmulatedPeers, MeetAlone) {
  expect_a_meeting_of_one(emulated_gpu());
}

TEST(Nccl, MeetsAlone) {
  if (gpu_count() == 0 || gpu(0).info().emulated) GTEST_SKIP() << why_no_gpu();
  try {
    (void)nccl_version();
  } catch (const GpuError& error) {
    GTEST_SKIP() << error.what();
  }
  expect_a_meeting_of_one(gpu(0));
}

TEST(EmulatedPeers, MakeARing) {
  for (const std::size_t ranks : {1, 3})
    expect_a_ring(std::vector<Gpu*>(ranks, &emulated_gpu()));
}

TEST(Nccl, MakesARing) {
  std::vector<Gpu*> gpus;
  for (int number = 0; number < std::min(gpu_count(), 4); ++number)
    if (!gpu(number).info().emulated) gpus.push_back(&gpu(number));
  if (gpus.empty()) GTEST_SKIP() << why_no_gpu();
  try {
    (void)nccl_version();
  } catch (const GpuError& error) {
    GTEST_SKIP() << error.what();
  }
  expect_a_ring(gpus);
}

TEST(Nccl, SaysItsVersionOrWhatIsMissing) {
  try {
    EXPECT_THAT(nccl_version(), testing::MatchesRegex("NCCL 2\\.[0-9]+\\.[0-9]+"));
  } catch (const GpuError& error) {
    EXPECT_THAT(error.what(), HasSubstr("install"));
    EXPECT_THROW((void)new_nccl_id(), GpuError);
  }
}

}  // namespace
}  // namespace thalweg::engine::gpu
