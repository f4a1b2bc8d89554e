#include "tests/bench/allreduce/peer.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kHugePage = 2U << 20U;
constexpr int kPattern = 977;  // below 2^24 / ranks: sums of the pattern are exact in fp32

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

class Rank {
 public:
  Rank(int rank, int size, Peer& peer) : rank_(rank), size_(size), peer_(peer) {}

  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string command, kind;
    std::size_t bytes = 0;
    int batches = 1, calls = 0, warmup = 0;
    words >> command >> kind;
    if (command == "prepare" && words >> bytes) return prepare(kind, bytes);
    if (command == "run" && words >> batches >> calls >> warmup) {
      return run(buffers_.at(kind).get(), batches, calls, warmup);
    }
    if (command == "touch" && words >> calls >> warmup) {
      return touch(buffers_.at(kind).get(), calls, warmup);
    }
    return "not understood: " + line;
  }

 private:
  std::string prepare(const std::string& kind, std::size_t bytes) {
    if (count_ != bytes / sizeof(float)) buffers_.clear();
    count_ = bytes / sizeof(float);
    buffers_[kind] = peer_.memory(bytes, kind);
    float* data = buffers_[kind].get();
    for (std::size_t i = 0; i < count_; ++i) {
      data[i] = static_cast<float>(static_cast<int>(i % kPattern) + rank_);
    }
    peer_.barrier();
    peer_.allreduce(data, count_);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count_ && peer_.adds_up(); ++i) {
      const int sum = size_ * static_cast<int>(i % kPattern) + size_ * (size_ - 1) / 2;
      if (data[i] != static_cast<float>(sum)) ++wrong;
    }
    peer_.barrier();
    std::memset(static_cast<void*>(data), 0, bytes);  // sums of zeros stay what they are
    return wrong == 0 ? "ready" : "wrong: " + std::to_string(wrong) + " elements";
  }

  std::string run(float* data, int batches, int calls, int warmup) {
    for (int i = 0; i < warmup; ++i) {
      peer_.allreduce(data, count_);
    }
    std::string times;
    for (int b = 0; b < batches; ++b) {
      peer_.barrier();
      const auto start = Clock::now();
      for (int i = 0; i < calls; ++i) {
        peer_.allreduce(data, count_);
      }
      times += std::to_string(microseconds_since(start) / calls) + " ";
    }
    return times;
  }

  std::string touch(float* data, int calls, int warmup) {
    std::string times;
    for (int i = -warmup; i < calls; ++i) {
      std::fill_n(data, count_, static_cast<float>(i & 7));
      peer_.barrier();
      peer_.barrier();  // the first one's stragglers are not part of the call
      const auto start = Clock::now();
      peer_.allreduce(data, count_);
      const double us = microseconds_since(start);
      if (i >= 0) times += std::to_string(us) + " ";
    }
    return times;
  }

  int rank_;
  int size_;
  Peer& peer_;
  std::size_t count_ = 0;
  std::map<std::string, Memory> buffers_;  ///< by kind, all of count_ elements
};

}  // namespace

Memory plain_memory(std::size_t bytes) {
  const std::size_t size = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  auto* data = static_cast<float*>(std::aligned_alloc(kHugePage, size));
  if (!data) throw std::bad_alloc();
  ::madvise(data, size, MADV_HUGEPAGE);
  std::memset(static_cast<void*>(data), 0, size);
  return {data, [](float* p) { std::free(p); }};
}

void pin(int rank) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(rank % ::sysconf(_SC_NPROCESSORS_ONLN)), &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

int take_turns(const std::string& folder, int rank, int size, Peer& peer) {
  const int out = ::open((folder + "/out").c_str(), O_WRONLY | O_CLOEXEC);
  std::ifstream in(folder + "/in." + std::to_string(rank));
  if (out < 0 || !in) {
    std::fprintf(stderr, "cannot open the fifos in %s\n", folder.c_str());
    return 1;
  }
  const auto say = [&](const std::string& words) {
    const std::string line = std::to_string(rank) + " " + words + "\n";
    return ::write(out, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  };
  Rank self(rank, size, peer);
  bool heard = say("started");
  for (std::string line; heard && std::getline(in, line) && line != "quit";) {
    heard = say(self.answer(line));
  }
  ::close(out);
  return heard ? 0 : 1;
}

}  // namespace bench
