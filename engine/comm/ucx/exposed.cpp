#include "engine/comm/ucx/exposed.h"

#include <cstdint>
#include <cstring>
#include <utility>

namespace thalweg::engine::comm {
namespace {

/// The token is the owner's address, then UCX's packed key.
using Address = std::uint64_t;

class UcxExposed : public Exposed {
 public:
  UcxExposed(std::shared_ptr<UcxWorker> worker, ucp_mem_h handle)
      : worker_(std::move(worker)), handle_(handle) {}
  ~UcxExposed() override { ucp_mem_unmap(worker_->context(), handle_); }
  UcxExposed(const UcxExposed&) = delete;
  UcxExposed& operator=(const UcxExposed&) = delete;

  bool prepare(std::size_t bytes) {
    ucp_mem_attr_t attributes{};
    attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
    if (ucp_mem_query(handle_, &attributes) != UCS_OK) return false;
    void* key = nullptr;
    std::size_t length = 0;
    if (ucp_rkey_pack(worker_->context(), handle_, &key, &length) != UCS_OK) return false;
    const auto address = reinterpret_cast<Address>(attributes.address);
    token_.assign(reinterpret_cast<const char*>(&address), sizeof address);
    token_.append(static_cast<const char*>(key), length);
    ucp_rkey_buffer_release(key);
    data_ = static_cast<std::byte*>(attributes.address);
    bytes_ = bytes;
    // UCX may have taken a heap's memory; and pages belong near the rank that asks for them.
    std::memset(data_, 0, bytes);
    return true;
  }

  std::byte* data() const override { return data_; }
  std::size_t bytes() const override { return bytes_; }
  const std::string& token() const override { return token_; }

 private:
  std::shared_ptr<UcxWorker> worker_;
  ucp_mem_h handle_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::string token_;
};

class UcxAttached : public Attached {
 public:
  UcxAttached(std::shared_ptr<UcxWorker> worker, ucp_rkey_h key)
      : worker_(std::move(worker)), key_(key) {}
  ~UcxAttached() override { ucp_rkey_destroy(key_); }
  UcxAttached(const UcxAttached&) = delete;
  UcxAttached& operator=(const UcxAttached&) = delete;

  bool map(Address address) {
    void* here = nullptr;
    if (ucp_rkey_ptr(key_, address, &here) != UCS_OK) return false;
    data_ = static_cast<std::byte*>(here);
    return true;
  }
  std::byte* data() const override { return data_; }

 private:
  std::shared_ptr<UcxWorker> worker_;
  ucp_rkey_h key_;
  std::byte* data_ = nullptr;
};

}  // namespace

std::unique_ptr<Exposed> ucx_expose(std::shared_ptr<UcxWorker> worker, std::size_t bytes) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  params.length = bytes;
  params.flags = UCP_MEM_MAP_ALLOCATE;
  ucp_mem_h handle = nullptr;
  if (ucp_mem_map(worker->context(), &params, &handle) != UCS_OK) return nullptr;
  auto exposed = std::make_unique<UcxExposed>(std::move(worker), handle);
  if (!exposed->prepare(bytes)) return nullptr;
  return exposed;
}

std::unique_ptr<Attached> ucx_attach(std::shared_ptr<UcxWorker> worker, ucp_ep_h endpoint,
                                     const std::string& token) {
  Address address = 0;
  if (token.size() <= sizeof address) return nullptr;
  std::memcpy(&address, token.data(), sizeof address);
  ucp_rkey_h key = nullptr;
  if (ucp_ep_rkey_unpack(endpoint, token.data() + sizeof address, &key) != UCS_OK) return nullptr;
  auto attached = std::make_unique<UcxAttached>(std::move(worker), key);
  if (!attached->map(address)) return nullptr;
  return attached;
}

}  // namespace thalweg::engine::comm
