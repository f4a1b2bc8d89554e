// Modes of rank_program in which ranks die, stop or disagree.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "engine/comm/wireup/wireup.h"
#include "tests/engine/comm/rank_program.h"
#include "tests/support/deadline.h"

namespace thalweg::engine::comm {

using std::chrono::milliseconds;
using thalweg::test::MachineClock;

namespace {

constexpr int kCommFailed = 9;  // what a rank returns that saw a CommError

/// Every collective once, on `count` floats.
void work_on(Group& group, float* x, std::size_t count) {
  group.allreduce(x, count, Type::f32, Op::average);
  group.allreduce(x, 10, Type::f32, Op::max);
  group.reduce_scatter(x, count, Type::f32, Op::average);
  group.allgather_segments(x, count, Type::f32);
  group.broadcast(x, count * sizeof(float), 0);
  const std::size_t block = count / 2 / static_cast<std::size_t>(group.size());
  group.all_to_all(x, x + count / 2, block * sizeof(float));
  float* const mine[] = {x};
  group.start_shard_sum(mine, count, group.size())->wait();
  group.barrier();
}

}  // namespace

/// Works until a peer is gone. VICTIM stops or dies (signal SIGNAL) at its own hand after DELAY ms,
/// from another thread: at any moment of any collective.
int victim(const Words& arguments) {
  const int victim_rank = std::stoi(arguments.at(0));
  const int signal_number = std::stoi(arguments.at(1));
  const milliseconds delay(std::stol(arguments.at(2)));
  Rank rank(milliseconds(std::stol(arguments.at(3))));
  signal(SIGTERM, SIG_IGN);  // the launcher's TERM must not hide what the rank itself sees
  constexpr std::size_t kCount = 200000;
  const auto common = rank.group.allocate(kCount * sizeof(float));
  std::vector<float> own(kCount, 1);
  auto start = MachineClock::now();
  try {
    rank.group.barrier();  // others may still be in it when the victim has gone
    start = MachineClock::now();
    if (rank.group.rank() == victim_rank)
      std::thread([=] {
        std::this_thread::sleep_for(delay);
        kill(getpid(), signal_number);
      }).detach();
    for (;;) {
      MachineClock::now();  // which wants to be looked at often
      work_on(rank.group, own.data(), kCount);
      work_on(rank.group, reinterpret_cast<float*>(common->data()), kCount);
    }
  } catch (const CommError& e) {
    const auto ms = std::chrono::duration_cast<milliseconds>(MachineClock::now() - start);
    std::printf("rank %d reports %d on %s after %ld ms: %s\n", rank.group.rank(), e.rank(),
                e.node().c_str(), static_cast<long>(ms.count()), e.what());
    std::fflush(stdout);
    return kCommFailed;
  }
}

/// Rank 1 calls something else.
int disagree(const Words&) {
  Rank rank(milliseconds(60000));
  signal(SIGTERM, SIG_IGN);
  rank.group.barrier();
  try {
    std::vector<float> data(100, 1);
    if (rank.group.rank() == 1) {
      rank.group.broadcast(data.data(), 400, 1);
    } else {
      rank.group.allreduce(data.data(), 100, Type::f32, Op::sum);
    }
  } catch (const CommError& e) {
    std::printf("%s\n", e.what());
    return kCommFailed;
  }
  return 0;
}

/// Rank 0 leaves early, without a word; the others come to the end.
int deserter(const Words&) {
  Rank rank(milliseconds(60000));
  signal(SIGTERM, SIG_IGN);
  rank.group.barrier();
  if (rank.group.rank() == 0) _exit(3);
  rank.wireup->finalize();
  return 0;
}

/// Rank 1 stops for ever before it does WHAT; the others wait for LIMIT ms and say whom they miss.
int missing(const Words& arguments) {
  const std::string& what = arguments.at(0);
  const milliseconds limit(std::stol(arguments.at(1)));
  signal(SIGTERM, SIG_IGN);
  const char* rank = std::getenv("PMIX_RANK");
  const bool stops = rank && std::string(rank) == "1";
  if (stops && what == "start") raise(SIGSTOP);
  try {
    auto wireup = Wireup::connect({limit, limit});
    if (stops && what == "fence") raise(SIGSTOP);
    wireup->fence();
    if (stops) raise(SIGSTOP);
    wireup->finalize();
  } catch (const CommError& e) {
    std::printf("%d: %s\n", e.rank(), e.what());
    return kCommFailed;
  }
  return 0;
}

/// One rank sends another length than the others expect.
int mismatch(const Words&) {
  Rank rank(milliseconds(60000));
  signal(SIGTERM, SIG_IGN);
  std::vector<float> data(100000, 1);
  const std::size_t count = rank.group.rank() == 1 ? 70000 : 100000;
  try {
    rank.group.broadcast(data.data(), count * sizeof(float), 0);
    rank.group.broadcast(data.data(), count * sizeof(float), 1);
    rank.group.barrier();
  } catch (const CommError& e) {
    std::printf("%s\n", e.what());
    std::fflush(stdout);
    return kCommFailed;
  }
  return 0;
}

}  // namespace thalweg::engine::comm
