// One collective of a random program: what is called, and what must come of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/group.h"

namespace thalweg::engine::comm {

/// What all ranks draw alike.
struct FuzzDraw {
  static constexpr std::size_t kinds = 9;

  unsigned seed = 0;  ///< of the program
  int step = 0;
  std::size_t kind = 0;
  Type type = Type::f32;
  Op op = Op::sum;
  std::size_t count = 0;
  std::size_t root = 0, row = 0;  ///< any number: taken modulo what there is
  bool blocking = false, allocated = false;
};

/// Stays where it is while its operation is under way.
class FuzzCall {
 public:
  /// Calls the collective, or starts it.
  FuzzCall(Group& group, const FuzzDraw& draw);
  FuzzCall(const FuzzCall&) = delete;
  FuzzCall& operator=(const FuzzCall&) = delete;

  /// nullptr: it is over.
  Request* request() const { return draw_.blocking ? nullptr : request_.get(); }
  /// After the end. Throws std::runtime_error that says what is wrong.
  void check() const;

 private:
  void call();
  void allreduce();
  void reduce_scatter();
  void allgather();
  void allgather_segments();
  void broadcast();
  void all_to_all();
  void shard_sum();
  void allreduce_as();

  /// By one of the algorithms that fit.
  void choose(const char* what, Collective collective);
  void place(std::size_t elements);
  void fill(std::size_t elements);
  /// Of the elements that have a meaning at the end.
  void expect(std::size_t first, std::size_t count, const std::function<double(std::size_t)>& of);
  double value(int member, std::size_t i) const;
  double reduced(std::size_t i) const;
  double rounding(Type type) const;
  std::byte* data() { return memory_ ? memory_->data() : data_.data(); }
  const std::byte* data() const { return memory_ ? memory_->data() : data_.data(); }

  Group& group_;
  const FuzzDraw draw_;
  const std::size_t ranks_;
  const int root_;
  std::unique_ptr<Request> request_;
  std::vector<std::byte> data_, out_;
  std::unique_ptr<Memory> memory_;
  std::vector<float*> leaves_;
  std::string what_;
  Type type_;
  std::size_t first_ = 0;
  std::vector<double> expected_;
  double tolerance_ = 0;
};

}  // namespace thalweg::engine::comm
