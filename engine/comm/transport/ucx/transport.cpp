// UCX's tag matching. What its callbacks write to outlives a request that is dropped half-way.
#include "engine/comm/transport/ucx/transport.h"

#include <string>
#include <utility>

#include "engine/comm/transport/ucx/peers.h"

namespace thalweg::engine::comm {
namespace {

// UCX matches by one number: the sender's rank above, the operation's tag below.
constexpr unsigned kTagBits = 40;

std::uint64_t full_tag(int sender, std::uint64_t tag) {
  return static_cast<std::uint64_t>(sender) << kTagBits | tag;
}

/// What UCX's callback fills in; it outlives a request that was dropped half-way.
struct State {
  Peers* peers;
  std::uint64_t* completed;
  void* handle = nullptr;
  ucs_status_t status = UCS_INPROGRESS;
  std::size_t length = 0;
  bool orphan = false;

  void finish(void* request, ucs_status_t how, std::size_t bytes) {
    ucp_request_free(request);
    peers->add_messages(-1);
    if (orphan) {
      delete this;
      return;
    }
    handle = nullptr;
    status = how;
    length = bytes;
    ++*completed;
  }
  static void sent(void* request, ucs_status_t how, void* self) {
    static_cast<State*>(self)->finish(request, how, 0);
  }
  static void received(void* request, ucs_status_t how, const ucp_tag_recv_info_t* info,
                       void* self) {
    static_cast<State*>(self)->finish(request, how, info ? info->length : 0);
  }
};

class UcxTransport;

class UcxRequest : public Request {
 public:
  UcxRequest(UcxTransport& transport, int peer, std::size_t bytes, bool receives);
  ~UcxRequest() override;
  UcxRequest(const UcxRequest&) = delete;
  UcxRequest& operator=(const UcxRequest&) = delete;
  bool test() override;
  void wait() override;

 private:
  friend class UcxTransport;
  UcxTransport& transport_;
  State* state_;
  int peer_;
  std::size_t bytes_;
  bool receives_;
};

class UcxTransport final : public MessageTransport {
 public:
  UcxTransport(TransportHost& host, Peers& peers) : host_(host), peers_(peers) {}

  void progress() override { peers_.progress(); }
  std::uint64_t completed() const override { return completed_; }
  bool supports(MessageMemory where) const override {
    return where == MessageMemory::host || peers_.shared_worker()->knows_cuda();
  }

  using MessageTransport::receive;
  using MessageTransport::send;
  std::unique_ptr<Request> send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                                MessageMemory where) override {
    auto request = std::make_unique<UcxRequest>(*this, peer, bytes, false);
    ucp_request_param_t params = params_for(*request, where);
    params.cb.send = State::sent;
    void* handle =
        ucp_tag_send_nbx(peers_.endpoint(peer), data, bytes, full_tag(peers_.rank(), tag), &params);
    return started(std::move(request), handle);
  }

  std::unique_ptr<Request> receive(int peer, std::uint64_t tag, void* data, std::size_t bytes,
                                   MessageMemory where) override {
    auto request = std::make_unique<UcxRequest>(*this, peer, bytes, true);
    ucp_request_param_t params = params_for(*request, where);
    // UCX 1.13 tells the length of a message that was there already to the callback only.
    params.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    params.cb.recv = State::received;
    void* handle =
        ucp_tag_recv_nbx(peers_.worker(), data, bytes, full_tag(peer, tag), UINT64_MAX, &params);
    return started(std::move(request), handle);
  }

  Peers& peers() { return peers_; }
  TransportHost& host() { return host_; }
  std::uint64_t* counter() { return &completed_; }

 private:
  static ucp_request_param_t params_for(UcxRequest& request, MessageMemory where) {
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.user_data = request.state_;
    if (where == MessageMemory::cuda) {
      params.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
      params.memory_type = UCS_MEMORY_TYPE_CUDA;
    }
    return params;
  }

  std::unique_ptr<Request> started(std::unique_ptr<UcxRequest> request, void* handle) {
    State& state = *request->state_;
    if (UCS_PTR_IS_PTR(handle) && state.status == UCS_INPROGRESS) {
      state.handle = handle;
      return request;
    }
    if (!UCS_PTR_IS_PTR(handle)) {
      state.status = UCS_PTR_STATUS(handle);
      peers_.add_messages(-1);
      ++completed_;
    }
    request->test();  // throws where it failed
    return nullptr;
  }

  TransportHost& host_;
  Peers& peers_;
  std::uint64_t completed_ = 0;
};

UcxRequest::UcxRequest(UcxTransport& transport, int peer, std::size_t bytes, bool receives)
    : transport_(transport),
      state_(new State{&transport.peers(), transport.counter()}),
      peer_(peer),
      bytes_(bytes),
      receives_(receives) {
  transport.peers().add_messages(+1);
}

UcxRequest::~UcxRequest() {
  if (state_->status != UCS_INPROGRESS) {
    delete state_;
    return;
  }
  state_->orphan = true;
  if (receives_) ucp_request_cancel(transport_.peers().worker(), state_->handle);
}

bool UcxRequest::test() {
  if (state_->status == UCS_INPROGRESS) return false;
  if (receives_ && (state_->status == UCS_ERR_MESSAGE_TRUNCATED ||
                    (state_->status == UCS_OK && state_->length != bytes_))) {
    transport_.host().wrong_length(peer_, state_->length, bytes_);
  }
  if (state_->status != UCS_OK) {
    transport_.host().lost(
        peer_, std::string("a message failed (") + ucs_status_string(state_->status) + ")");
  }
  return true;
}

void UcxRequest::wait() {
  while (!test()) {
    transport_.host().progress();
  }
}

}  // namespace

std::unique_ptr<MessageTransport> ucx_transport(TransportHost& host, Peers& peers) {
  return std::make_unique<UcxTransport>(host, peers);
}

}  // namespace thalweg::engine::comm
