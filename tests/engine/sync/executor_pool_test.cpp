#include "engine/sync/executor_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <stdexcept>

#include "engine/device/executor.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

std::unique_ptr<Model> tiny_model() {
  const jobspec::Value mlp = jobspec::Map{{"name", "mlp"}, {"hidden", jobspec::List{4}}};
  return build_model(mlp, {{3}, 2}, 1, "reference");
}

TEST(ExecutorPool, RunsEveryTaskOnce) {
  const auto model = tiny_model();
  for (const int threads : {1, 2, 3}) {
    ExecutorPool pool(*model, threads);
    for (int round = 0; round < 50; ++round) {
      std::array<std::atomic<int>, 7> runs{};
      pool.run(7, [&](int task, Executor&) { ++runs[static_cast<std::size_t>(task)]; });
      for (const auto& count : runs)
        EXPECT_EQ(count, 1);
    }
  }
}

TEST(ExecutorPool, GivesEveryThreadItsOwnExecutor) {
  const auto model = tiny_model();
  ExecutorPool pool(*model, 2);
  std::mutex mutex;
  std::set<Executor*> executors;
  std::set<std::thread::id> threads;
  std::atomic<int> arrived{0};
  pool.run(2, [&](int, Executor& executor) {
    ++arrived;
    while (arrived < 2)
      std::this_thread::yield();  // both tasks at once
    const std::lock_guard lock(mutex);
    executors.insert(&executor);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(executors.size(), 2u);
  EXPECT_EQ(threads.size(), 2u);
}

TEST(ExecutorPool, PassesOnWhatATaskThrows) {
  const auto model = tiny_model();
  ExecutorPool pool(*model, 2);
  EXPECT_THROW(pool.run(4,
                        [](int task, Executor&) {
                          if (task == 1) throw std::runtime_error("no");
                        }),
               std::runtime_error);
  std::atomic<int> runs{0};
  pool.run(4, [&](int, Executor&) { ++runs; });
  EXPECT_EQ(runs, 4);
}

TEST(ExecutorPool, PoolsOfOneExecutorCountTheirRunsTogether) {
  const auto model = tiny_model();
  const auto executor = model->executor();
  std::uint64_t rounds = 0;
  ExecutorPool first(*executor, rounds), second(*executor, rounds);
  EXPECT_EQ(first.threads(), 1);
  std::set<std::uint64_t> seen;
  for (ExecutorPool* pool : {&first, &second, &first})
    pool->run(2, [&](int, Executor& given) {
      EXPECT_EQ(&given, executor.get());
      EXPECT_EQ(pool->number_of(given), 0u);
      seen.insert(pool->round());
    });
  EXPECT_EQ(seen, (std::set<std::uint64_t>{1, 2, 3})) << "what was made of weights holds for one";
}

}  // namespace
}  // namespace thalweg::engine
