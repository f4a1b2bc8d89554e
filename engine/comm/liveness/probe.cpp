// Packing of questions and answers, and what all answers together say of which rank is the cause.
#include "engine/comm/liveness/probe.h"

#include <algorithm>
#include <cstring>

namespace thalweg::engine::comm {
namespace {

constexpr std::size_t kMaxNamed = 8;   // ranks of a kind in one message
constexpr std::size_t kMaxText = 400;  // of one answer, so that it stays one short message

struct AnswerHead {
  std::uint32_t state;
  std::uint32_t call_bytes;
  std::uint64_t unresponsive_ms;
};

}  // namespace

std::string ProbeQuestion::pack() const {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::optional<ProbeQuestion> ProbeQuestion::unpack(const std::string& bytes) {
  ProbeQuestion question;
  if (bytes.size() != sizeof question.number) return std::nullopt;
  std::memcpy(&question.number, bytes.data(), sizeof question.number);
  return question;
}

std::string ProbeAnswer::pack() const {
  const std::string first = call.substr(0, kMaxText);
  const AnswerHead head{static_cast<std::uint32_t>(state), static_cast<std::uint32_t>(first.size()),
                        static_cast<std::uint64_t>(unresponsive.count())};
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes + first + doing.substr(0, kMaxText);
}

std::optional<ProbeAnswer> ProbeAnswer::unpack(const std::string& bytes) {
  AnswerHead head{};
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.state > static_cast<std::uint32_t>(State::finished) ||
      head.call_bytes > bytes.size() - sizeof head) {
    return std::nullopt;
  }
  return ProbeAnswer{
      static_cast<State>(head.state), std::chrono::milliseconds(head.unresponsive_ms),
      bytes.substr(sizeof head, head.call_bytes), bytes.substr(sizeof head + head.call_bytes)};
}

Verdict::Verdict(const Transport& transport, const WaitedCall& call, std::uint32_t since)
    : transport_(transport), call_(call.text().substr(0, kMaxText)) {
  const auto members = call.members;
  for (int rank = 0; rank < transport.size(); ++rank) {
    if (rank == transport.rank()) continue;
    const bool member = std::find(members.begin(), members.end(), rank) != members.end();
    const auto bytes = transport.answer_of(rank, since);
    if (!bytes) {
      (member ? absent_ : outsiders_).push_back(rank);
      continue;
    }
    if (!member) continue;
    // An answer without words: it has taken its group down already.
    const ProbeAnswer answer = ProbeAnswer::unpack(*bytes).value_or(ProbeAnswer{});
    switch (answer.state) {
      case ProbeAnswer::State::not_started:
        missing_.push_back({rank, answer});
        break;
      case ProbeAnswer::State::under_way:
        if (answer.call != call_) different_.push_back({rank, answer});
        break;
      case ProbeAnswer::State::finished:
        gone_on_.push_back(rank);
        break;
    }
  }
  // Whoever all members have joined does not wait for others.
  if (missing_.empty()) outsiders_.clear();
}

bool Verdict::hopeless(std::chrono::milliseconds stall) const {
  if (!different_.empty() || !absent_.empty()) return true;
  return !missing_.empty() && std::all_of(missing_.begin(), missing_.end(), [&](const Member& m) {
    return m.answer.unresponsive >= stall;
  });
}

int Verdict::failed_rank() const {
  if (!different_.empty()) return different_.front().rank;
  if (!absent_.empty()) return absent_.front();
  return missing_.empty() ? -1 : missing_.front().rank;
}

std::string Verdict::names(const std::vector<int>& ranks) const {
  std::string all;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMaxNamed); ++i) {
    all += (i ? ", rank " : "rank ") + std::to_string(ranks[i]) + " on node " +
           transport_.node_of(ranks[i]);
  }
  if (ranks.size() > kMaxNamed) all += " and " + std::to_string(ranks.size() - kMaxNamed) + " more";
  return all;
}

std::string Verdict::text() const {
  std::string all;
  const auto add = [&](const std::string& sentence) {
    all += (all.empty() ? "" : "; ") + sentence;
  };
  const auto add_each = [&](const std::vector<Member>& members, auto&& words) {
    for (std::size_t i = 0; i < std::min(members.size(), kMaxNamed); ++i) {
      add(names({members[i].rank}) + words(members[i].answer));
    }
    if (members.size() > kMaxNamed) {
      add(std::to_string(members.size() - kMaxNamed) + " more ranks have not joined it");
    }
  };
  add_each(different_, [](const ProbeAnswer& a) { return " calls " + a.call + " instead"; });
  if (!absent_.empty()) {
    add(names(absent_) + (absent_.size() == 1 ? " does not answer" : " do not answer"));
  }
  add_each(missing_, [](const ProbeAnswer& a) {
    return " has not joined it" + (a.doing.empty() ? std::string() : " (" + a.doing + ")");
  });
  if (!outsiders_.empty()) {
    add("outside its group " + names(outsiders_) +
        (outsiders_.size() == 1 ? " does not answer" : " do not answer"));
  }
  if (!all.empty()) return all;
  if (gone_on_.empty()) return "every rank answers and has joined it, but nothing arrives";
  return names(gone_on_) + (gone_on_.size() == 1 ? " has" : " have") +
         " come to its end, but nothing arrives here";
}

}  // namespace thalweg::engine::comm
