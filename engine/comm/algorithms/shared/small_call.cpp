#include "engine/comm/algorithms/shared/small_call.h"

#include <cstring>

#include "engine/comm/algorithms/shared/sums.h"

namespace thalweg::engine::comm {
namespace {

/// What a rank brings, at most.
std::size_t brought(const ControlBlock& control_block, Collective collective, const Arguments& a) {
  if (collective == Collective::barrier) return 0;
  if (collective != Collective::allgather) return a.bytes();
  const auto ranks = static_cast<std::size_t>(control_block.size());
  return (a.count + ranks - 1) / ranks * a.element;
}

}  // namespace

bool SmallCall::fits(const ControlBlock& control_block, Collective collective, const Arguments& a) {
  return brought(control_block, collective, a) <= control_block.small_limit(collective);
}

SmallCall::SmallCall(ControlBlock& control_block, Collective collective, const Arguments& a)
    : control_block_(control_block),
      collective_(collective),
      a_(a),
      brings_(brought(control_block, collective, a)),
      inline_(brings_ <= ControlBlock::kInline),
      sequence_(
          control_block.open(Signature::of(collective, a),
                             inline_ ? ControlBlock::Uses::nothing : ControlBlock::Uses::eager)) {}

bool SmallCall::advance() {
  switch (state_) {
    case State::to_post:
      if (!control_block_.may_post(sequence_)) return false;
      post();
      state_ = State::to_arrive;
      [[fallthrough]];
    case State::to_arrive:
      if (!arrived()) return false;
      take();
      control_block_.close(sequence_);
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
      const std::size_t begin = first_of(a_.count, control_block_.size(), control_block_.rank());
      bytes = (first_of(a_.count, control_block_.size(), control_block_.rank() + 1) - begin) *
              a_.element;
      data += begin * a_.element;
      break;
    }
    case Collective::broadcast:
      if (control_block_.rank() != a_.root) bytes = 0;
      break;
    case Collective::all_to_all:
      data = static_cast<const std::byte*>(a_.in);
      break;
    default:
      break;
  }
  if (inline_) return control_block_.post(sequence_, data, bytes);
  if (bytes > 0) std::memcpy(control_block_.eager(sequence_, control_block_.rank()), data, bytes);
  control_block_.post(sequence_, nullptr, 0);
}

bool SmallCall::arrived() {
  if (collective_ == Collective::broadcast) {
    return control_block_.rank() == a_.root || control_block_.posted(sequence_, a_.root);
  }
  for (; next_ < control_block_.size(); ++next_) {
    if (next_ != control_block_.rank() && !control_block_.posted(sequence_, next_)) return false;
  }
  return true;
}

const std::byte* SmallCall::from(int rank) const {
  return inline_ ? static_cast<const std::byte*>(control_block_.inlined(sequence_, rank))
                 : control_block_.eager(sequence_, rank);
}

void SmallCall::reduce(std::size_t begin, std::size_t count) {
  std::byte* mine = static_cast<std::byte*>(a_.data) + begin * a_.element;
  const std::span<const void*> sources = control_block_.pointers();
  for (int r = 0; r < control_block_.size(); ++r) {
    sources[static_cast<std::size_t>(r)] =
        r == control_block_.rank() ? mine : from(r) + begin * a_.element;
  }
  void* const into[] = {mine};
  reduce_all(into, sources, count, {a_.type, a_.op});
}

void SmallCall::take() {
  const int ranks = control_block_.size(), me = control_block_.rank();
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
