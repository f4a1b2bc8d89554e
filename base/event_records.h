// TensorBoard's event files, as far as they hold scalars and hyperparameters. Records (TFRecord):
// length (uint64), masked CRC-32C of it, data, masked CRC-32C of the data, all little-endian. Data:
// a protobuf message Event {double wall_time = 1; int64 step = 2; string file_version = 3; Summary
// summary = 5}, Summary {repeated Value value = 1}, Value {string tag = 1; float simple_value = 2;
// TensorProto tensor = 8; SummaryMetadata metadata = 9}, TensorProto {DataType dtype = 1; bytes
// tensor_content = 4; repeated float float_val = 5; repeated double double_val = 6}.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace thalweg {

/// CRC-32C (Castagnoli).
std::uint32_t crc32c(std::string_view bytes);

/// What precedes a record's data, and what follows it.
constexpr std::size_t kRecordHead = 12, kRecordFoot = 4;

/// Of the record that begins with `head` (kRecordHead bytes); nothing where its checksum is wrong.
std::optional<std::uint64_t> record_length(std::string_view head);
/// The data of the whole record that `bytes` begin with, of the length that record_length told;
/// nothing where its checksum is wrong.
std::optional<std::string_view> record_data(std::string_view bytes, std::uint64_t length);

struct ScalarEvent {
  std::string tag;
  std::int64_t step = 0;
  double value = 0;
  double time = 0;  ///< Unix seconds
};

/// Calls `each` for every scalar of one Event, be it a simple value or a tensor of one number.
/// Throws std::invalid_argument where it is none.
void read_event(std::string_view event, const std::function<void(const ScalarEvent&)>& each);

/// What every event file begins with, as a record.
std::string version_record(double time);
/// As a simple value, which is single precision: older readers know no other.
std::string scalar_record(const ScalarEvent& scalar);

using Hyperparameter = std::variant<bool, double, std::string>;
using Hyperparameters = std::vector<std::pair<std::string, Hyperparameter>>;
/// A run's hyperparameters, for the HParams dashboard.
std::string hyperparameters_record(double time, const Hyperparameters& parameters);
/// Those that one Event holds, sorted by name; nothing where it holds none. Throws
/// std::invalid_argument where it is no Event.
std::optional<Hyperparameters> read_hyperparameters(std::string_view event);

}  // namespace thalweg
