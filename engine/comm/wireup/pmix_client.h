// This process as a client of its node's PMIx server.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace thalweg::engine::comm {

/// All errors are std::runtime_error with PMIx's words. Used by one thread.
class PmixClient {
 public:
  /// Whether there is a server in the environment.
  static bool available();

  PmixClient();
  /// Does not tell the server: a process that goes without finalize() has failed.
  ~PmixClient() = default;
  PmixClient(const PmixClient&) = delete;
  PmixClient& operator=(const PmixClient&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  void put(const char* key, const std::string& bytes);  ///< seen by others after commit and a fence
  void commit();
  std::string get(int rank, const char* key);

  /// Returns when all ranks have come (true), or all that still live (false); `idle` is called over
  /// and over until then, and `wake` from another thread when there is an answer. Always collects
  /// data: without, Slurm's fence is no barrier on fewer nodes than its tree is wide. May be left
  /// by an exception out of `idle`.
  bool fence(const std::function<void()>& idle, const std::function<void()>& wake);

  void finalize();

 private:
  std::string job_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace thalweg::engine::comm
