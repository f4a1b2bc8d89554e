// Random programs of collectives: blocking and not, many under way, over groups split from groups,
// by any algorithm. All ranks draw the same program from the seed, and each compares its results
// with what it works out alone.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/comm/algorithms/table.h"
#include "engine/comm/group.h"
#include "engine/comm/half.h"

namespace thalweg::engine::comm {

class Fuzz {
 public:
  /// `most`: elements of the longest vector.
  Fuzz(Group& world, unsigned seed, std::size_t most)
      : seed_(seed),
        most_(most),
        plan_(seed),
        mine_(seed * 31U + static_cast<unsigned>(world.rank())) {
    families_.push_back({&world, nullptr, {}});
    for (int r = 0; r < world.size(); ++r) {
      families_[0].members.push_back(r);
    }
  }

  /// Throws std::runtime_error that says what is wrong.
  void run(int steps) {
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

 private:
  /// The group of this rank out of one split; nullptr: none. `members` as the world counts them.
  struct Family {
    Group* group;
    std::unique_ptr<Group> owned;
    std::vector<int> members;
  };
  struct Open {
    std::unique_ptr<Request> request;
    std::vector<std::byte> data, out;
    std::unique_ptr<Memory> memory;
    std::vector<float*> leaves;
    std::string what;
    Type type = Type::f32;
    std::size_t first = 0;         ///< of the elements that have a meaning at the end
    std::vector<double> expected;  ///< of those
    double tolerance = 0;
  };

  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(plan_() % n); }
  std::size_t mine(std::size_t n) { return static_cast<std::size_t>(mine_() % n); }

  /// Small whole numbers: sums of a few of them are exact in every type.
  double value(int member, std::size_t i) const {
    const auto mixed = (i + 1) * 2654435761U + static_cast<std::size_t>(step_) * 40503U +
                       static_cast<std::size_t>(member) * 97U;
    return static_cast<double>(mixed >> 5U & 7U) - 2;
  }

  static void store(std::byte* at, Type type, std::size_t i, double x) {
    const auto put = [&](auto v) { std::memcpy(at + i * sizeof v, &v, sizeof v); };
    switch (type) {
      case Type::f64:
        return put(x);
      case Type::f32:
        return put(static_cast<float>(x));
      case Type::f16:
        return put(to_f16(static_cast<float>(x)));
      case Type::bf16:
        return put(to_bf16(static_cast<float>(x)));
      case Type::i32:
        return put(static_cast<std::int32_t>(x));
      case Type::i64:
        return put(static_cast<std::int64_t>(x));
    }
  }

  static double load(const std::byte* at, Type type, std::size_t i) {
    const auto get = [&](auto v) {
      std::memcpy(&v, at + i * sizeof v, sizeof v);
      return v;
    };
    switch (type) {
      case Type::f64:
        return get(0.0);
      case Type::f32:
        return get(0.0F);
      case Type::f16:
        return to_float(get(F16{}));
      case Type::bf16:
        return to_float(get(Bf16{}));
      case Type::i32:
        return get(std::int32_t{});
      case Type::i64:
        return static_cast<double>(get(std::int64_t{}));
    }
    return 0;
  }

  void split() {
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

  std::size_t draw_count() {
    switch (pick(4)) {
      case 0:
        return pick(9);
      case 1:
        return pick(300);
      case 2:
        return pick(5000);
      default:
        return pick(most_ + 1);
    }
  }

  void one_call() {
    // Everything is drawn before anything depends on the group, so that all ranks draw the same.
    const std::size_t where = pick(families_.size());
    const auto kind = pick(9);
    const auto type = static_cast<Type>(pick(6));
    auto op = static_cast<Op>(pick(4));
    const std::size_t count = draw_count();
    const std::size_t drawn_root = pick(1000);
    const std::size_t drawn_row = pick(1000);
    const bool blocking = pick(3) == 0;
    const bool allocated = pick(4) == 0;
    const bool whole = type == Type::i32 || type == Type::i64;
    if (whole && op == Op::average) op = Op::sum;
    Family& family = families_[where];
    if (!family.group) return;
    Group& group = *family.group;
    const auto ranks = static_cast<std::size_t>(group.size());
    const int root = static_cast<int>(drawn_root % ranks);

    auto open = std::make_unique<Open>();
    open->type = type;
    const std::size_t element = size_of(type);
    const auto place = [&](std::size_t elements) {
      const std::size_t bytes = elements * size_of(open->type);
      if (!allocated) return open->data.resize(bytes);
      open->memory = group.allocate(bytes);
    };
    const auto data = [&] { return data_of(*open); };
    const auto fill = [&](std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) {
        store(data(), open->type, i, value(group.rank(), i));
      }
    };
    const auto reduced = [&](std::size_t i) {
      double result = value(0, i);
      for (int r = 1; r < group.size(); ++r) {
        const double x = value(r, i);
        result = op == Op::min   ? std::min(result, x)
                 : op == Op::max ? std::max(result, x)
                                 : result + x;
      }
      return op == Op::average ? result / static_cast<double>(ranks) : result;
    };
    const auto choose = [&](Collective collective) {
      std::vector<std::string> names{"auto"};
      for (const Row& row : rows_of(collective)) {
        if (group.layout().allows(row.needs)) names.emplace_back(row.name);
      }
      const std::string& name = names[drawn_row % names.size()];
      group.use(collective, name);
      open->what += " by " + name;
    };
    const auto expect = [&](std::size_t first, std::size_t n, auto&& of) {
      open->first = first;
      for (std::size_t i = first; i < first + n; ++i) {
        open->expected.push_back(of(i));
      }
    };
    open->what = std::string(name_of(type)) + " " + name_of(op) + " of " + std::to_string(count) +
                 " from " + std::to_string(root) + " among " + std::to_string(ranks) +
                 (blocking ? ", blocking" : ", started") + (allocated ? ", allocated" : "");
    // Only quotients are rounded.
    const auto rounding = [&](Type t) {
      if (op != Op::average) return 0.0;
      return t == Type::f64 ? 1e-14 : t == Type::f32 ? 1e-6 : t == Type::f16 ? 4e-3 : 4e-2;
    };
    open->tolerance = rounding(type);

    switch (kind) {
      case 0:
      case 1: {
        open->what += ": allreduce";
        choose(Collective::allreduce);
        place(count);
        fill(count);
        expect(0, count, reduced);
        if (blocking) {
          group.allreduce(data(), count, type, op);
        } else {
          open->request = group.start_allreduce(data(), count, type, op, open->what);
        }
        break;
      }
      case 2: {
        open->what += ": reduce_scatter";
        choose(Collective::reduce_scatter);
        place(count);
        fill(count);
        const auto segment = group.segment(count, group.rank());
        expect(segment.begin, segment.count, reduced);
        if (blocking) {
          group.reduce_scatter(data(), count, type, op);
        } else {
          open->request = group.start_reduce_scatter(data(), count, type, op, open->what);
        }
        break;
      }
      case 3: {
        open->what += ": allgather";
        choose(Collective::allgather);
        const std::size_t each = count / ranks;
        place(each * ranks);
        const std::size_t begin = each * static_cast<std::size_t>(group.rank());
        for (std::size_t i = 0; i < each; ++i) {
          store(data(), type, begin + i, value(group.rank(), i));
        }
        expect(0, each * ranks,
               [&](std::size_t i) { return value(static_cast<int>(i / each), i % each); });
        const std::byte* own = data() + begin * element;
        if (blocking) {
          group.allgather(own, data(), each * element);
        } else {
          open->request = group.start_allgather(own, data(), each * element, open->what);
        }
        break;
      }
      case 4: {
        open->what += ": allgather of segments";
        choose(Collective::allgather);
        place(count);
        const auto segment = group.segment(count, group.rank());
        for (std::size_t i = segment.begin; i < segment.begin + segment.count; ++i) {
          store(data(), type, i, value(99, i));
        }
        expect(0, count, [&](std::size_t i) { return value(99, i); });
        if (blocking) {
          group.allgather_segments(data(), count, type);
        } else {
          open->request = group.start_allgather_segments(data(), count, type, open->what);
        }
        break;
      }
      case 5: {
        open->what += ": broadcast";
        choose(Collective::broadcast);
        place(count);
        fill(count);
        expect(0, count, [&](std::size_t i) { return value(root, i); });
        if (blocking) {
          group.broadcast(data(), count * element, root);
        } else {
          open->request = group.start_broadcast(data(), count * element, root, open->what);
        }
        break;
      }
      case 6: {
        open->what += ": all_to_all";
        choose(Collective::all_to_all);
        const std::size_t each = count / ranks;
        place(each * ranks);
        open->out.resize(each * ranks * element);
        for (std::size_t i = 0; i < each * ranks; ++i) {
          store(open->out.data(), type, i, value(group.rank(), i));
        }
        const std::size_t begin = each * static_cast<std::size_t>(group.rank());
        expect(0, each * ranks,
               [&](std::size_t i) { return value(static_cast<int>(i / each), begin + i % each); });
        if (blocking) {
          group.all_to_all(open->out.data(), data(), each * element);
        } else {
          open->request =
              group.start_all_to_all(open->out.data(), data(), each * element, open->what);
        }
        break;
      }
      case 7: {
        open->what += ": sum over shards";
        open->type = Type::f32;
        open->tolerance = 0;
        const int shards = group.size() + static_cast<int>(drawn_root % 5);
        const int first = Group::first_shard(group.rank(), group.size(), shards);
        const int end = Group::first_shard(group.rank() + 1, group.size(), shards);
        place(count * static_cast<std::size_t>(end - first));
        for (int s = first; s < end; ++s) {
          auto* leaf = data() + static_cast<std::size_t>(s - first) * count * sizeof(float);
          open->leaves.push_back(reinterpret_cast<float*>(leaf));
          for (std::size_t i = 0; i < count; ++i) {
            store(leaf, Type::f32, i, value(s, i));
          }
        }
        expect(0, count, [&](std::size_t i) {
          double sum = 0;
          for (int s = 0; s < shards; ++s) {
            sum += value(s, i);
          }
          return sum;
        });
        open->request = group.start_shard_sum(open->leaves, count, shards, open->what);
        if (blocking) open->request->wait();
        break;
      }
      default: {
        open->what += ": allreduce as 16 bits";
        open->type = Type::f32;
        place(count);
        fill(count);
        expect(0, count, reduced);
        auto* floats = reinterpret_cast<float*>(data());
        const Type wire = drawn_root % 2 ? Type::f16 : Type::bf16;
        open->tolerance = rounding(wire);
        open->request = group.start_allreduce_as(wire, floats, count, op, open->what);
        if (blocking) open->request->wait();
        break;
      }
    }
    if (open->request && !blocking) {
      open_.push_back(std::move(open));
    } else {
      check(*open);
    }
  }

  static std::byte* data_of(Open& open) {
    return open.memory ? open.memory->data() : open.data.data();
  }

  void finish_one() {
    const std::size_t which = mine(open_.size());
    if (mine(2)) {
      open_[which]->request->wait();
    } else if (!open_[which]->request->test()) {
      return;
    }
    check(*open_[which]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  void check(Open& open) const {
    for (std::size_t k = 0; k < open.expected.size(); ++k) {
      const double found = load(data_of(open), open.type, open.first + k);
      if (std::abs(found - open.expected[k]) <= open.tolerance) continue;
      throw std::runtime_error("seed " + std::to_string(seed_) + ", step " + std::to_string(step_) +
                               ": " + open.what + ": element " + std::to_string(open.first + k) +
                               " is " + std::to_string(found) + " instead of " +
                               std::to_string(open.expected[k]));
    }
  }

  unsigned seed_;
  std::size_t most_;
  std::mt19937 plan_;  ///< the same on all ranks
  std::mt19937 mine_;
  int step_ = 0;
  std::size_t limit_ = 6;  ///< of operations under way
  std::vector<Family> families_;
  std::vector<std::unique_ptr<Open>> open_;
};

}  // namespace thalweg::engine::comm
