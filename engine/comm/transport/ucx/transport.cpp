#include "engine/comm/transport/ucx/transport.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

#include "engine/comm/transport/shared/direct.h"
#include "engine/comm/transport/shared/exposed.h"
#include "engine/comm/transport/ucx/peers.h"

namespace thalweg::engine::comm {
namespace {

// UCX matches by one number: the sender's rank above, the operation's tag below.
constexpr unsigned kTagBits = 40;

// From here on, a receiver on the same machine reads the sender's memory itself. UCX would hand the
// message over in pieces, both sides taking turns: slow where ranks and threads share cores.
constexpr std::size_t kDirectFrom = 64 * 1024;

/// What is sent in place of a long message.
struct Descriptor {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t number;  ///< for the answer that the message has been read
};

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
    peers->ucx_waits(-1);
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

/// Done when the receiver has read the message out of our memory.
class DirectSend : public Request {
 public:
  DirectSend(UcxTransport& transport, int peer, std::uint64_t tag, const void* data,
             std::size_t bytes);
  ~DirectSend() override;
  DirectSend(const DirectSend&) = delete;
  DirectSend& operator=(const DirectSend&) = delete;
  bool test() override { return taken_; }
  void wait() override;
  void taken() { taken_ = true; }

 private:
  UcxTransport& transport_;
  Descriptor descriptor_;
  std::unique_ptr<Request> sending_;
  bool taken_ = false;
};

/// Waits for the descriptor, then reads, both in the transport's progress().
class DirectReceive : public Request {
 public:
  DirectReceive(UcxTransport& transport, int peer, std::uint64_t tag, void* data,
                std::size_t bytes);
  ~DirectReceive() override;
  DirectReceive(const DirectReceive&) = delete;
  DirectReceive& operator=(const DirectReceive&) = delete;
  bool test() override { return done_; }
  void wait() override;
  bool advance();  ///< true when done

 private:
  UcxTransport& transport_;
  int peer_;
  void* data_;
  std::size_t bytes_;
  Descriptor descriptor_{};
  std::unique_ptr<Request> descriptor_request_;
  bool done_ = false;
};

class UcxTransport : public Transport {
 public:
  explicit UcxTransport(std::shared_ptr<Peers> peers) : peers_(std::move(peers)) {
    peers_->on_taken([this](std::uint32_t number) {
      const auto found = direct_sends_.find(number);
      if (found == direct_sends_.end()) return;
      found->second->taken();
      ++completed_;
    });
  }
  ~UcxTransport() override {
    peers_->on_taken({});
    peers_->on_probe({});
  }
  UcxTransport(const UcxTransport&) = delete;
  UcxTransport& operator=(const UcxTransport&) = delete;

  int rank() const override { return peers_->rank(); }
  int size() const override { return peers_->size(); }
  const std::string& node_of(int rank) const override { return peers_->node_of(rank); }
  void progress() override {
    peers_->progress();
    if (direct_receives_.empty()) return;
    std::erase_if(direct_receives_, [](DirectReceive* receive) { return receive->advance(); });
  }
  std::uint64_t completed() const override { return completed_ + peers_->sockets().moved(); }
  void rest(std::chrono::milliseconds limit) override { peers_->rest(limit); }
  std::uint32_t probe_peers(const std::string& question) override {
    return peers_->probe_peers(question);
  }
  std::optional<std::string> answer_of(int rank, std::uint32_t since) const override {
    return peers_->answer_of(rank, since);
  }
  void on_probe(std::function<std::string(const std::string&)> answer) override {
    peers_->on_probe(std::move(answer));
  }
  void give_up(const CommError& why) override { peers_->give_up(why); }
  /// Where a person wants sockets, they carry everything.
  bool same_machine(int peer) const override {
    return peers_->same_machine(peer) && !peers_->sockets().reach(peer);
  }
  std::unique_ptr<Exposed> expose(std::size_t bytes) override { return expose_memory(bytes); }
  std::unique_ptr<Attached> attach(int peer, const std::string& token) override {
    if (!same_machine(peer) || peers_->has_ended(peer)) return nullptr;
    return attach_memory(token);
  }

  bool supports(MessageMemory where) const override {
    return where == MessageMemory::host || peers_->shared_worker()->knows_cuda();
  }

  // Neither sockets nor the kernel's reads reach a GPU's memory: it is UCX's own affair.
  using Transport::receive;
  using Transport::send;
  std::unique_ptr<Request> send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                                MessageMemory where) override {
    if (where == MessageMemory::cuda) return ucx_send(peer, tag, data, bytes, where);
    if (peers_->sockets().reach(peer)) return peers_->sockets().send(peer, tag, data, bytes);
    if (bytes >= kDirectFrom && peers_->read_by(peer)) {
      return std::make_unique<DirectSend>(*this, peer, tag, data, bytes);
    }
    return ucx_send(peer, tag, data, bytes);
  }

  std::unique_ptr<Request> receive(int peer, std::uint64_t tag, void* data, std::size_t bytes,
                                   MessageMemory where) override {
    if (where == MessageMemory::cuda) return ucx_receive(peer, tag, data, bytes, where);
    if (peers_->sockets().reach(peer)) return peers_->sockets().receive(peer, tag, data, bytes);
    if (bytes >= kDirectFrom && peers_->reads(peer)) {
      return std::make_unique<DirectReceive>(*this, peer, tag, data, bytes);
    }
    return ucx_receive(peer, tag, data, bytes);
  }

  std::unique_ptr<Request> ucx_send(int peer, std::uint64_t tag, const void* data,
                                    std::size_t bytes, MessageMemory where = MessageMemory::host) {
    auto request = std::make_unique<UcxRequest>(*this, peer, bytes, false);
    ucp_request_param_t params = params_for(*request, where);
    params.cb.send = State::sent;
    void* handle =
        ucp_tag_send_nbx(peers_->endpoint(peer), data, bytes, full_tag(rank(), tag), &params);
    return started(std::move(request), handle);
  }

  std::unique_ptr<Request> ucx_receive(int peer, std::uint64_t tag, void* data, std::size_t bytes,
                                       MessageMemory where = MessageMemory::host) {
    auto request = std::make_unique<UcxRequest>(*this, peer, bytes, true);
    ucp_request_param_t params = params_for(*request, where);
    // UCX 1.13 tells the length of a message that was there already to the callback only.
    params.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    params.cb.recv = State::received;
    void* handle =
        ucp_tag_recv_nbx(peers_->worker(), data, bytes, full_tag(peer, tag), UINT64_MAX, &params);
    return started(std::move(request), handle);
  }

  std::uint32_t add_direct(DirectSend* send) {
    peers_->ucx_waits(+1);
    direct_sends_[++direct_number_] = send;
    return direct_number_;
  }
  void remove_direct(std::uint32_t number) {
    peers_->ucx_waits(-1);
    direct_sends_.erase(number);
  }
  void add_direct(DirectReceive* receive) { direct_receives_.push_back(receive); }
  void remove_direct(DirectReceive* receive) { std::erase(direct_receives_, receive); }

  Peers& peers() { return *peers_; }
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
      peers_->ucx_waits(-1);
      ++completed_;
    }
    request->test();  // throws where it failed
    return nullptr;
  }

  std::shared_ptr<Peers> peers_;
  std::uint64_t completed_ = 0;
  std::uint32_t direct_number_ = 0;
  std::unordered_map<std::uint32_t, DirectSend*> direct_sends_;
  std::vector<DirectReceive*> direct_receives_;
};

UcxRequest::UcxRequest(UcxTransport& transport, int peer, std::size_t bytes, bool receives)
    : transport_(transport),
      state_(new State{&transport.peers(), transport.counter()}),
      peer_(peer),
      bytes_(bytes),
      receives_(receives) {
  transport.peers().ucx_waits(+1);
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
  auto& peers = transport_.peers();
  if (receives_ && (state_->status == UCS_ERR_MESSAGE_TRUNCATED ||
                    (state_->status == UCS_OK && state_->length != bytes_))) {
    peers.wrong_length(peer_, state_->length, bytes_);
  }
  if (state_->status != UCS_OK) {
    peers.lost(peer_, std::string("a message failed (") + ucs_status_string(state_->status) + ")");
  }
  return true;
}

void UcxRequest::wait() {
  while (!test()) {
    transport_.progress();
  }
}

DirectSend::DirectSend(UcxTransport& transport, int peer, std::uint64_t tag, const void* data,
                       std::size_t bytes)
    : transport_(transport),
      descriptor_{reinterpret_cast<std::uint64_t>(data), bytes, transport.add_direct(this)} {
  sending_ = transport.ucx_send(peer, tag, &descriptor_, sizeof descriptor_);
}

DirectSend::~DirectSend() {
  transport_.remove_direct(static_cast<std::uint32_t>(descriptor_.number));
}

void DirectSend::wait() {
  while (!test()) {
    transport_.progress();
  }
}

DirectReceive::DirectReceive(UcxTransport& transport, int peer, std::uint64_t tag, void* data,
                             std::size_t bytes)
    : transport_(transport), peer_(peer), data_(data), bytes_(bytes) {
  descriptor_request_ = transport.ucx_receive(peer, tag, &descriptor_, sizeof descriptor_);
  transport.add_direct(this);
}

DirectReceive::~DirectReceive() {
  if (!done_) transport_.remove_direct(this);
}

bool DirectReceive::advance() {
  if (descriptor_request_ && !descriptor_request_->test()) return false;
  auto& peers = transport_.peers();
  if (descriptor_.bytes != bytes_) {
    peers.wrong_length(peer_, descriptor_.bytes, bytes_);
  }
  if (!read_directly(peers.pid_of(peer_), descriptor_.address, data_, bytes_)) {
    peers.lost(peer_, std::string("its memory cannot be read (") + std::strerror(errno) + ")");
  }
  peers.tell_taken(peer_, static_cast<std::uint32_t>(descriptor_.number));
  done_ = true;
  return true;
}

void DirectReceive::wait() {
  while (!test()) {
    transport_.progress();
  }
}

}  // namespace

std::unique_ptr<Transport> ucx_transport(std::shared_ptr<Peers> peers) {
  return std::make_unique<UcxTransport>(std::move(peers));
}

}  // namespace thalweg::engine::comm
