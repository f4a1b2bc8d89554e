// thalweg-perf: the command line, the collectives and their checks, the numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "engine/perf/measure.h"
#include "engine/perf/options.h"
#include "engine/perf/values.h"
#include "tests/engine/comm/threads.h"

namespace thalweg::engine::perf {
namespace {

using comm::Op;
using comm::Type;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(PerfOptions, SizesAndNames) {
  const auto options = parse({"broadcast", "--from=1K", "-e", "1M", "-f16", "-t", "bf16", "barrier",
                              "--memory", "ordinary", "-i", "7"});
  EXPECT_THAT(options.collectives, ElementsAre("broadcast", "barrier"));
  EXPECT_THAT(options.sizes(), ElementsAre(1024U, 16384U, 262144U));
  EXPECT_EQ(Type::bf16, options.type);
  EXPECT_FALSE(options.group_memory);
  EXPECT_EQ(7, options.iterations);
  EXPECT_THAT(parse({}).collectives, ElementsAre("allreduce"));
  EXPECT_EQ(subject_names(), parse({"all"}).collectives);
}

struct BadLine {
  const char* name;
  std::vector<std::string> words;
  const char* complaint;
};
void PrintTo(const BadLine& line, std::ostream* out) {
  *out << line.name;
}
class PerfBadLine : public testing::TestWithParam<BadLine> {};

TEST_P(PerfBadLine, IsRefusedWithTheRemedy) {
  try {
    parse(GetParam().words);
    FAIL() << "was taken";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().complaint));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Options, PerfBadLine,
    testing::Values(
        BadLine{"UnknownCollective", {"allreduced"}, "there are: allreduce, allreduce_as"},
        BadLine{"UnknownOption", {"--size", "4"}, "unknown option --size"},
        BadLine{"NoValue", {"--from"}, "--from needs a value: SIZE"},
        BadLine{"ValueForAFlag", {"--touch=1"}, "--touch takes no value"},
        BadLine{"BadSize", {"--from", "4X"}, "a size such as 4, 64K or 1G, not '4X'"},
        BadLine{"TooLarge", {"--to", "99999999999G"}, "--to takes a size"},
        BadLine{"Backwards", {"--from", "1M", "--to", "1K"}, "--from is larger than --to"},
        BadLine{"BadType", {"-t", "f33"}, "one of f64, f32, f16, bf16, i32, i64, not 'f33'"},
        BadLine{"AverageOfIntegers", {"-t", "i32", "-o", "average"}, "no average of integers"},
        BadLine{"BadFactor", {"-f", "1"}, "--factor takes a number from 2"},
        BadLine{"BadMemory", {"-m", "gpu"}, "group or ordinary"},
        BadLine{"UnknownAlgorithm", {"-a", "rong"}, "there are: auto, "},
        BadLine{"NoAlgorithms", {"shard_sum", "-a", "ring"}, "shard_sum has no choice"}),
    [](const auto& line) { return line.param.name; });

TEST(PerfLatency, PercentilesAreNearestRank) {
  std::vector<double> us;
  for (int i = 200; i >= 1; --i) {
    us.push_back(i);
  }
  const Latency latency = latency_of(us);
  EXPECT_EQ(1, latency.min);
  EXPECT_EQ(100, latency.p50);
  EXPECT_EQ(190, latency.p95);
  EXPECT_EQ(198, latency.p99);
  EXPECT_EQ(200, latency.max);
  EXPECT_EQ(100.5, latency.mean);
  EXPECT_EQ(5, latency_of({5}).p99);
}

TEST(PerfSubjects, BusFactorsAreThoseOfNcclTests) {
  EXPECT_EQ(1.5, find_subject("allreduce").bus_factor(4));
  EXPECT_EQ(0.75, find_subject("reduce_scatter").bus_factor(4));
  EXPECT_EQ(0.75, find_subject("allgather").bus_factor(4));
  EXPECT_EQ(0.75, find_subject("all_to_all").bus_factor(4));
  EXPECT_EQ(1, find_subject("broadcast").bus_factor(4));
}

TEST(PerfValues, OneWrongElementIsFound) {
  for (const Type type : {Type::f64, Type::f32, Type::f16, Type::bf16, Type::i32, Type::i64}) {
    std::vector<std::byte> data(5000 * comm::size_of(type));
    put_values(data.data(), 17, 5000, type, 0);
    const Expected one = expected(1, type, Op::sum);
    EXPECT_EQ(0U, count_wrong(data.data(), 17, 5000, type, one)) << comm::name_of(type);
    data[1234 * comm::size_of(type) + comm::size_of(type) - 1] ^= std::byte{0x40};
    EXPECT_EQ(1U, count_wrong(data.data(), 17, 5000, type, one)) << comm::name_of(type);
  }
}

TEST(PerfValues, AnotherSegmentOrRankIsNotTakenForRight) {
  std::vector<std::byte> data(4096 * sizeof(float));
  put_values(data.data(), 0, 4096, Type::f32, 0);
  const Expected one = expected(1, Type::f32, Op::sum), two = expected(2, Type::f32, Op::sum);
  EXPECT_GT(count_wrong(data.data(), 4096, 4096, Type::f32, one), 3000U);
  EXPECT_GT(count_wrong(data.data(), 0, 4096, Type::f32, two), 3000U);
}

class PerfOnRanks : public testing::TestWithParam<int> {};

/// Every collective, type and operation: few calls, all results checked.
TEST_P(PerfOnRanks, EveryResultIsRight) {
  comm::on_ranks(GetParam(), [](comm::Group& group) {
    Options options;
    options.iterations = 3;
    options.warmup = 1;
    const std::atomic<bool> stop{false};
    for (const auto& subject : subjects()) {
      for (const Type type : {Type::f64, Type::f32, Type::f16, Type::bf16, Type::i32, Type::i64}) {
        for (const Op op : {Op::sum, Op::average, Op::min, Op::max}) {
          const bool whole = type == Type::i32 || type == Type::i64;
          if (whole && op == Op::average) continue;

          options.type = type;
          options.op = op;
          const bool usual = type == Type::f32 && op == Op::sum;
          if (!subject.trouble(group, options).empty() || (!subject.reduces && !usual)) continue;
          for (const std::size_t bytes : {1U, 4U, 1000U, 100000U}) {
            const auto result = measure(group, subject, "auto", bytes, options, stop);
            ASSERT_TRUE(result);
            EXPECT_EQ(3U, result->calls);
            EXPECT_EQ(0U, result->wrong.value_or(0))
                << subject.name << " " << comm::name_of(type) << " " << comm::name_of(op);
            EXPECT_LE(result->us.min, result->us.p50);
          }
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, PerfOnRanks, testing::Values(1, 2, 3, 4, 5),
                         testing::PrintToStringParamName());

TEST(PerfWork, WithoutACallTheResultIsWrong) {
  comm::on_ranks(2, [](comm::Group& group) {
    for (const auto& subject : subjects()) {
      if (!subject.sized) continue;
      const auto work = subject.make(group, Options{}, 4096);
      work->fill();
      group.barrier();
      const bool root = std::string(subject.name) == "broadcast" && group.rank() == 0;
      EXPECT_EQ(root, work->wrong() == 0) << subject.name;
    }
  });
}

TEST(PerfWork, MoreShardsThanRanksAddUp) {
  comm::on_ranks(3, [](comm::Group& group) {
    Options options;
    options.shards = 7;
    options.iterations = 1;
    const std::atomic<bool> stop{false};
    const auto result = measure(group, find_subject("shard_sum"), "auto", 5000, options, stop);
    EXPECT_EQ(0U, result->wrong.value());
    options.shards = 2;
    EXPECT_EQ("--shards 2: there are more ranks, 3",
              find_subject("shard_sum").trouble(group, options));
  });
}

TEST(PerfWork, SixteenBitsOnTheWayMissByNoMoreThanTheirs) {
  comm::on_ranks(3, [](comm::Group& group) {
    Options options;
    options.iterations = 1;
    const std::atomic<bool> stop{false};
    for (const Type wire : {Type::f16, Type::bf16}) {
      for (const Op op : {Op::sum, Op::average, Op::min, Op::max}) {
        options.wire = wire;
        options.op = op;
        const auto result =
            measure(group, find_subject("allreduce_as"), "auto", 5000, options, stop);
        EXPECT_EQ(0U, result->wrong.value()) << comm::name_of(wire) << " " << comm::name_of(op);
      }
    }
    options.type = Type::f64;
    EXPECT_THAT(find_subject("allreduce_as").trouble(group, options), HasSubstr("but f32"));
  });
}

TEST(PerfMeasure, OneRankThatWantsToStopStopsAll) {
  comm::on_ranks(3, [](comm::Group& group) {
    Options options;
    options.iterations = 1000;
    const std::atomic<bool> stop{group.rank() == 1};
    EXPECT_FALSE(measure(group, find_subject("allreduce"), "auto", 64, options, stop));
  });
}

}  // namespace
}  // namespace thalweg::engine::perf
