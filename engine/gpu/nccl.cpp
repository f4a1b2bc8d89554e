// Messages between GPUs by NCCL. Its meeting never blocks ("blocking" is 0): calls come back while
// they are still under way and are asked about, so that a lost rank is noticed meanwhile and the
// meeting can be ended. https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "engine/gpu/capture_guard.h"
#include "engine/gpu/cuda_error.h"
#include "engine/gpu/peers_of_machines.h"
#include "engine/gpu/shared_library.h"

namespace thalweg::engine::gpu {
namespace {

using Clock = std::chrono::steady_clock;

static_assert(sizeof(ncclUniqueId) == sizeof(PeersId));

/// Putting messages into a stream takes some tens of microseconds; what takes longer waits for
/// other ranks.
constexpr std::chrono::microseconds kShort{200};
constexpr std::chrono::microseconds kNap{50};
/// For other ranks to end the meeting too, when all went well.
constexpr std::chrono::seconds kParting{10};

struct Nccl {
  decltype(&ncclGetVersion) version;
  decltype(&ncclGetErrorString) error_string;
  decltype(&ncclGetLastError) last_error;
  decltype(&ncclGetUniqueId) unique_id;
  decltype(&ncclCommInitRankConfig) join;
  decltype(&ncclCommGetAsyncError) state;
  decltype(&ncclCommFinalize) finalize;
  decltype(&ncclCommDestroy) destroy;
  decltype(&ncclCommAbort) abort;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) receive;
};

Nccl load_nccl() {
  const SharedLibrary library("libnccl.so.2", "NCCL 2");
  Nccl f{};
  library.find(f.version, "ncclGetVersion");
  library.find(f.error_string, "ncclGetErrorString");
  library.find(f.last_error, "ncclGetLastError");
  library.find(f.unique_id, "ncclGetUniqueId");
  library.find(f.join, "ncclCommInitRankConfig");
  library.find(f.state, "ncclCommGetAsyncError");
  library.find(f.finalize, "ncclCommFinalize");
  library.find(f.destroy, "ncclCommDestroy");
  library.find(f.abort, "ncclCommAbort");
  library.find(f.group_start, "ncclGroupStart");
  library.find(f.group_end, "ncclGroupEnd");
  library.find(f.send, "ncclSend");
  library.find(f.receive, "ncclRecv");
  return f;
}
const Nccl& nccl() {
  static const Nccl functions = load_nccl();
  return functions;
}

[[noreturn]] void fail(ncclResult_t result, ncclComm_t comm, const char* call) {
  const char* const last = nccl().last_error(comm);
  throw GpuError(std::string(call) + ": " + nccl().error_string(result) +
                 (last == nullptr || *last == '\0' ? "" : std::string("; ") + last) +
                 " (NCCL_DEBUG=INFO says more)");
}

class NcclPeers final : public Peers {
 public:
  NcclPeers(const Gpu& gpu, std::function<void()> look)
      : number_(gpu.info().number), look_(std::move(look)) {}
  ~NcclPeers() override {
    if (comm_ == nullptr) return;
    if (cudaSetDevice(number_) == cudaSuccess && part()) {
      (void)nccl().destroy(comm_);
    } else {
      abort();
    }
  }

  /// Not of the constructor: a meeting that fails half-way must be ended.
  void join(const PeersId& id, int rank, int ranks) {
    check_cuda(cudaSetDevice(number_), "cudaSetDevice");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclUniqueId unique;
    std::memcpy(&unique, id.bytes.data(), sizeof unique);
    const ncclResult_t result = nccl().join(&comm_, ranks, unique, rank, &config);
    settle(result, "ncclCommInitRankConfig");
  }

  void exchange(Stream& stream, std::span<const Message> send,
                std::span<const Message> receive) override {
    refuse_while_capturing("an exchange between GPUs");
    if (send.empty() && receive.empty()) return;
    const auto native = static_cast<cudaStream_t>(stream.native());
    ncclResult_t worst = nccl().group_start();
    const auto note = [&](ncclResult_t result) {
      if (result != ncclSuccess && result != ncclInProgress) worst = result;
    };
    for (const Message& m : receive)
      note(nccl().receive(m.data, m.bytes, ncclInt8, m.peer, comm_, native));
    for (const Message& m : send)
      note(nccl().send(m.data, m.bytes, ncclInt8, m.peer, comm_, native));
    // Also after a failure: the group is the thread's, and must end.
    const ncclResult_t result = nccl().group_end();
    settle(worst == ncclSuccess ? result : worst, "an exchange between GPUs");
  }

  void check() override {
    ncclResult_t state = ncclSuccess;
    ncclResult_t result = nccl().state(comm_, &state);
    if (result == ncclSuccess) result = state;
    if (result == ncclSuccess || result == ncclInProgress) return;
    failed_ = true;
    fail(result, comm_, "messages between GPUs");
  }

  void abort() noexcept override {
    if (comm_ != nullptr) (void)nccl().abort(std::exchange(comm_, nullptr));
  }

 private:
  /// Until the meeting has done what it was asked for; only then it may be asked for more.
  void settle(ncclResult_t result, const char* call) {
    const Clock::time_point begin = Clock::now();
    try {
      while (result == ncclInProgress) {
        if (Clock::now() - begin > kShort) {
          look_();
          std::this_thread::sleep_for(kNap);
        }
        const ncclResult_t asked = nccl().state(comm_, &result);
        if (asked != ncclSuccess) result = asked;
      }
      if (result != ncclSuccess) fail(result, comm_, call);
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

  /// Whether all messages have ended well. Waits for other ranks, which may still read from here.
  bool part() noexcept {
    if (failed_) return false;
    const Clock::time_point begin = Clock::now();
    ncclResult_t result = nccl().finalize(comm_);
    while (result == ncclInProgress && Clock::now() - begin < kParting) {
      std::this_thread::sleep_for(kNap);
      if (nccl().state(comm_, &result) != ncclSuccess) return false;
    }
    return result == ncclSuccess;
  }

  int number_;
  std::function<void()> look_;
  ncclComm_t comm_ = nullptr;
  bool failed_ = false;
};

}  // namespace

std::string nccl_version() {
  int version = 0;
  const ncclResult_t result = nccl().version(&version);
  if (result != ncclSuccess) fail(result, nullptr, "ncclGetVersion");
  return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) +
         "." + std::to_string(version % 100);
}

PeersId new_nccl_id() {
  ncclUniqueId unique;
  const ncclResult_t result = nccl().unique_id(&unique);
  if (result != ncclSuccess) fail(result, nullptr, "ncclGetUniqueId");
  PeersId id;
  std::memcpy(id.bytes.data(), &unique, sizeof unique);
  return id;
}

std::unique_ptr<Peers> join_nccl(Gpu& gpu, const PeersId& id, int rank, int ranks,
                                 std::function<void()> look) {
  auto peers = std::make_unique<NcclPeers>(gpu, std::move(look));
  peers->join(id, rank, ranks);
  return peers;
}

}  // namespace thalweg::engine::gpu
