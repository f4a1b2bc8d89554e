#include "engine/comm/algorithms/shared/small_call.h"

#include <cstring>

#include "engine/comm/algorithms/shared/sums.h"

namespace thalweg::engine::comm {
namespace {

/// What a rank brings, at most.
std::size_t brought(const Board& board, Collective collective, const Arguments& a) {
  if (collective == Collective::barrier) return 0;
  if (collective != Collective::allgather) return a.bytes();
  const auto ranks = static_cast<std::size_t>(board.size());
  return (a.count + ranks - 1) / ranks * a.element;
}

}  // namespace

bool SmallCall::fits(const Board& board, Collective collective, const Arguments& a) {
  return brought(board, collective, a) <= board.small_limit(collective);
}

SmallCall::SmallCall(Board& board, Collective collective, const Arguments& a)
    : board_(board),
      collective_(collective),
      a_(a),
      brings_(brought(board, collective, a)),
      inline_(brings_ <= Board::kInline),
      ticket_(board.open(Signature::of(collective, a),
                         inline_ ? Board::Uses::nothing : Board::Uses::eager)) {}

bool SmallCall::advance() {
  switch (state_) {
    case State::to_post:
      if (!board_.may_post(ticket_)) return false;
      post();
      state_ = State::to_arrive;
      [[fallthrough]];
    case State::to_arrive:
      if (!arrived()) return false;
      take();
      board_.close(ticket_);
      state_ = State::done;
      [[fallthrough]];
    case State::done:
      return true;
  }
  return true;
}

void SmallCall::post() {
  const auto* data = static_cast<const std::byte*>(a_.data);
  std::size_t bytes = brings_;
  switch (collective_) {
    case Collective::allgather: {
      const std::size_t begin = first_of(a_.count, board_.size(), board_.rank());
      bytes = (first_of(a_.count, board_.size(), board_.rank() + 1) - begin) * a_.element;
      data += begin * a_.element;
      break;
    }
    case Collective::broadcast:
      if (board_.rank() != a_.root) bytes = 0;
      break;
    case Collective::all_to_all:
      data = static_cast<const std::byte*>(a_.in);
      break;
    default:
      break;
  }
  if (inline_) return board_.post(ticket_, data, bytes);
  if (bytes > 0) std::memcpy(board_.eager(ticket_, board_.rank()), data, bytes);
  board_.post(ticket_, nullptr, 0);
}

bool SmallCall::arrived() {
  if (collective_ == Collective::broadcast) {
    return board_.rank() == a_.root || board_.posted(ticket_, a_.root);
  }
  for (; next_ < board_.size(); ++next_) {
    if (next_ != board_.rank() && !board_.posted(ticket_, next_)) return false;
  }
  return true;
}

const std::byte* SmallCall::from(int rank) const {
  return inline_ ? static_cast<const std::byte*>(board_.inlined(ticket_, rank))
                 : board_.eager(ticket_, rank);
}

void SmallCall::reduce(std::size_t begin, std::size_t count) {
  std::byte* mine = static_cast<std::byte*>(a_.data) + begin * a_.element;
  const std::span<const void*> sources = board_.pointers();
  for (int r = 0; r < board_.size(); ++r) {
    sources[static_cast<std::size_t>(r)] = r == board_.rank() ? mine : from(r) + begin * a_.element;
  }
  void* const into[] = {mine};
  reduce_all(into, sources, count, {a_.type, a_.op});
}

void SmallCall::take() {
  const int ranks = board_.size(), me = board_.rank();
  auto* data = static_cast<std::byte*>(a_.data);
  switch (collective_) {
    case Collective::allreduce:
      return reduce(0, a_.count);
    case Collective::reduce_scatter: {
      const std::size_t begin = first_of(a_.count, ranks, me);
      return reduce(begin, first_of(a_.count, ranks, me + 1) - begin);
    }
    case Collective::allgather:
      for (int r = 0; r < ranks; ++r) {
        const std::size_t begin = first_of(a_.count, ranks, r);
        const std::size_t bytes = (first_of(a_.count, ranks, r + 1) - begin) * a_.element;
        if (r != me && bytes > 0) std::memcpy(data + begin * a_.element, from(r), bytes);
      }
      return;
    case Collective::broadcast:
      if (me != a_.root && brings_ > 0) std::memcpy(data, from(a_.root), brings_);
      return;
    case Collective::all_to_all:
      for (int r = 0; a_.element > 0 && r < ranks; ++r) {
        const auto* block = r == me ? static_cast<const std::byte*>(a_.in) : from(r);
        std::memcpy(data + static_cast<std::size_t>(r) * a_.element,
                    block + static_cast<std::size_t>(me) * a_.element, a_.element);
      }
      return;
    case Collective::barrier:
      return;
  }
}

}  // namespace thalweg::engine::comm
