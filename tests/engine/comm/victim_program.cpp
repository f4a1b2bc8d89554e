// One rank for the tests of failures: victim_program OPERATION ALGORITHM BYTES STYLE VICTIM HOW
// DELAY_US STALL_MS. All ranks call OPERATION over and over, until rank VICTIM leaves them,
// DELAY_US after a barrier, in the middle of whatever it does (HOW: a signal's number, "exit",
// "exception", or "unplug": its network goes silent). VICTIM -1: nobody. The others print whom they
// report.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/comm/algorithms/table.h"
#include "engine/comm/group.h"
#include "engine/comm/wireup/wireup.h"
#include "tests/support/deadline.h"

namespace {

using namespace thalweg::engine::comm;
using Clock = thalweg::test::MachineClock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kCommFailed = 9;
constexpr int kNotHere = 5;  ///< this group cannot run that algorithm

struct Plan {
  std::string operation;
  std::string algorithm;
  std::size_t bytes;
  std::string style;  ///< "blocking", "started" (two under way), "allocated" (memory of the group)
  int victim;
  std::string how;
  microseconds delay;
  milliseconds stall;
};

class Work {
 public:
  Work(Group& group, const Plan& plan) : group_(group), plan_(plan) {
    const auto ranks = static_cast<std::size_t>(group.size());
    const std::size_t all = 2 * plan.bytes * ranks + 64 * ranks;
    for (int i = 0; i < 2; ++i) {
      if (plan.style == "allocated") memory_.push_back(group.allocate(all));
      owned_.emplace_back(plan.style == "allocated" ? 0 : all);
    }
    if (plan.algorithm == "auto") return;
    for (int c = 0; c <= static_cast<int>(Collective::barrier); ++c) {
      const auto collective = static_cast<Collective>(c);
      if (plan.operation == name_of(collective)) group.use(collective, plan.algorithm);
    }
  }

  void once() {
    if (plan_.operation == "split") {
      split();
    } else if (plan_.operation == "allocate") {
      (void)group_.allocate(plan_.bytes);
      group_.barrier();  // between machines, nobody waits to allocate
    } else if (plan_.style != "started") {
      start(0)->wait();
    } else {
      const auto first = start(0);
      const auto second = start(1);
      second->wait();
      first->wait();
    }
  }

 private:
  std::byte* memory(std::size_t which) {
    return plan_.style == "allocated" ? memory_[which]->data() : owned_[which].data();
  }

  std::unique_ptr<Request> start(std::size_t which) {
    std::byte* data = memory(which);
    const std::size_t count = plan_.bytes / sizeof(float);
    const std::string& operation = plan_.operation;
    auto* floats = reinterpret_cast<float*>(data);
    if (operation == "allreduce") return group_.start_allreduce(data, count, Type::f32, Op::sum);
    if (operation == "allreduce_as")
      return group_.start_allreduce_as(Type::bf16, floats, count, Op::sum);
    if (operation == "adasum") {
      const std::size_t ends[] = {count / 3, count};
      return group_.start_adasum(data, count, Type::f32, ends);
    }
    if (operation == "reduce_scatter")
      return group_.start_reduce_scatter(data, count, Type::f32, Op::sum);
    if (operation == "allgather") return group_.start_allgather_segments(data, count, Type::f32);
    if (operation == "broadcast")
      return group_.start_broadcast(data, plan_.bytes, ++root_ % group_.size());
    if (operation == "all_to_all") {
      const auto ranks = static_cast<std::size_t>(group_.size());
      const std::size_t each = (plan_.bytes + ranks - 1) / ranks;
      return group_.start_all_to_all(data, data + each * ranks, each);
    }
    if (operation == "shard_sum") {
      float* const mine[] = {floats, floats + count};
      return group_.start_shard_sum(mine, count, 2 * group_.size());
    }
    if (operation == "barrier") return group_.start_barrier();
    throw std::invalid_argument("no operation " + operation);
  }

  void split() {
    if (++splits_ % 100 == 0) return group_.barrier();  // there are not so many groups
    if (splits_ > 250) return group_.barrier();
    (void)group_.split(group_.rank() % 2, 0);
  }

  Group& group_;
  const Plan& plan_;
  std::vector<std::unique_ptr<Memory>> memory_;
  std::vector<std::vector<std::byte>> owned_;
  int root_ = 0;
  int splits_ = 0;
};

std::atomic<bool> g_leave{false};

void leave_later(const Plan& plan) {
  std::thread([plan] {
    std::this_thread::sleep_for(plan.delay);
    if (plan.how == "unplug") {
      if (std::system("ip link set eth0 down") != 0) _exit(3);
    } else if (plan.how == "exit" || plan.how == "exception") {
      g_leave = true;
    } else {
      kill(getpid(), std::stoi(plan.how));
    }
  }).detach();
}

int until_somebody_is_gone(const Plan& plan) {
  auto wireup = Wireup::connect();
  Group group(wireup->transport(), {.stall_timeout = plan.stall});
  std::printf("rank %d has pid %d\n", group.rank(), static_cast<int>(getpid()));
  std::fflush(stdout);
  Work work(group, plan);
  auto start = Clock::now();
  try {
    group.barrier();  // others may still be in it when the victim has gone
    start = Clock::now();
    if (group.rank() == plan.victim) leave_later(plan);
    for (bool first = true;; first = false) {
      Clock::now();  // which wants to be looked at often
      work.once();
      if (first) {
        std::printf("rank %d works\n", group.rank());
        std::fflush(stdout);
      }
      if (!g_leave) continue;
      if (plan.how == "exit") return 0;
      throw std::runtime_error("a mistake of the program");
    }
  } catch (const CommError& e) {
    const auto ms = std::chrono::duration_cast<milliseconds>(Clock::now() - start).count();
    std::printf("rank %d reports %d on %s after %ld ms: %s\n", group.rank(), e.rank(),
                e.node().c_str(), static_cast<long>(ms), e.what());
    std::fflush(stdout);
    return kCommFailed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9) return 64;
  const Plan plan{argv[1],
                  argv[2],
                  std::stoul(argv[3]),
                  argv[4],
                  std::stoi(argv[5]),
                  argv[6],
                  microseconds(std::stol(argv[7])),
                  milliseconds(std::stol(argv[8]))};
  signal(SIGTERM, SIG_IGN);  // the launcher's TERM must not hide what the rank itself sees
  try {
    return until_somebody_is_gone(plan);
  } catch (const std::invalid_argument& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return kNotHere;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
