// Records of TensorBoard's event files, read and written without protobuf: four of its messages.
#include "base/event_records.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace thalweg {

namespace {

constexpr std::uint64_t kMaxRecord = std::uint64_t{1} << 30;
/// The tag of the value whose metadata holds a run's hyperparameters.
constexpr const char* kSessionStart = "_hparams_/session_start_info";

std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  constexpr std::uint32_t polynomial = 0x82f63b78;  // reflected
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit)
      c = (c & 1) != 0 ? (c >> 1) ^ polynomial : c >> 1;
    table[i] = c;
  }
  return table;
}

/// As TFRecord stores it.
std::uint32_t masked(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

template <class T>
T little_endian(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <class T>
std::string bytes_of(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// One message's fields, one after the other.
class Message {
 public:
  explicit Message(std::string_view bytes) : bytes_(bytes) {}

  struct Field {
    std::uint64_t number = 0;
    int type = 0;
    std::uint64_t whole = 0;  // type 0
    std::string_view bytes;   // type 1, 2, 5
  };
  std::optional<Field> next() {
    if (bytes_.empty()) return std::nullopt;
    const std::uint64_t key = varint();
    Field field{key >> 3, static_cast<int>(key & 7), 0, {}};
    if (field.type == 0) {
      field.whole = varint();
    } else if (field.type == 1 || field.type == 5) {
      field.bytes = take(field.type == 1 ? 8 : 4);
    } else if (field.type == 2) {
      field.bytes = take(varint());
    } else {
      throw std::invalid_argument("no protobuf message");
    }
    return field;
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    throw std::invalid_argument("no protobuf message");
  }
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) throw std::invalid_argument("no protobuf message");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  std::string_view bytes_;
};

/// A tensor of one number; nothing for others.
std::optional<double> number_of(std::string_view tensor) {
  constexpr std::uint64_t kFloat = 1, kDouble = 2;
  std::uint64_t type = 0;
  std::string_view content, floats, doubles;
  Message message(tensor);
  while (const auto field = message.next()) {
    if (field->number == 1 && field->type == 0) type = field->whole;
    if (field->number == 4 && field->type == 2) content = field->bytes;
    if (field->number == 5) floats = field->bytes;  // packed or alone: the same four bytes
    if (field->number == 6) doubles = field->bytes;
  }
  if (type == kFloat && floats.empty()) floats = content;
  if (type == kDouble && doubles.empty()) doubles = content;
  if (floats.size() == sizeof(float)) return little_endian<float>(floats);
  if (doubles.size() == sizeof(double)) return little_endian<double>(doubles);
  return std::nullopt;
}

/// Whether it is a scalar.
bool read_value(std::string_view bytes, ScalarEvent& scalar) {
  std::optional<double> value;
  scalar.tag.clear();
  Message message(bytes);
  while (const auto field = message.next()) {
    if (field->number == 1 && field->type == 2) scalar.tag = field->bytes;
    if (field->number == 2 && field->type == 5) value = little_endian<float>(field->bytes);
    if (field->number == 8 && field->type == 2) value = number_of(field->bytes);
  }
  scalar.value = value.value_or(0);
  return value.has_value();
}

/// The last field of this number that holds bytes; empty where there is none.
std::string_view bytes_in(std::string_view message, std::uint64_t number) {
  std::string_view bytes;
  Message fields(message);
  while (const auto field = fields.next())
    if (field->number == number && field->type == 2) bytes = field->bytes;
  return bytes;
}

/// google.protobuf.Value; nothing where it is null, a list or a struct.
std::optional<Hyperparameter> read_protobuf_value(std::string_view bytes) {
  Message message(bytes);
  while (const auto field = message.next()) {
    if (field->number == 2 && field->type == 1) return little_endian<double>(field->bytes);
    if (field->number == 3 && field->type == 2) return std::string(field->bytes);
    if (field->number == 4 && field->type == 0) return field->whole != 0;
  }
  return std::nullopt;
}

std::string varint_bytes(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7)
    bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string key(std::uint64_t number, unsigned type) {
  return varint_bytes(number << 3 | type);
}
std::string field(std::uint64_t number, std::string_view bytes) {
  return key(number, 2) + varint_bytes(bytes.size()) + std::string(bytes);
}
std::string field(std::uint64_t number, double value) {
  return key(number, 1) + bytes_of(value);
}
std::string field(std::uint64_t number, float value) {
  return key(number, 5) + bytes_of(value);
}
std::string field(std::uint64_t number, std::uint64_t value) {
  return key(number, 0) + varint_bytes(value);
}

std::string record(std::string_view data) {
  const std::string length = bytes_of(static_cast<std::uint64_t>(data.size()));
  return length + bytes_of(masked(crc32c(length))) + std::string(data) +
         bytes_of(masked(crc32c(data)));
}

/// With one value of a summary.
std::string event_record(double time, std::int64_t step, const std::string& value) {
  return record(field(1, time) + field(2, static_cast<std::uint64_t>(step)) +
                field(5, field(1, value)));
}

/// google.protobuf.Value
std::string protobuf_value(const Hyperparameter& parameter) {
  if (const auto* flag = std::get_if<bool>(&parameter)) return field(4, std::uint64_t{*flag});
  if (const auto* number = std::get_if<double>(&parameter)) return field(2, *number);
  return field(3, std::string_view(std::get<std::string>(parameter)));
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = crc_table();
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes)
    crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

std::optional<std::uint64_t> record_length(std::string_view head) {
  const auto length = little_endian<std::uint64_t>(head);
  if (length > kMaxRecord ||
      masked(crc32c(head.substr(0, 8))) != little_endian<std::uint32_t>(head.substr(8)))
    return std::nullopt;
  return length;
}

std::optional<std::string_view> record_data(std::string_view bytes, std::uint64_t length) {
  const std::string_view data = bytes.substr(kRecordHead, length);
  const auto check = little_endian<std::uint32_t>(bytes.substr(kRecordHead + length));
  if (masked(crc32c(data)) != check) return std::nullopt;
  return data;
}

void read_event(std::string_view event, const std::function<void(const ScalarEvent&)>& each) {
  ScalarEvent scalar;
  std::string_view summary;
  Message message(event);
  while (const auto field = message.next()) {
    if (field->number == 1 && field->type == 1) scalar.time = little_endian<double>(field->bytes);
    if (field->number == 2 && field->type == 0)
      scalar.step = static_cast<std::int64_t>(field->whole);
    if (field->number == 5 && field->type == 2) summary = field->bytes;
  }
  if (scalar.step < 0) throw std::invalid_argument("a step below 0");
  Message values(summary);
  while (const auto field = values.next())
    if (field->number == 1 && field->type == 2 && read_value(field->bytes, scalar)) each(scalar);
}

std::string version_record(double time) {
  return record(field(1, time) + field(3, "brain.Event:2"));
}

std::string scalar_record(const ScalarEvent& scalar) {
  // Beyond a float's range there is no conversion by the standard.
  constexpr double kMaxFloat = std::numeric_limits<float>::max();
  const float value = std::abs(scalar.value) > kMaxFloat
                          ? std::copysign(std::numeric_limits<float>::infinity(),
                                          static_cast<float>(std::copysign(1, scalar.value)))
                          : static_cast<float>(scalar.value);
  return event_record(scalar.time, scalar.step, field(1, scalar.tag) + field(2, value));
}

std::string hyperparameters_record(double time, const Hyperparameters& parameters) {
  std::string session;
  for (const auto& [name, value] : parameters)
    session += field(1, field(1, name) + field(2, protobuf_value(value)));
  session += field(5, time);
  // The dashboard's own message, in the metadata of a value that has no number.
  const std::string plugin = field(1, "hparams") + field(2, field(3, session));
  return event_record(time, 0, field(1, kSessionStart) + field(9, field(1, plugin)));
}

std::optional<Hyperparameters> read_hyperparameters(std::string_view event) {
  std::optional<Hyperparameters> found;
  Message values(bytes_in(event, 5));
  while (const auto value = values.next()) {
    if (value->number != 1 || value->type != 2 || bytes_in(value->bytes, 1) != kSessionStart)
      continue;
    // Value.metadata.plugin_data.content, in it HParamsPluginData.session_start_info.
    const std::string_view content = bytes_in(bytes_in(bytes_in(value->bytes, 9), 1), 2);
    found.emplace();
    Message session(bytes_in(content, 3));
    while (const auto entry = session.next())
      if (entry->number == 1 && entry->type == 2)
        if (auto parameter = read_protobuf_value(bytes_in(entry->bytes, 2)))
          found->emplace_back(bytes_in(entry->bytes, 1), *std::move(parameter));
  }
  // Protobuf's maps have no order.
  if (found) std::sort(found->begin(), found->end());
  return found;
}

}  // namespace thalweg
