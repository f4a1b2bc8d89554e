// One snapshot for all who watch a sweep, and seldom where it takes long.
#include "daemon/server/snapshots.h"

#include <gmock/gmock.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "tests/daemon/site_fixture.h"

namespace thalweg::daemon {
namespace {

using testing::HasSubstr;

struct SnapshotsTest : testing::Test {
  boost::asio::io_context io{1};
  double now = 100;
  Snapshots snapshots{io.get_executor(), [&] { return now; }};
  std::shared_ptr<Snapshots::Shared> watched = snapshots.watch(1);
  std::uint64_t version = 1;
  bool ended = false, fails = false;
  double cost_s = 0;
  std::vector<std::uint64_t> sent;
  int failed = 0;

  boost::asio::awaitable<Snapshots::Snapshot> make() {
    const std::uint64_t of = version;
    for (int i = 0; i < 5; ++i)
      co_await boost::asio::post(io, boost::asio::use_awaitable);
    if (std::exchange(fails, false)) throw std::runtime_error("no");
    co_return Snapshots::Snapshot{of, ended, cost_s, std::make_shared<std::string>("text")};
  }
  boost::asio::awaitable<void> look() {
    const Snapshots::Make with = [this] { return make(); };
    const auto snapshot = co_await snapshots.latest(watched, version, ended, with);
    EXPECT_TRUE(snapshot.text);
    sent.push_back(snapshot.version);
  }
  void watchers(int count) {
    for (int i = 0; i < count; ++i)
      boost::asio::co_spawn(io, look(), [this](std::exception_ptr thrown) { failed += !!thrown; });
    io.run();
    io.restart();
  }
};

TEST_F(SnapshotsTest, OneForAllWhoWatch) {
  watchers(15);
  EXPECT_EQ(snapshots.made(), 1);
  EXPECT_EQ(sent, std::vector<std::uint64_t>(15, 1));
  watchers(15);
  EXPECT_EQ(snapshots.made(), 1) << "nothing has changed";
  version = 2;
  watchers(15);
  EXPECT_EQ(snapshots.made(), 2);
  EXPECT_EQ(sent.back(), 2u);
}

TEST_F(SnapshotsTest, WhatTakesLongIsMadeSeldom) {
  cost_s = 0.3;
  watchers(1);
  for (int i = 0; i < 100; ++i) {
    ++version;
    now += 0.5;
    watchers(2);
  }
  // 50 s; each may be as old as ten times its cost.
  EXPECT_GE(snapshots.made(), 50 / 3 - 1);
  EXPECT_LE(snapshots.made(), 50 / 3 + 2);
  cost_s = 100;
  now += 100;
  watchers(1);
  const std::int64_t made = snapshots.made();
  ++version;
  now += Snapshots::max_pause_s - 0.1;
  watchers(1);
  EXPECT_EQ(snapshots.made(), made);
  EXPECT_LT(sent.back(), version);
  now += 0.2;
  watchers(1);
  EXPECT_EQ(snapshots.made(), made + 1);
  ++version;
  ended = true;
  watchers(3);
  EXPECT_EQ(snapshots.made(), made + 2) << "its end is told at once";
  EXPECT_EQ(sent.back(), version);
}

TEST_F(SnapshotsTest, OneThatFailsIsMadeByTheNext) {
  fails = true;
  watchers(4);
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(sent.size(), 3u);
  EXPECT_EQ(snapshots.made(), 1);
}

TEST_F(SnapshotsTest, AreForgottenWithTheLastWatcher) {
  watchers(1);
  EXPECT_EQ(snapshots.watch(1), watched);
  const std::weak_ptr<Snapshots::Shared> old = watched;
  watched.reset();
  EXPECT_TRUE(old.expired());
}

/// Real connections, whose sweep changes all the time.
TEST_F(ServerTest, ManyWatchersCostAsMuchAsOne) {
  world.cluster.steps = 60;
  start();
  const std::string id = submit();
  constexpr int watchers = 12;
  std::atomic<int> events{0}, ends{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < watchers; ++i)
    threads.emplace_back([&] {
      api::Client own(world.home());
      json last;
      own.stream("/v1/watch?id=" + id, [&](const json& event) {
        ++events;
        last = event;
        return true;
      });
      ends += last.value("state", "") == "finished";
    });
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(ends, watchers);
  const std::int64_t made = running->there([&] { return running->app().snapshots.made(); });
  const auto versions =
      running->there([&] { return running->controller().version(std::stoll(id)); });
  EXPECT_GE(events, 2 * watchers);
  EXPECT_LE(made, static_cast<std::int64_t>(versions));
  EXPECT_LE(2 * made, events) << "made for each of them";
}

}  // namespace
}  // namespace thalweg::daemon
