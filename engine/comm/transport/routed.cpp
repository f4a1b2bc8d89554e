// Who carries what is settled once, in connect(), from what each rank has published and said in its
// hello: both ends of a message come to the same answer.
#include "engine/comm/transport/routed.h"

#include <utility>

#include "engine/comm/transport/shared/direct.h"
#include "engine/comm/transport/shared/exposed.h"
#include "engine/comm/transport/shared/transport.h"
#include "engine/comm/transport/socket/transport.h"
#include "engine/comm/transport/ucx/peers.h"
#include "engine/comm/transport/ucx/transport.h"

namespace thalweg::engine::comm {
namespace {

// Each look of UCX is a system call or two. While all messages go over sockets, only news of deaths
// come from there, and rest() looks for them too.
constexpr unsigned kRoundsPerUcx = 32;

std::size_t index(int rank) {
  return static_cast<std::size_t>(rank);
}

}  // namespace

RoutedTransport::RoutedTransport()
    : peers_(std::make_unique<Peers>()),
      ucx_(ucx_transport(*this, *peers_)),
      shared_(std::make_unique<SharedTransport>(
          static_cast<TransportHost&>(*this), *ucx_,
          [this](int peer, std::uint32_t number) { peers_->tell_taken(peer, number); })),
      sockets_(std::make_unique<SocketTransport>(static_cast<TransportHost&>(*this),
                                                 SocketSettings::from_environment())) {
  peers_->on_taken([this](std::uint32_t number) { shared_->taken(number); });
}

RoutedTransport::~RoutedTransport() {
  peers_->on_taken({});  // UCX's last messages come when nothing else is left
}

PeerInfo RoutedTransport::self() const {
  PeerInfo info = describe_process();
  info.address = peers_->address();
  info.probe = direct_probe();
  info.socket_place = sockets_->place();
  return info;
}

void RoutedTransport::connect(int rank, std::vector<PeerInfo> peers,
                              std::chrono::milliseconds timeout) {
  std::vector<std::string> places;
  std::vector<std::string> machines;
  std::vector<pid_t> processes;
  const PeerInfo& own = peers[index(rank)];
  for (const PeerInfo& peer : peers) {
    places.push_back(peer.socket_place);
    machines.push_back(peer.machine);
    processes.push_back(peer.pid);
    may_read_.push_back(&peer != &own && peer.machine == own.machine &&
                        may_read_directly(peer.pid, peer.probe));
  }
  shared_->connect(std::move(processes));
  peers_->connect(
      rank, std::move(peers), [this](int peer) { return may_read_[index(peer)] ? 1U : 0U; },
      timeout);
  sockets_->connect(rank, places, machines, [this] { peers_->progress(); });
  choose_routes();
}

void RoutedTransport::choose_routes() {
  for (int r = 0; r < size(); ++r) {
    if (sockets_->reaches(r)) {
      routes_.push_back({sockets_.get(), sockets_.get(), sockets_.get()});
      continue;
    }
    MessageTransport* const shared = shared_.get();
    const bool reads_us = peers_->hello_of(r) != 0;
    routes_.push_back(
        {ucx_.get(), reads_us ? shared : ucx_.get(), may_read_[index(r)] ? shared : ucx_.get()});
  }
}

std::string RoutedTransport::route_to(int peer) const {
  if (peer == rank()) return {};
  const Route& route = routes_[index(peer)];
  if (route.brief == sockets_.get()) return "sockets";
  const std::string lanes = peers_->transports_of(peer);
  const std::string ucx = lanes.empty() ? "UCX" : "UCX (" + lanes + ")";
  const bool reads = route.long_send == shared_.get() || route.long_receive == shared_.get();
  return reads ? ucx + ", reads of its memory" : ucx;
}

void RoutedTransport::await_wake(std::chrono::milliseconds limit) {
  peers_->await_wake(limit);
}

void RoutedTransport::wake() {
  peers_->wake();
}

std::unique_ptr<Request> RoutedTransport::send(int peer, std::uint64_t tag, const void* data,
                                               std::size_t bytes, MessageMemory where) {
  // Neither sockets nor the kernel's reads reach a GPU's memory.
  if (where == MessageMemory::cuda) return ucx_->send(peer, tag, data, bytes, where);
  const Route& route = routes_[index(peer)];
  return (bytes < SharedTransport::kFrom ? route.brief : route.long_send)
      ->send(peer, tag, data, bytes, where);
}

std::unique_ptr<Request> RoutedTransport::receive(int peer, std::uint64_t tag, void* data,
                                                  std::size_t bytes, MessageMemory where) {
  if (where == MessageMemory::cuda) return ucx_->receive(peer, tag, data, bytes, where);
  const Route& route = routes_[index(peer)];
  return (bytes < SharedTransport::kFrom ? route.brief : route.long_receive)
      ->receive(peer, tag, data, bytes, where);
}

bool RoutedTransport::supports(MessageMemory where) const {
  return ucx_->supports(where);
}

void RoutedTransport::progress() {
  ++rounds_;
  if (sockets_->active()) {
    peers_->throw_if_failed();
    sockets_->progress();
  }
  peers_->progress(!sockets_->active() || peers_->has_messages() || shared_->sending() ||
                   rounds_ % kRoundsPerUcx == 0);
  if (shared_->receiving()) shared_->progress();
}

std::uint64_t RoutedTransport::completed() const {
  return ucx_->completed() + shared_->completed() + sockets_->completed();
}

/// Where a person wants sockets, they carry everything.
bool RoutedTransport::same_machine(int peer) const {
  return peers_->same_machine(peer) && !sockets_->reaches(peer);
}

std::unique_ptr<Exposed> RoutedTransport::expose(std::size_t bytes) {
  return expose_memory(bytes);
}

std::unique_ptr<Attached> RoutedTransport::attach(int peer, const std::string& token) {
  if (!same_machine(peer) || peers_->has_ended(peer)) return nullptr;
  return attach_memory(token);
}

std::uint32_t RoutedTransport::probe_peers(const std::string& question) {
  return peers_->probe_peers(question);
}

std::optional<std::string> RoutedTransport::answer_of(int rank, std::uint32_t since) const {
  return peers_->answer_of(rank, since);
}

void RoutedTransport::on_probe(std::function<std::string(const std::string&)> answer) {
  peers_->on_probe(std::move(answer));
}

void RoutedTransport::give_up(const CommError& why) {
  peers_->give_up(why);
}

int RoutedTransport::rank() const {
  return peers_->rank();
}

int RoutedTransport::size() const {
  return peers_->size();
}

const std::string& RoutedTransport::node_of(int rank) const {
  return peers_->node_of(rank);
}

void RoutedTransport::rest(std::chrono::milliseconds limit) {
  interests_.clear();
  if (sockets_->active()) sockets_->add_interests(interests_);
  peers_->rest(limit, interests_);
}

void RoutedTransport::flush(const std::function<void()>& idle) {
  peers_->flush(idle);
}

void RoutedTransport::expect_departures() {
  peers_->expect_departures();
}

bool RoutedTransport::somebody_left() const {
  return peers_->somebody_left();
}

void RoutedTransport::fail_for_lost_ranks() {
  peers_->fail_for_lost_ranks();
}

void RoutedTransport::close() {
  sockets_->close();
  peers_->close();
}

void RoutedTransport::lost(int rank, const std::string& how) {
  peers_->lost(rank, how);
}

void RoutedTransport::wrong_length(int rank, std::size_t sent, std::size_t expected) {
  peers_->wrong_length(rank, sent, expected);
}

}  // namespace thalweg::engine::comm
