// One rank for the process tests: rank_program MODE [ARGUMENTS]. Prints what the tests read.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/comm/algorithms/table.h"
#include "engine/comm/group.h"
#include "engine/comm/wireup/wireup.h"
#include "tests/engine/comm/fuzz.h"
#include "tests/engine/comm/rank_adasum.h"
#include "tests/engine/comm/rank_program.h"

namespace {

using namespace thalweg::engine::comm;
using std::chrono::milliseconds;

void expect(bool right, const char* what) {
  if (!right) throw std::runtime_error(std::string("wrong ") + what);
}

void check_reductions(Group& group, Collective collective, std::size_t count) {
  const std::int64_t sum = group.size() * (group.size() + 1) / 2;
  std::vector<std::int64_t> data(count);
  for (std::size_t i = 0; i < count; ++i) {
    data[i] = (group.rank() + 1) * static_cast<std::int64_t>(i % 1009);
  }
  std::size_t begin = 0, end = count;
  if (collective == Collective::allreduce) {
    group.allreduce(data.data(), count, Type::i64, Op::sum);
  } else {
    group.reduce_scatter(data.data(), count, Type::i64, Op::sum);
    begin = group.segment(count, group.rank()).begin;
    end = begin + group.segment(count, group.rank()).count;
  }
  for (std::size_t i = begin; i < end; ++i) {
    expect(data[i] == sum * static_cast<std::int64_t>(i % 1009), name_of(collective));
  }
}

void check_movements(Group& group, Collective collective, std::size_t count) {
  const auto ranks = static_cast<std::size_t>(group.size());
  std::vector<int> data(count, group.rank());
  if (collective == Collective::broadcast) {
    group.broadcast(data.data(), count * sizeof(int), group.size() - 1);
    expect(data.front() == group.size() - 1 && data.back() == group.size() - 1, "broadcast");
    return;
  }
  count = count / ranks + 1;
  std::vector<int> all(count * ranks, -1), out(count * ranks, group.rank());
  if (collective == Collective::allgather) {
    group.allgather(out.data(), all.data(), count * sizeof(int));
  } else {
    group.all_to_all(out.data(), all.data(), count * sizeof(int));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    expect(all[i] == static_cast<int>(i / count), name_of(collective));
  }
}

/// Every algorithm of every collective at sizes on both sides of UCX's protocol changes.
void check_collectives(Group& group) {
  for (int c = 0; c < static_cast<int>(Collective::barrier); ++c) {
    const auto collective = static_cast<Collective>(c);
    for (const Row& row : rows_of(collective)) {
      if (!group.layout().allows(row.needs)) continue;
      group.use(collective, row.name);
      for (const std::size_t count : {1U, 7U, 1000U, 65537U, 1000000U}) {
        if (collective == Collective::allreduce || collective == Collective::reduce_scatter) {
          check_reductions(group, collective, count);
        } else {
          check_movements(group, collective, count);
        }
      }
    }
    group.use(collective, "auto");
  }
  group.barrier();
}

/// f32 that travels as bf16: small integers stay what they are.
void check_allreduce_as(Group& group) {
  for (const std::size_t count : {1U, 1000U, 65537U, 3000000U}) {
    std::vector<float> data(count, static_cast<float>(group.rank() + 1));
    group.allreduce_as(Type::bf16, data.data(), count, Op::sum);
    for (const float x : data) {
      if (x != static_cast<float>(group.size() * (group.size() + 1) / 2)) {
        throw std::runtime_error("wrong sum of bf16");
      }
    }
  }
}

int collectives(const Words&) {
  Rank rank(milliseconds(60000));
  check_collectives(rank.group);
  check_allreduce_as(rank.group);
  check_adasum(rank.group);
  const auto& world = rank.wireup->world();
  std::printf("rank %d of %d, local %d of %d, on %s: right\n", world.rank, world.size,
              world.local_rank, world.local_size, world.node.c_str());
  rank.wireup->fence();
  rank.wireup->finalize();
  return 0;
}

/// Prints how many machines there are, and how many forms of Adasum are right.
int adasum(const Words&) {
  Rank rank(milliseconds(60000));
  const int forms = check_adasum(rank.group);
  std::printf("%zu machines, %d forms\n", rank.group.layout().machines.size(), forms);
  rank.wireup->finalize();
  return 0;
}

/// Sums SHARDS leaves of random floats, several at once; rank 0 prints a hash of the bits.
int shard_sum(const Words& arguments) {
  const int shards = std::stoi(arguments.at(0));
  Rank rank(milliseconds(60000));
  auto& group = rank.group;
  constexpr std::size_t kCounts[] = {10, 5000, 400000, 1100};
  std::vector<std::vector<float>> leaves;
  std::vector<std::unique_ptr<Request>> requests;
  std::vector<float*> first;
  leaves.reserve(std::size(kCounts) * static_cast<std::size_t>(shards));
  for (const std::size_t count : kCounts) {
    std::vector<float*> mine;
    for (int s = Group::first_shard(group.rank(), group.size(), shards);
         s < Group::first_shard(group.rank() + 1, group.size(), shards); ++s) {
      std::mt19937 random(static_cast<unsigned>(s));
      auto& leaf = leaves.emplace_back(count);
      for (auto& x : leaf) {
        x = static_cast<float>(random()) * 1e-9F - 2.0F;
      }
      mine.push_back(leaf.data());
    }
    first.push_back(mine[0]);
    requests.push_back(group.start_shard_sum(mine, count, shards));
  }
  std::uint64_t hash = 1469598103934665603U;
  for (std::size_t i = requests.size(); i-- > 0;) {
    requests[i]->wait();
    for (std::size_t k = 0; k < kCounts[i]; ++k) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, first[i] + k, sizeof bits);
      hash = (hash ^ bits) * 1099511628211U;
    }
  }
  if (group.rank() == 0) std::printf("%016llx\n", static_cast<unsigned long long>(hash));
  rank.wireup->finalize();
  return 0;
}

/// Random programs from SEED on, ROUNDS of them.
int fuzz(const Words& arguments) {
  const auto first = static_cast<unsigned>(std::stoul(arguments.at(0)));
  const auto rounds = static_cast<unsigned>(std::stoul(arguments.at(1)));
  Rank rank(milliseconds(20000));
  for (unsigned i = 0; i < rounds; ++i) {
    // Now and then beyond where long messages take another way.
    Fuzz(rank.group, first + i, i % 4 == 3 ? 400000 : 20000).run(60);
  }
  rank.group.barrier();
  rank.wireup->finalize();
  return 0;
}

/// Ranks come to the end one after the other, each having sent what the others wait for.
int farewell(const Words&) {
  Rank rank(milliseconds(60000));
  for (int round = 0; round < 20; ++round) {
    std::vector<float> data(100000, 1);
    rank.group.broadcast(data.data(), data.size() * sizeof(float), round % rank.group.size());
  }
  std::this_thread::sleep_for(milliseconds(30 * rank.group.rank()));
  rank.wireup->finalize();
  return 0;
}

/// Writes into every other rank's memory and finds what they wrote into its own. Prints each rank's
/// pid. With an argument: all are killed while they hold each other's memory.
int shared_memory(const Words& arguments) {
  auto wireup = Wireup::connect();
  auto transport = wireup->transport();
  const int me = transport->rank(), ranks = transport->size();
  constexpr std::size_t kBytes = 3000000;
  auto exposed = transport->expose(kBytes);
  if (!exposed) throw std::runtime_error("no memory to share");
  for (std::size_t i = 0; i < kBytes; ++i) {
    if (exposed->data()[i] != std::byte{0}) throw std::runtime_error("not zeroed");
  }
  std::vector<std::unique_ptr<Attached>> theirs;
  const auto to_all = [&](std::uint64_t tag, std::string mine, const auto& take) {
    std::vector<std::unique_ptr<Request>> open;
    std::vector<std::string> got(static_cast<std::size_t>(ranks), std::string(mine.size(), ' '));
    for (int r = 0; r < ranks; ++r) {
      if (r == me) continue;
      auto& text = got[static_cast<std::size_t>(r)];
      open.push_back(transport->receive(r, tag, text.data(), text.size()));
      open.push_back(transport->send(r, tag, mine.data(), mine.size()));
    }
    for (auto& request : open) {
      if (request) request->wait();
    }
    for (int r = 0; r < ranks; ++r) {
      if (r != me) take(r, got[static_cast<std::size_t>(r)]);
    }
  };
  to_all(1, exposed->token(), [&](int r, const std::string& token) {
    if (!transport->same_machine(r)) throw std::runtime_error("not the same machine");
    theirs.push_back(transport->attach(r, token));
    if (!theirs.back()) throw std::runtime_error("cannot reach a peer's memory");
    theirs.back()->data()[me] = static_cast<std::byte>(me + 1);
    theirs.back()->data()[kBytes - 1 - static_cast<std::size_t>(me)] = std::byte{7};
  });
  to_all(2, "written", [](int, const std::string&) {});
  for (int r = 0; r < ranks; ++r) {
    const auto at = static_cast<std::size_t>(r);
    if (r == me) continue;
    if (exposed->data()[at] != static_cast<std::byte>(r + 1) ||
        exposed->data()[kBytes - 1 - at] != std::byte{7}) {
      throw std::runtime_error("what a peer wrote is not there");
    }
  }
  std::printf("pid %d\n", static_cast<int>(getpid()));
  std::fflush(stdout);
  to_all(3, "read", [](int, const std::string&) {});
  if (!arguments.empty()) kill(getpid(), SIGKILL);
  theirs.clear();
  exposed.reset();
  transport.reset();
  wireup->finalize();
  return 0;
}

/// Rank 0 prints how many TCP sockets this process has beside those it had before, with the world
/// up and after it.
int sockets(const Words&) {
  const auto count = [] {
    int found = 0;
    for (int fd = 0; fd < 1024; ++fd) {
      int domain = 0;
      socklen_t length = sizeof domain;
      if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0) continue;
      found += domain == AF_INET || domain == AF_INET6;
    }
    return found;
  };
  const int before = count();
  int during = 0;
  int number = 0;
  {
    Rank rank(milliseconds(60000));
    number = rank.group.rank();
    check_collectives(rank.group);
    during = count();
    rank.wireup->finalize();
  }
  if (number == 0) std::printf("%d then %d\n", during - before, count() - before);
  return 0;
}

/// How messages get to the other ranks, as rank 0 tells it.
int routes(const Words&) {
  Rank rank(milliseconds(20000));
  if (rank.group.rank() == 0)
    for (const std::string& route : rank.group.routes())
      std::printf("%s\n", route.c_str());
  rank.group.barrier();
  rank.wireup->finalize();
  return 0;
}

/// Milliseconds since the epoch at which the world stood.
int hello(const Words&) {
  auto wireup = Wireup::connect();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::printf("%ld\n", static_cast<long>(std::chrono::duration_cast<milliseconds>(now).count()));
  wireup->finalize();
  return 0;
}

const std::map<std::string, int (*)(const Words&)> kModes = {
    {"collectives", collectives},
    {"shard_sum", shard_sum},
    {"victim", victim},
    {"deserter", deserter},
    {"farewell", farewell},
    {"routes", routes},
    {"hello", hello},
    {"shared_memory", shared_memory},
    {"sockets", sockets},
    {"mismatch", mismatch},
    {"disagree", disagree},
    {"missing", missing},
    {"fuzz", fuzz},
    {"adasum", adasum},
};

}  // namespace

int main(int argc, char** argv) {
  const Words arguments(argv + std::min(argc, 2), argv + argc);
  const auto mode = kModes.find(argc > 1 ? argv[1] : "");
  if (mode == kModes.end()) return 64;
  try {
    return mode->second(arguments);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
