// Control messages are UCX's active messages: they need no posted receive, so a rank hears of
// probes and losses whatever it waits for.
#include "engine/comm/transport/ucx/peers.h"

#include <cstring>

#include "engine/comm/transport/leftovers.h"

namespace thalweg::engine::comm {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr unsigned kControl = 0;  ///< id of our active messages
// How long a loss is doubted: the lost rank's last words may still be on their way.
constexpr milliseconds kDoubt{50};
// How long the last words may take; nobody hangs because of a peer that does not listen.
constexpr milliseconds kLastWords{200};
constexpr milliseconds kNap{100};
// UCX makes a connection complete at the first message that is not very short, and needs the peer's
// answer for that: last words to a peer that is stopped would never get there.
constexpr std::size_t kLongHello = 1024;
// A caller that only polls never sleeps in rest(); look after the processes now and then.
constexpr unsigned kRoundsPerLook = 4096;

struct Header {
  std::uint32_t kind;
  std::uint32_t number;
  std::int32_t from;
  std::int32_t failed_rank;
};

}  // namespace

/// What an endpoint's error callback is called with.
struct Peers::Argument {
  Peers* peers;
  int rank;
};

/// A control message on its way; deletes itself when it has left.
struct Peers::Outgoing {
  Peers& peers;
  std::string bytes;

  static void sent(void* request, ucs_status_t, void* self) {
    ucp_request_free(request);
    auto* outgoing = static_cast<Outgoing*>(self);
    --outgoing->peers.outgoing_;
    delete outgoing;
  }
};

Peers::Peers() : worker_(std::make_shared<UcxWorker>()) {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kControl;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = on_message;
  handler.arg = this;
  check(ucp_worker_set_am_recv_handler(worker_->get(), &handler), "ucp_worker_set_am_recv_handler");
  watch_.add_events(worker_->event_fd());
}

Peers::~Peers() {
  close();
}

void Peers::connect(int rank, std::vector<PeerInfo> peers,
                    const std::function<std::uint32_t(int)>& hello, milliseconds timeout) {
  rank_ = rank;
  for (auto& info : peers) {
    peers_.emplace_back().info = std::move(info);
  }
  missing_hellos_ = size() - 1;
  for (int r = 0; r < size(); ++r) {
    if (r == rank_) continue;
    auto& peer = peers_[index(r)];
    arguments_.push_back(std::make_unique<Argument>(Argument{this, r}));
    peer.endpoint = UcxEndpoint(*worker_, peer.info.address, on_error, arguments_.back().get());
    if (peer.info.machine == peers_[index(rank_)].info.machine) {
      watch_.add_process(r, peer.info.pid);
    }
    say(r, kHello, hello(r), -1, std::string(kLongHello, ' '));
  }
  const auto end = Clock::now() + timeout;
  while (missing_hellos_ > 0) {
    progress();
    rest(kNap);
    if (missing_hellos_ > 0 && Clock::now() > end) miss_hellos();
  }
}

void Peers::miss_hellos() {
  std::string names;
  int first = -1;
  for (int r = 0; r < size(); ++r) {
    if (r == rank_ || peers_[index(r)].greeted) continue;
    if (first < 0) first = r;
    names += (names.empty() ? "rank " : ", rank ") + std::to_string(r) + " on node " + node_of(r);
  }
  fail(CommError("no connection to " + names, first, node_of(first)));
}

void Peers::note_hello(int from, std::uint32_t number) {
  peers_[index(from)].hello = number;
  peers_[index(from)].greeted = true;
  --missing_hellos_;
}

void Peers::on_error(void* argument, ucp_ep_h, ucs_status_t status) {
  const auto* about = static_cast<Argument*>(argument);
  auto& peer = about->peers->peers_[index(about->rank)];
  if (!peer.lost.empty()) return;
  peer.lost = std::string("its connection is lost (") + ucs_status_string(status) + ")";
  about->peers->lost_.push_back(about->rank);
}

void Peers::note_ended(const std::vector<int>& ranks) {
  for (const int rank : ranks) {
    auto& peer = peers_[index(rank)];
    if (peer.lost.empty()) lost_.push_back(rank);
    peer.lost = "its process " + std::to_string(peer.info.pid) + " has ended";
  }
}

ucs_status_t Peers::on_message(void* self, const void*, std::size_t, void* data, std::size_t bytes,
                               const ucp_am_recv_param_t*) {
  static_cast<Peers*>(self)->note_message(data, bytes);
  return UCS_OK;
}

void Peers::note_message(const void* data, std::size_t bytes) {
  Header header{};
  if (bytes < sizeof header) return;
  std::memcpy(&header, data, sizeof header);
  if (header.from < 0 || header.from >= size()) return;
  const std::string text(static_cast<const char*>(data) + sizeof header, bytes - sizeof header);
  switch (header.kind) {
    case kHello:
      note_hello(header.from, header.number);
      break;
    case kTaken:
      if (on_taken_) on_taken_(header.number);
      break;
    case kCall:
      unanswered_.push_back({header.from, header.number, text});
      break;
    case kHere:
      peers_[index(header.from)].answered = header.number;
      peers_[index(header.from)].answer = text;
      break;
    case kGiveUp: {
      if (reported_) break;
      const bool known = header.failed_rank >= 0 && header.failed_rank < size();
      reported_ = CommError(text, header.failed_rank, known ? node_of(header.failed_rank) : "");
      break;
    }
    default:
      break;
  }
}

void Peers::say(int to, Kind kind, std::uint32_t number, int failed_rank, const std::string& text) {
  if (!peers_[index(to)].lost.empty()) return;
  const Header header{kind, number, rank_, failed_rank};
  auto* outgoing = new Outgoing{*this, std::string(sizeof header, '\0') + text};
  std::memcpy(outgoing->bytes.data(), &header, sizeof header);
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  params.cb.send = Outgoing::sent;
  params.user_data = outgoing;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  void* request = ucp_am_send_nbx(endpoint(to), kControl, nullptr, 0, outgoing->bytes.data(),
                                  outgoing->bytes.size(), &params);
  if (UCS_PTR_IS_PTR(request)) {
    ++outgoing_;
  } else {
    delete outgoing;  // gone already, or the peer is: its error callback tells
  }
}

void Peers::answer_calls() {
  for (const auto& call : unanswered_) {
    say(call.from, kHere, call.number, -1, answer_ ? answer_(call.question) : std::string());
  }
  unanswered_.clear();
}

void Peers::progress(bool poll) {
  throw_if_failed();
  if (poll) ucp_worker_progress(worker_->get());
  if (++rounds_ % kRoundsPerLook == 0) note_ended(watch_.wait(milliseconds(0)));
  if (!unanswered_.empty()) answer_calls();
  if (reported_ || (!lost_.empty() && !departing_)) settle();
}

void Peers::rest(milliseconds limit, const std::vector<pollfd>& others) {
  if (!worker_->arm()) {
    ucp_worker_progress(worker_->get());
    return;
  }
  if (!others.empty()) {
    interests_.assign(1, {watch_.fd(), POLLIN, 0});
    interests_.insert(interests_.end(), others.begin(), others.end());
    ::poll(interests_.data(), interests_.size(), static_cast<int>(limit.count()));
    limit = milliseconds(0);
  }
  note_ended(watch_.wait(limit));
}

void Peers::await_wake(milliseconds limit) {
  watch_.wait(limit);
}

bool Peers::has_ended(int rank) {
  note_ended(watch_.wait(milliseconds(0)));
  return !peers_[index(rank)].lost.empty();
}

void Peers::settle() {
  const auto end = Clock::now() + kDoubt;
  while (!reported_ && Clock::now() < end) {
    ucp_worker_progress(worker_->get());
    note_ended(watch_.wait(milliseconds(1)));
  }
  if (reported_) fail(*reported_);
  const int failed_rank = lost_.front();
  const auto& peer = peers_[index(failed_rank)];
  fail(CommError("rank " + std::to_string(failed_rank) + " on node " + peer.info.node +
                     " is gone: " + peer.lost,
                 failed_rank, peer.info.node));
}

void Peers::lost(int rank, const std::string& how) {
  auto& peer = peers_[index(rank)];
  if (peer.lost.empty()) {
    peer.lost = how;
    lost_.push_back(rank);
  }
  settle();
}

void Peers::wrong_length(int rank, std::size_t sent, std::size_t expected) {
  const CommError error = comm::wrong_length(rank, sent, rank_, expected, node_of(rank));
  give_up(error);
  throw error;
}

void Peers::fail(const CommError& error) {
  give_up(error);
  throw error;
}

void Peers::give_up(const CommError& why) {
  if (failure_) return;
  failure_ = why;
  for (int r = 0; r < size(); ++r) {
    if (r != rank_) say(r, kGiveUp, 0, why.rank(), why.what());
  }
  const auto end = Clock::now() + kLastWords;
  while (outgoing_ > 0 && Clock::now() < end) {
    ucp_worker_progress(worker_->get());
  }
}

std::uint32_t Peers::probe_peers(const std::string& question) {
  ++probes_;
  for (int r = 0; r < size(); ++r) {
    if (r != rank_) say(r, kCall, probes_, -1, question);
  }
  return probes_;
}

std::optional<std::string> Peers::answer_of(int rank, std::uint32_t since) const {
  const auto& peer = peers_[index(rank)];
  if (peer.answered == 0 || peer.answered < since) return std::nullopt;
  return peer.answer;
}

void Peers::flush(const std::function<void()>& idle) {
  ucp_request_param_t params{};
  void* request = ucp_worker_flush_nbx(worker_->get(), &params);
  if (!UCS_PTR_IS_PTR(request)) return;
  while (ucp_request_check_status(request) == UCS_INPROGRESS) {
    idle();
  }
  ucp_request_free(request);
}

void Peers::close() {
  if (failure_) {
    for (auto& peer : peers_) {
      peer.endpoint.release();
    }
    static auto& never_destroyed = *new std::vector<std::shared_ptr<UcxWorker>>;
    never_destroyed.push_back(std::move(worker_));
    failure_.reset();
  }
  for (auto& peer : peers_) {
    peer.endpoint = UcxEndpoint();
  }
  peers_.clear();
  remove_abandoned_memory();  // of a peer that was killed
}

}  // namespace thalweg::engine::comm
