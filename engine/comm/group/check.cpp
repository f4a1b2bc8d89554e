#include "engine/comm/group/check.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

namespace thalweg::engine::comm {
namespace {

constexpr std::size_t kMaxNamed = 4;  // ranks in one message

/// What a rank calls. Of one length, so that no two cards miss each other.
struct Card {
  std::uint64_t hash = 0;  ///< of the whole text
  char text[248] = {};     ///< as far as it fits

  explicit Card(const std::string& whole = {}) : hash(1469598103934665603U) {  // FNV-1a
    for (const char c : whole) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    }
    std::memcpy(text, whole.data(), std::min(whole.size(), sizeof text - 1));
  }
};

std::string name(const Transport& transport, int rank) {
  return "rank " + std::to_string(rank) + " on node " + transport.node_of(rank);
}

/// The rank whose card most ranks have; of the lowest rank where several are as common.
std::size_t most_common(const std::vector<Card>& cards) {
  std::map<std::uint64_t, std::size_t> votes;
  for (const Card& card : cards) {
    ++votes[card.hash];
  }
  const auto better = [&](const Card& a, const Card& b) { return votes[a.hash] < votes[b.hash]; };
  return static_cast<std::size_t>(std::max_element(cards.begin(), cards.end(), better) -
                                  cards.begin());
}

/// Throws once where the cards differ.
class Agreement : public Awaitable {
 public:
  Agreement(const Link& link, const std::vector<Card>& cards) : link_(link), cards_(cards) {}
  bool ready() override {
    const std::size_t usual = most_common(cards_);
    std::vector<std::size_t> others;
    for (std::size_t r = 0; r < cards_.size(); ++r) {
      if (cards_[r].hash != cards_[usual].hash) others.push_back(r);
    }
    if (!others.empty()) refuse(others, usual);
    return true;
  }

 private:
  [[noreturn]] void refuse(const std::vector<std::size_t>& others, std::size_t usual) const {
    Transport& transport = link_.transport();
    const auto world = [&](std::size_t r) { return link_.world_rank(static_cast<int>(r)); };
    std::string message;
    for (std::size_t i = 0; i < std::min(others.size(), kMaxNamed); ++i) {
      message +=
          (i ? ", " : "") + name(transport, world(others[i])) + " calls " + cards_[others[i]].text;
    }
    if (others.size() > kMaxNamed) {
      message += ", " + std::to_string(others.size() - kMaxNamed) + " more call something else";
    }
    message += cards_.size() == 2 ? " where " + name(transport, world(usual)) + " calls "
                                  : std::string(" where the others call ");
    message += cards_[usual].text;
    const int failed_rank = world(others.front());
    const CommError error(message, failed_rank, transport.node_of(failed_rank));
    transport.give_up(error);
    throw error;
  }

  const Link& link_;
  const std::vector<Card>& cards_;
};

}  // namespace

Task checked(const Operation& operation, Task body) {
  const Link link = operation.link.phase(Link::kCheckPhase);
  const auto me = static_cast<std::size_t>(link.rank());
  std::vector<Card> cards(static_cast<std::size_t>(link.size()));
  cards[me] = Card(operation.text());
  Messages messages(link);
  for (int step = 1; step < link.size(); ++step) {
    const int other = (link.rank() + step) % link.size();
    messages.receive(other, &cards[static_cast<std::size_t>(other)], sizeof(Card));
  }
  for (int step = 1; step < link.size(); ++step) {
    messages.send((link.rank() + step) % link.size(), &cards[me], sizeof(Card));
  }
  co_await messages;
  Agreement agreement(link, cards);
  co_await agreement;
  co_await body;
}

}  // namespace thalweg::engine::comm
