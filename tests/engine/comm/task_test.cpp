// Coroutines that wait, nest, run side by side and fail.
#include "engine/comm/algorithms/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

namespace thalweg::engine::comm {
namespace {

struct Alive {
  explicit Alive(int& n) : count(n) { ++count; }
  ~Alive() { --count; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
  int& count;
};

class Gate : public Awaitable {
 public:
  explicit Gate(const int& level, int height) : level_(level), height_(height) {}
  bool ready() override {
    if (level_ < 0) throw std::runtime_error("the gate broke");
    return level_ >= height_;
  }

 private:
  const int& level_;
  int height_;
};

Task climb(const int& level, int height, int& reached, int& alive) {
  const Alive here(alive);
  for (int h = 1; h <= height; ++h) {
    co_await Gate(level, h);
    reached = h;
  }
}

Task twice(const int& level, int& reached, int& alive) {
  const Alive here(alive);
  co_await climb(level, 2, reached, alive);
  co_await climb(level, 4, reached, alive);
}

TEST(TaskTest, NothingRunsBeforeTheFirstLook) {
  int level = 9, reached = 0, alive = 0;
  { Strand strand(climb(level, 1, reached, alive)); }
  EXPECT_EQ(0, reached);
  EXPECT_EQ(0, alive);
}

TEST(TaskTest, StopsAtEveryGateAndGoesOn) {
  int level = 0, reached = 0, alive = 0;
  Strand strand(twice(level, reached, alive));
  EXPECT_FALSE(strand.advance());
  EXPECT_EQ(2, alive);
  level = 1;
  EXPECT_FALSE(strand.advance());
  EXPECT_EQ(1, reached);
  level = 3;  // the inner task ends, and the second begins at once
  EXPECT_FALSE(strand.advance());
  EXPECT_EQ(3, reached);
  level = 4;
  EXPECT_TRUE(strand.advance());
  EXPECT_TRUE(strand.done());
  EXPECT_EQ(4, reached);
  EXPECT_EQ(0, alive);
}

TEST(TaskTest, AnUnfinishedTaskIsTakenDownWithAllThatItAwaits) {
  int level = 0, reached = 0, alive = 0;
  {
    Strand strand(twice(level, reached, alive));
    EXPECT_FALSE(strand.advance());
    EXPECT_EQ(2, alive);
  }
  EXPECT_EQ(0, alive);
}

TEST(TaskTest, AFailedWaitIsThrownEveryTimeAndNothingGoesOn) {
  int level = 0, reached = 0, alive = 0;
  Strand strand(twice(level, reached, alive));
  EXPECT_FALSE(strand.advance());
  level = -1;
  EXPECT_THROW(strand.advance(), std::runtime_error);
  level = 9;
  EXPECT_THROW(strand.advance(), std::runtime_error);
  EXPECT_EQ(0, reached);
}

Task fails_inside() {
  throw std::runtime_error("a bug");
  co_return;
}
Task outer(int& reached) {
  co_await fails_inside();
  reached = 1;
}

TEST(TaskTest, AnExceptionOfANestedTaskReachesTheStrand) {
  int reached = 0;
  Strand strand(outer(reached));
  EXPECT_THROW(strand.advance(), std::runtime_error);
  EXPECT_EQ(0, reached);
}

Task side_by_side(const int& level, int& a, int& b, int& alive) {
  Together both;
  both.add(climb(level, 2, a, alive));
  both.add(climb(level, 3, b, alive));
  co_await both;
  a = b = 100;
}

TEST(TaskTest, TasksSideBySideEachGoAsFarAsTheyCan) {
  int level = 0, a = 0, b = 0, alive = 0;
  Strand strand(side_by_side(level, a, b, alive));
  level = 2;
  EXPECT_FALSE(strand.advance());
  EXPECT_EQ(2, a);
  EXPECT_EQ(2, b);
  level = 3;
  EXPECT_TRUE(strand.advance());
  EXPECT_EQ(100, a);
  EXPECT_EQ(0, alive);
}

Task two_at_once(const int& level, int (&reached)[3], int& alive) {
  Together three(2);
  three.add(climb(level, 1, reached[0], alive));
  three.add(climb(level, 3, reached[1], alive));
  three.add(climb(level, 2, reached[2], alive));
  co_await three;
}

TEST(TaskTest, OfTwoAtOnceTheThirdBeginsWhenOneHasEnded) {
  int level = 0, alive = 0, reached[3] = {};
  Strand strand(two_at_once(level, reached, alive));
  EXPECT_FALSE(strand.advance());
  EXPECT_EQ(2, alive);
  level = 2;
  EXPECT_FALSE(strand.advance());
  EXPECT_EQ(1, alive);
  EXPECT_EQ(2, reached[2]);
  level = 3;
  EXPECT_TRUE(strand.advance());
  EXPECT_EQ(3, reached[1]);
}

Task waits_for_a_condition(const int& level) {
  co_await Until([&] { return level > 5; });
}

TEST(TaskTest, UntilLooksAgainAtEveryAdvance) {
  int level = 0;
  Strand strand(waits_for_a_condition(level));
  EXPECT_FALSE(strand.advance());
  EXPECT_FALSE(strand.advance());
  level = 6;
  EXPECT_TRUE(strand.advance());
}

}  // namespace
}  // namespace thalweg::engine::comm
