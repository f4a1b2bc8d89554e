// What a device cannot do is refused on it alone, and the message says what to write instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Limited {
  const char* key;
  const char* remedy;
  jobspec::Map sync;
  void (*change)(SyncFacts& facts);
};

const Limited of_gpus[] = {
    {"batch.shares: ", "a share", {}, [](SyncFacts& f) { f.min_shards = 0; }},
    {"model.sync_batch_norm: ", "set it to false", {}, [](SyncFacts& f) { f.joins_shards = true; }},
    {"device: ", "uses all", {}, [](SyncFacts& f) { f.touches_all = false; }},
    {"emulate: ", "leave it out", {}, [](SyncFacts& f) { f.emulates = true; }},
    {"sync.shard_optimizer: ", "set it to false", {{"shard_optimizer", true}}, [](SyncFacts&) {}},
    {"sync.bucket_mib: ", "a number of MiB", {{"bucket_mib", "auto"}}, [](SyncFacts&) {}},
};

TEST(DeviceLimits, AreThoseOfGpus) {
  for (const Limited& row : of_gpus) {
    const auto refusal = [&](bool on_gpu) {
      return test::refusal_of(row.sync, [&](SyncFacts& facts) {
        facts.ranks = 2;
        facts.elementwise = true;
        facts.on_gpu = on_gpu;
        row.change(facts);
      });
    };
    EXPECT_EQ(refusal(false), "") << row.key;
    EXPECT_THAT(refusal(true), StartsWith(row.key));
    EXPECT_THAT(refusal(true), HasSubstr(row.remedy));
  }
}

TEST(DeviceLimits, ExchangesOfGpusAreNoneOfTheHost) {
  const auto refusal = [](const char* exchange, bool on_gpu) {
    return test::refusal_of(jobspec::Map{{"gpu_exchange", exchange}},
                            [&](SyncFacts& facts) { facts.on_gpu = on_gpu; });
  };
  for (const char* exchange : {"ucx", "nccl"}) {
    EXPECT_THAT(refusal(exchange, false), StartsWith("sync.gpu_exchange: "));
    EXPECT_EQ(refusal(exchange, true), "");
  }
  for (const char* exchange : {"auto", "host"})
    EXPECT_EQ(refusal(exchange, false), "");
}

}  // namespace
}  // namespace thalweg::engine
