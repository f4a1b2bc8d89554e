// A message is handed to the transport below when its last byte would have arrived over the slow
// link. Receivers need not know: whoever sends keeps the time.
#include "engine/comm/transport/limited.h"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>

namespace thalweg::engine::comm {
namespace {

using Clock = std::chrono::steady_clock;

Clock::duration seconds(double s) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

/// A message on its slow way.
struct Late {
  Clock::time_point due;
  int peer;
  std::uint64_t tag;
  const void* data;
  std::size_t bytes;
  bool sent = false;
  std::unique_ptr<Request> below;  ///< once sent; null: done at once
};

class Limited final : public Transport {
 public:
  Limited(std::shared_ptr<Transport> under, std::vector<LinkLimit> links)
      : under_(std::move(under)), links_(std::move(links)) {
    if (links_.size() != static_cast<std::size_t>(under_->size()))
      throw std::invalid_argument(std::to_string(links_.size()) + " links for " +
                                  std::to_string(under_->size()) + " ranks");
  }

  using Transport::receive;
  using Transport::send;
  std::unique_ptr<Request> send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                                MessageMemory where) override;
  std::unique_ptr<Request> receive(int peer, std::uint64_t tag, void* data, std::size_t bytes,
                                   MessageMemory where) override {
    return under_->receive(peer, tag, data, bytes, where);
  }
  void progress() override {
    send_what_is_due();
    under_->progress();
  }
  std::uint64_t completed() const override { return under_->completed() + sent_; }
  void rest(std::chrono::milliseconds limit) override {
    if (waiting_.empty()) return under_->rest(limit);
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(next_due() - Clock::now());
    if (left.count() > 0) under_->rest(std::min(limit, left));
  }

  int rank() const override { return under_->rank(); }
  int size() const override { return under_->size(); }
  const std::string& node_of(int rank) const override { return under_->node_of(rank); }
  std::string route_to(int peer) const override {
    const std::string route = under_->route_to(peer);
    return route.empty() ? route : route + ", limited";
  }

  // Ranks that reach each other's memory would not use the link.
  bool same_machine(int) const override { return false; }
  std::unique_ptr<Exposed> expose(std::size_t) override { return nullptr; }
  std::unique_ptr<Attached> attach(int, const std::string&) override { return nullptr; }

  std::uint32_t probe_peers(const std::string& question) override {
    return under_->probe_peers(question);
  }
  std::optional<std::string> answer_of(int rank, std::uint32_t since) const override {
    return under_->answer_of(rank, since);
  }
  void on_probe(std::function<std::string(const std::string&)> answer) override {
    under_->on_probe(std::move(answer));
  }
  void give_up(const CommError& why) override { under_->give_up(why); }

  void send_what_is_due();

 private:
  Clock::time_point next_due() const {
    return (*std::min_element(waiting_.begin(), waiting_.end(),
                              [](const auto& a, const auto& b) { return a->due < b->due; }))
        ->due;
  }

  std::shared_ptr<Transport> under_;
  std::vector<LinkLimit> links_;
  Clock::time_point free_ = Clock::now();  ///< this rank's link
  std::deque<std::shared_ptr<Late>> waiting_;
  std::uint64_t sent_ = 0;
};

class LateRequest final : public Request {
 public:
  LateRequest(Limited& transport, std::shared_ptr<Late> message)
      : transport_(transport), message_(std::move(message)) {}
  bool test() override {
    if (!message_->sent) transport_.progress();
    if (!message_->sent) return false;
    return message_->below == nullptr || message_->below->test();
  }
  void wait() override {
    while (!message_->sent) {
      transport_.progress();
      transport_.rest(std::chrono::milliseconds(1));
    }
    if (message_->below != nullptr) message_->below->wait();
  }

 private:
  Limited& transport_;
  std::shared_ptr<Late> message_;
};

std::unique_ptr<Request> Limited::send(int peer, std::uint64_t tag, const void* data,
                                       std::size_t bytes, MessageMemory where) {
  if (where != MessageMemory::host)
    throw std::logic_error("limited links carry messages in the host's memory only");
  const LinkLimit& mine = links_[static_cast<std::size_t>(rank())];
  const LinkLimit& theirs = links_[static_cast<std::size_t>(peer)];
  if (!mine.limits() && !theirs.limits()) return under_->send(peer, tag, data, bytes, where);
  const auto takes = [&](const LinkLimit& link) {
    return link.mib_per_s > 0 ? static_cast<double>(bytes) / (link.mib_per_s * (1 << 20)) : 0.0;
  };
  free_ = std::max(free_, Clock::now()) + seconds(std::max(takes(mine), takes(theirs)));
  auto message = std::make_shared<Late>(
      Late{free_ + seconds(1e-6 * std::max(mine.latency_us, theirs.latency_us)), peer, tag, data,
           bytes, false, nullptr});
  waiting_.push_back(message);
  return std::make_unique<LateRequest>(*this, std::move(message));
}

/// Those to one peer are due in the order in which they were sent.
void Limited::send_what_is_due() {
  const Clock::time_point now = Clock::now();
  std::erase_if(waiting_, [&](const std::shared_ptr<Late>& message) {
    if (message->due > now) return false;
    message->below = under_->send(message->peer, message->tag, message->data, message->bytes,
                                  MessageMemory::host);
    message->sent = true;
    ++sent_;
    return true;
  });
}

}  // namespace

std::shared_ptr<Transport> limited_transport(std::shared_ptr<Transport> under,
                                             std::vector<LinkLimit> links) {
  return std::make_shared<Limited>(std::move(under), std::move(links));
}

}  // namespace thalweg::engine::comm
