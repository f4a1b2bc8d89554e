// The timing core of every program that takes part in a comparison. All of them are started once
// and live until the end; a rank whose turn it is not sleeps in a read of its fifo, so that it
// takes nothing from the one that is measured. FOLDER/in.RANK brings one command a line, FOLDER/out
// takes one answer a line from every rank, "RANK WORDS":
//   prepare KIND BYTES             a buffer ("plain" or "group" memory), one checked call: "ready"
//   run KIND BATCHES CALLS WARMUP  calls in a row: microseconds a call, BATCHES numbers
//   touch KIND CALLS WARMUP        the buffer rewritten before each call: CALLS numbers
//   quit, or end of file
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace bench {

using Memory = std::shared_ptr<float>;

/// Zeros in huge pages: ordinary memory at its best.
Memory plain_memory(std::size_t bytes);

/// One rank of the group that is measured.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual void allreduce(float* data, std::size_t count) = 0;  ///< in place, sum of fp32
  virtual void barrier() = 0;
  /// `kind`: "plain", or "group" for memory that the library itself hands out; collective.
  virtual Memory memory(std::size_t bytes, const std::string& /*kind*/) {
    return plain_memory(bytes);
  }
  /// False where allreduce() only moves bytes: there is no result to check.
  virtual bool adds_up() const { return true; }
};

/// Pins the process to core rank % cores: all programs share the cores in the same way.
void pin(int rank);

/// Serves commands until the end; returns the exit code.
int take_turns(const std::string& folder, int rank, int size, Peer& peer);

}  // namespace bench
