#include "engine/comm/wireup/pmix_client.h"

#include <pmix.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "engine/comm/wireup/sanitizers.h"

namespace thalweg::engine::comm {
namespace {

void check(pmix_status_t status, const std::string& what) {
  if (status == PMIX_SUCCESS) return;
  throw std::runtime_error(what + ": " + PMIx_Error_string(status));
}

pmix_proc_t process(const std::string& job, pmix_rank_t rank) {
  pmix_proc_t proc;
  PMIX_PROC_LOAD(&proc, job.c_str(), rank);
  return proc;
}

struct Release {
  void operator()(pmix_value_t* value) const { PMIX_VALUE_RELEASE(value); }
};
using Value = std::unique_ptr<pmix_value_t, Release>;

Value get_value(const pmix_proc_t& proc, const char* key) {
  pmix_value_t* value = nullptr;
  check(PMIx_Get(&proc, key, nullptr, 0, &value), std::string("PMIx_Get ") + key);
  return Value(value);
}

/// Shared with the library's thread, which may answer after we have stopped waiting.
struct Fence {
  std::atomic<bool> done{false};
  pmix_status_t status = PMIX_SUCCESS;
  std::function<void()> wake;

  static void answered(pmix_status_t status, void* closure) {
    const std::unique_ptr<std::shared_ptr<Fence>> fence(
        static_cast<std::shared_ptr<Fence>*>(closure));
    (*fence)->status = status;
    const auto wake = (*fence)->wake;
    (*fence)->done.store(true, std::memory_order_release);
    wake();
  }
};

}  // namespace

bool PmixClient::available() {
  return std::getenv("PMIX_NAMESPACE") && std::getenv("PMIX_RANK");
}

PmixClient::PmixClient() {
  pmix_proc_t self;
  check(PMIx_Init(&self, nullptr, 0), "PMIx_Init");
  job_ = self.nspace;
  rank_ = static_cast<int>(self.rank);
  const auto size = get_value(process(job_, PMIX_RANK_WILDCARD), PMIX_JOB_SIZE);
  size_ = static_cast<int>(size->data.uint32);
}

void PmixClient::put(const char* key, const std::string& bytes) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = const_cast<char*>(bytes.data());  // PMIx copies it
  value.data.bo.size = bytes.size();
  check(PMIx_Put(PMIX_GLOBAL, key, &value), std::string("PMIx_Put ") + key);
}

void PmixClient::commit() {
  check(PMIx_Commit(), "PMIx_Commit");
}

std::string PmixClient::get(int rank, const char* key) {
  const auto value = get_value(process(job_, static_cast<pmix_rank_t>(rank)), key);
  if (value->type != PMIX_BYTE_OBJECT) {
    throw std::runtime_error(std::string("PMIx_Get ") + key + ": not a byte object");
  }
  return {value->data.bo.bytes, value->data.bo.size};
}

bool PmixClient::fence(const std::function<void()>& idle, const std::function<void()>& wake) {
  auto fence = std::make_shared<Fence>();
  fence->wake = wake;
  bool collect = true;
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  auto* closure = new std::shared_ptr<Fence>(fence);
  const pmix_status_t started = PMIx_Fence_nb(nullptr, 0, &info, 1, Fence::answered, closure);
  if (started != PMIX_SUCCESS) {
    delete closure;
    if (started == PMIX_OPERATION_SUCCEEDED) return true;
    check(started, "PMIx_Fence_nb");
  }
  while (!fence->done.load(std::memory_order_acquire)) {
    idle();
  }
  if (fence->status == PMIX_ERR_PARTIAL_SUCCESS) return false;
  check(fence->status, "PMIx_Fence_nb");
  return true;
}

void PmixClient::finalize() {
  check(PMIx_Finalize(nullptr, 0), "PMIx_Finalize");
}

}  // namespace thalweg::engine::comm
