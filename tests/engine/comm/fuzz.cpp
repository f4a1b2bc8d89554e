#include "tests/engine/comm/fuzz.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace thalweg::engine::comm {

Fuzz::Fuzz(Group& world, unsigned seed, std::size_t most)
    : seed_(seed),
      max_(most),
      plan_(seed),
      mine_(seed * 31U + static_cast<unsigned>(world.rank())) {
  families_.push_back({&world, nullptr, {}});
  for (int r = 0; r < world.size(); ++r) {
    families_[0].members.push_back(r);
  }
}

void Fuzz::run(int steps) {
  for (step_ = 0; step_ < steps; ++step_) {
    if (families_.size() < 6 && pick(12) == 0) split();
    one_call();
    while (open_.size() > limit_ || (!open_.empty() && mine(4) == 0)) {
      finish_one();
    }
    if (pick(20) == 0) limit_ = pick(12);
  }
  while (!open_.empty()) {
    finish_one();
  }
}

void Fuzz::split() {
  const std::size_t parent_at = pick(families_.size());
  const int colors = 1 + static_cast<int>(pick(3));
  const unsigned salt = static_cast<unsigned>(plan_());
  Family& parent = families_[parent_at];
  Family child{nullptr, nullptr, {}};
  if (parent.group) {
    const auto color = [&](int world_rank) {
      const int c = static_cast<int>((static_cast<unsigned>(world_rank) * 7919U ^ salt) % 5U);
      return c == 4 ? -1 : c % colors;
    };
    const int me = parent.members[static_cast<std::size_t>(parent.group->rank())];
    child.owned = parent.group->split(color(me), -me);  // the highest rank comes first
    child.group = child.owned.get();
    for (auto at = parent.members.rbegin(); at != parent.members.rend(); ++at) {
      if (color(*at) == color(me) && color(me) >= 0) child.members.push_back(*at);
    }
    std::sort(child.members.rbegin(), child.members.rend());
    if (child.group && child.group->size() != static_cast<int>(child.members.size())) {
      throw std::runtime_error("a group of the wrong size");
    }
  }
  families_.push_back(std::move(child));
}

std::size_t Fuzz::draw_count() {
  switch (pick(4)) {
    case 0:
      return pick(9);
    case 1:
      return pick(300);
    case 2:
      return pick(5000);
    default:
      return pick(max_ + 1);
  }
}

void Fuzz::one_call() {
  // Everything is drawn before anything depends on the group, so that all ranks draw the same.
  const Family& family = families_[pick(families_.size())];
  FuzzDraw draw;
  draw.seed = seed_;
  draw.step = step_;
  draw.kind = pick(FuzzDraw::kinds);
  draw.type = static_cast<Type>(pick(6));
  draw.op = static_cast<Op>(pick(4));
  draw.count = draw_count();
  draw.root = pick(1000);
  draw.row = pick(1000);
  draw.blocking = pick(3) == 0;
  draw.allocated = pick(4) == 0;
  const bool whole = draw.type == Type::i32 || draw.type == Type::i64;
  if (whole && draw.op == Op::average) draw.op = Op::sum;
  if (!family.group) return;
  auto call = std::make_unique<FuzzCall>(*family.group, draw);
  if (call->request()) {
    open_.push_back(std::move(call));
  } else {
    call->check();
  }
}

void Fuzz::finish_one() {
  const std::size_t which = mine(open_.size());
  if (mine(2)) {
    open_[which]->request()->wait();
  } else if (!open_[which]->request()->test()) {
    return;
  }
  open_[which]->check();
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
}

}  // namespace thalweg::engine::comm
