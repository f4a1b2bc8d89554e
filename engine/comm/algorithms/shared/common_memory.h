// Memory of several ranks of one machine that all of them load and store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/comm/algorithms/link.h"
#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

/// A block per rank. `members` are ranks as the transport counts them.
class CommonMemory {
 public:
  CommonMemory(std::unique_ptr<Exposed> mine, std::vector<std::unique_ptr<Attached>> theirs,
               std::vector<int> members, int rank, int world);

  std::byte* mine() const { return mine_->data(); }
  std::size_t bytes() const { return mine_->bytes(); }
  /// nullptr: that rank has no part in it.
  std::byte* of(int member) const { return of_[static_cast<std::size_t>(member)]; }
  bool covers(const std::vector<int>& members) const;

 private:
  std::unique_ptr<Exposed> mine_;
  std::vector<std::unique_ptr<Attached>> theirs_;
  std::vector<std::byte*> of_;  ///< by the transport's ranks
};

/// Sends `mine` to all others, and fills `all`, by rank.
template <class T>
Task tell_all(const Link& link, const T& mine, std::vector<T>& all) {
  Messages messages(link);
  all.resize(static_cast<std::size_t>(link.size()));
  for (int r = 0; r < link.size(); ++r) {
    if (r != link.rank()) messages.receive(r, &all[static_cast<std::size_t>(r)], sizeof(T));
  }
  for (int r = 0; r < link.size(); ++r) {
    if (r != link.rank()) messages.send(r, &mine, sizeof(T));
  }
  co_await messages;
  all[static_cast<std::size_t>(link.rank())] = mine;
}

/// Each of the link's ranks, all on one machine, gets `bytes` (they may differ; zeroed) that all
/// others map. Where one of them cannot, `out` is empty on all. Uses phases 0 and 1.
Task share_memory(const Link& link, std::size_t bytes, std::unique_ptr<CommonMemory>& out);

/// Memory from Group::allocate: which of it an address lies in, and where peers see the same
/// memory. Used by one thread at a time.
class Regions {
 public:
  /// `id` is the same on all its ranks, and not 0.
  void add(std::uint64_t id, const CommonMemory& memory);
  void remove(std::uint64_t id);

  struct Place {
    std::uint64_t id = 0;  ///< 0: in no region
    std::uint64_t offset = 0;
  };
  /// Of a region that covers `members` and holds all bytes.
  Place find(const void* data, std::size_t bytes, const std::vector<int>& members) const;
  /// What `member` calls `place`. It must have found it.
  std::byte* at(int member, Place place) const;

 private:
  struct Region {
    std::uint64_t id;
    const CommonMemory* memory;
  };
  std::vector<Region> regions_;
};

}  // namespace thalweg::engine::comm
