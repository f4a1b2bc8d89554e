// When sums start and in which order they end, without ranks.
#include "engine/sync/bucket_reducer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace thalweg::engine {
namespace {

using testing::ElementsAre;

/// What happened to the parts, in order: +n started, -n waited for to the end. Parts are numbered
/// by their count.
class Story {
 public:
  void add(int event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }
  std::vector<int> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<int> events_;
};

/// Under way until somebody waits for it.
class Slow : public comm::Request {
 public:
  Slow(Story& story, int part) : story_(story), part_(part) {}
  bool test() override { return false; }
  void wait() override { story_.add(-part_); }

 private:
  Story& story_;
  int part_;
};

std::vector<GradientPart> three_parts() {
  std::vector<GradientPart> parts(3);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].count = i + 1;
    parts[i].marks = 2;
  }
  return parts;
}

BucketReducer::Start at_once(Story& story) {
  return [&story](const GradientPart& part) {
    story.add(static_cast<int>(part.count));
    return nullptr;
  };
}

BucketReducer::Start slowly(Story& story) {
  return [&story](const GradientPart& part) {
    story.add(static_cast<int>(part.count));
    return std::make_unique<Slow>(story, static_cast<int>(part.count));
  };
}

void mark_twice(BucketReducer& reducer, std::size_t part) {
  reducer.mark(part);
  reducer.mark(part);
}

TEST(BucketReducer, SumsAPartWhileOthersAreNotComplete) {
  Story story;
  BucketReducer reducer(at_once(story), {});
  reducer.set_parts(three_parts());
  for (int step = 0; step < 3; ++step) {
    reducer.begin();
    mark_twice(reducer, 0);
    reducer.wait(0);  // returns, though nobody has touched the others
    mark_twice(reducer, 2);
    mark_twice(reducer, 1);
    reducer.hurry();
    reducer.wait(2);
    reducer.wait(1);
    for (const PartTime& time : reducer.times())
      EXPECT_LE(time.start, time.end);
  }
  EXPECT_THAT(story.events(), ElementsAre(1, 2, 3, 1, 2, 3, 1, 2, 3));  // never out of order
}

TEST(BucketReducer, WithoutOverlapNothingStartsBeforeTheEndOfBackward) {
  Story story;
  BucketReducer reducer(at_once(story), {.overlap = false});
  reducer.set_parts(three_parts());
  reducer.begin();
  for (const std::size_t part : {0u, 1u, 2u})
    mark_twice(reducer, part);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_THAT(story.events(), ElementsAre());
  reducer.hurry();
  reducer.wait(2);
  EXPECT_THAT(story.events(), ElementsAre(1, 2, 3));
}

TEST(BucketReducer, FinishesLaterPartsFirstWhereItIsTold) {
  for (const bool last_first : {false, true}) {
    Story story;
    BucketReducer reducer(slowly(story), {.overlap = true, .last_first = last_first});
    reducer.set_parts(three_parts());
    reducer.begin();
    for (const std::size_t part : {0u, 1u, 2u})
      mark_twice(reducer, part);
    // All three are under way before the first of them is waited for.
    while (story.events().size() < 3)
      std::this_thread::yield();
    reducer.hurry();
    for (const std::size_t part : {0u, 1u, 2u})
      reducer.wait(part);
    if (last_first)
      EXPECT_THAT(story.events(), ElementsAre(1, 2, 3, -3, -2, -1));
    else
      EXPECT_THAT(story.events(), ElementsAre(1, 2, 3, -1, -2, -3));
  }
}

TEST(BucketReducer, PassesOnWhatASumThrows) {
  BucketReducer reducer(
      [](const GradientPart& part) -> std::unique_ptr<comm::Request> {
        if (part.count == 2) throw std::runtime_error("rank 1 is gone");
        return nullptr;
      },
      {});
  reducer.set_parts(three_parts());
  reducer.begin();
  for (const std::size_t part : {0u, 1u, 2u})
    mark_twice(reducer, part);
  reducer.hurry();
  EXPECT_THROW(reducer.wait(2), std::runtime_error);
  EXPECT_THROW(reducer.wait(0), std::runtime_error);  // nothing more comes of it
}

TEST(BucketReducer, EndsInTheMiddleOfAStep) {
  Story story;
  BucketReducer reducer(slowly(story), {});
  reducer.set_parts(three_parts());
  reducer.begin();
  mark_twice(reducer, 0);
}

}  // namespace
}  // namespace thalweg::engine
