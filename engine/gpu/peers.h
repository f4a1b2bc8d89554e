// Messages between the GPUs of one job, put into streams as other work is: NCCL's, and on the
// emulated machine those of threads of one process.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/gpu/gpu.h"

namespace thalweg::engine::gpu {

/// One rank's part in a meeting of all. For one thread.
class Peers {
 public:
  struct Message {
    int peer;
    void* data;  ///< the GPU's memory
    std::size_t bytes;
  };

  /// Ends together with the other ranks where all went well; after a failure, or abort(), alone and
  /// at once.
  virtual ~Peers() = default;
  /// Puts all messages into the stream as one piece of work. What one rank sends another is
  /// received there in this order, with these lengths. Every rank makes the same exchanges in the
  /// same order. Throws GpuError, and what `look` threw.
  virtual void exchange(Stream& stream, std::span<const Message> send,
                        std::span<const Message> receive) = 0;
  /// Throws GpuError where a message has failed since.
  virtual void check() = 0;
  /// Ends messages under way on this GPU: what waits for them in streams goes on, with rubbish.
  virtual void abort() noexcept = 0;
};

/// What the ranks of a meeting have in common.
struct PeersId {
  std::array<char, 128> bytes{};
};

/// "NCCL 2.28.9": what joins such a GPU to others; the same on all ranks of a meeting. Throws
/// GpuError where nothing does: why, and what to do.
std::string peers_version(const Gpu& gpu);
/// For one rank, which tells the others.
PeersId new_peers_id(const Gpu& gpu);
/// Blocks until all ranks have joined. `look` is called now and then while this or an exchange
/// waits for other ranks, and throws where one of them is lost. Throws GpuError.
std::unique_ptr<Peers> join_peers(Gpu& gpu, const PeersId& id, int rank, int ranks,
                                  std::function<void()> look);

}  // namespace thalweg::engine::gpu
