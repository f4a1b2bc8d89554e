// Records of TensorBoard's event files: read, written, and what is wrong with them.
#include "base/event_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <tuple>

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Points = std::vector<std::tuple<std::string, std::int64_t, double>>;

std::string data_of(const std::string& record) {
  const auto length = record_length(record.substr(0, kRecordHead));
  if (!length || record.size() != kRecordHead + *length + kRecordFoot) return "wrong length";
  return std::string(record_data(record, *length).value_or("wrong checksum"));
}

ScalarEvent only_scalar(const std::string& record) {
  std::vector<ScalarEvent> found;
  read_event(data_of(record), [&](const ScalarEvent& scalar) { found.push_back(scalar); });
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? ScalarEvent{} : found.front();
}

TEST(EventRecords, Crc32cOfTheStandardsExample) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
}

/// Protobuf by hand, as TensorFlow 2 writes a scalar: a tensor.
TEST(EventRecords, ReadTensorsOfOneNumber) {
  const auto field = [](int number, const std::string& bytes) {
    return std::string(1, static_cast<char>(number << 3 | 2)) +
           std::string(1, static_cast<char>(bytes.size())) + bytes;
  };
  const auto event = [&](const std::string& tensor) {
    return std::string("\x10\x07") + field(5, field(1, field(1, "loss") + field(8, tensor)));
  };
  const float f = 0.5F;
  const double d = 0.25;
  std::string four(4, '\0'), eight(8, '\0');
  std::memcpy(four.data(), &f, 4);
  std::memcpy(eight.data(), &d, 8);
  Points points;
  const auto each = [&](const ScalarEvent& scalar) {
    points.emplace_back(scalar.tag, scalar.step, scalar.value);
  };
  read_event(event("\x08\x01" + field(4, four)), each);         // content
  read_event(event("\x08\x01" + field(5, four)), each);         // packed
  read_event(event("\x08\x02" + field(6, eight)), each);        // double
  read_event(event("\x08\x01" + field(5, four + four)), each);  // two numbers: no scalar
  EXPECT_THAT(points, ElementsAre(std::tuple("loss", 7, 0.5), std::tuple("loss", 7, 0.5),
                                  std::tuple("loss", 7, 0.25)));
  EXPECT_THROW(read_event("\x2a\x7f", each), std::invalid_argument);
}

TEST(EventRecords, AreReadBackAsTheyWereWritten) {
  const ScalarEvent scalar{"val/error", 123'456'789'012, 0.5, 1760000000.25};
  const ScalarEvent read = only_scalar(scalar_record(scalar));
  EXPECT_EQ(read.tag, scalar.tag);
  EXPECT_EQ(read.step, scalar.step);
  EXPECT_EQ(read.value, scalar.value);
  EXPECT_EQ(read.time, scalar.time);
  const std::string long_tag(300, 'x');
  EXPECT_EQ(only_scalar(scalar_record({long_tag, 0, 1, 0})).tag, long_tag);
}

TEST(EventRecords, HoldEveryNumber) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto through = [](double value) {
    return only_scalar(scalar_record({"x", 1, value, 0})).value;
  };
  EXPECT_TRUE(std::isnan(through(std::nan(""))));
  EXPECT_EQ(through(inf), inf);
  EXPECT_EQ(through(-inf), -inf);
  EXPECT_EQ(through(-1e300), -inf) << "beyond single precision";
  EXPECT_EQ(through(0.1), static_cast<double>(0.1F));
}

// The bytes by hand, from the numbers of the fields.
TEST(EventRecords, OfTheVersion) {
  EXPECT_EQ(data_of(version_record(0)),
            std::string("\x09\0\0\0\0\0\0\0\0", 9) + "\x1a\x0d" + "brain.Event:2");
}

TEST(EventRecords, OfHyperparametersAreNoScalars) {
  const std::string record =
      hyperparameters_record(5, {{"lr", 0.1}, {"name", std::string("sgd")}, {"nesterov", true}});
  EXPECT_THAT(record, HasSubstr(std::string("\x0a\x04name\x12\x05\x1a\x03sgd")));
  EXPECT_THAT(record, HasSubstr(std::string("\x0a\x08nesterov\x12\x02\x20\x01")));
  int scalars = 0;
  read_event(data_of(record), [&](const ScalarEvent&) { ++scalars; });
  EXPECT_EQ(scalars, 0);
}

TEST(EventRecords, HyperparametersAreReadBack) {
  const Hyperparameters all{{"lr", 0.1}, {"name", std::string("sgd")}, {"nesterov", false}};
  EXPECT_EQ(read_hyperparameters(data_of(hyperparameters_record(5, all))), all);
  EXPECT_EQ(read_hyperparameters(data_of(hyperparameters_record(5, {}))), Hyperparameters());
  EXPECT_FALSE(read_hyperparameters(data_of(scalar_record({"loss", 3, 0.5, 1}))));
  EXPECT_THROW(read_hyperparameters("\x2a\x7f"), std::invalid_argument);
}

TEST(EventRecords, DamageIsSeenWhateverByteItIs) {
  const std::string whole = scalar_record({"loss", 3, 0.5, 1});
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    const std::string data = data_of(damaged);
    EXPECT_TRUE(data == "wrong length" || data == "wrong checksum") << "byte " << at;
  }
}

}  // namespace
}  // namespace thalweg
