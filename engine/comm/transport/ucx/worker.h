// The UCX handles of one rank, each in its owner, and the one place where UCX status becomes text.
#pragma once

#include <ucp/api/ucp.h>

#include <string>

namespace thalweg::engine::comm {

/// Throws std::runtime_error "what: UCX's words" unless UCS_OK.
void check(ucs_status_t status, const char* what);

/// Context and worker, set up for tag matching, active messages and sleeping. Used by one thread at
/// a time.
class UcxWorker {
 public:
  UcxWorker();
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  ucp_worker_h get() const { return worker_; }
  ucp_context_h context() const { return context_; }
  bool knows_cuda() const;      ///< messages may stand in the memory of CUDA's GPUs
  std::string address() const;  ///< for peers, bytes
  int event_fd() const;         ///< readable after a successful arm()
  bool arm();                   ///< false: there is something to progress first

 private:
  ucs_status_t create(const char* transports);  ///< UCX_TLS; nullptr: all

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
};

/// A connection to one peer; closed without ceremony (what must arrive has been fenced before).
class UcxEndpoint {
 public:
  UcxEndpoint() = default;
  /// `on_error` is called from progress, with `argument`, when the peer is lost.
  UcxEndpoint(const UcxWorker& worker, const std::string& address, ucp_err_handler_cb_t on_error,
              void* argument);
  ~UcxEndpoint();
  UcxEndpoint(UcxEndpoint&& other) noexcept;
  UcxEndpoint& operator=(UcxEndpoint&& other) noexcept;
  ucp_ep_h get() const { return endpoint_; }
  /// "rc_mlx5/mlx5_0:1, sysv/memory": UCX's transports and their devices, each once.
  std::string transports() const;
  void release() { endpoint_ = nullptr; }  ///< leaves it open

 private:
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
};

}  // namespace thalweg::engine::comm
