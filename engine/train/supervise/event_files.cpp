#include "engine/train/supervise/event_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "base/file.h"

namespace thalweg::engine {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBlock = 4 << 20;
constexpr std::uint64_t kMaxRecord = std::uint64_t{1} << 30;
constexpr std::size_t kHead = 12, kFoot = 4;  // of a record
constexpr int kMaxDepth = 4;

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

void read_value(std::string_view bytes, std::int64_t step, const Scalar& each) {
  std::string tag;
  std::optional<double> value;
  Message message(bytes);
  while (const auto field = message.next()) {
    if (field->number == 1 && field->type == 2) tag = field->bytes;
    if (field->number == 2 && field->type == 5) value = little_endian<float>(field->bytes);
    if (field->number == 8 && field->type == 2) value = number_of(field->bytes);
  }
  if (value) each(tag, step, *value);
}

/// Of the folder itself as well.
std::string name_within(const fs::path& folder, const fs::path& file) {
  const fs::path parent = file.parent_path().lexically_relative(folder);
  return parent == "." ? "" : parent.string() + "/";
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = crc_table();
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes)
    crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

void read_event(std::string_view event, const Scalar& each) {
  std::int64_t step = 0;
  std::string_view summary;
  Message message(event);
  while (const auto field = message.next()) {
    if (field->number == 2 && field->type == 0) step = static_cast<std::int64_t>(field->whole);
    if (field->number == 5 && field->type == 2) summary = field->bytes;
  }
  if (step < 0) throw std::invalid_argument("a step below 0");
  Message values(summary);
  while (const auto field = values.next())
    if (field->number == 1 && field->type == 2) read_value(field->bytes, step, each);
}

EventFiles::EventFiles(fs::path folder) : folder_(std::move(folder)) {
  for_files([this](const fs::path& path) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    if (!error) files_[path.string()].offset = static_cast<std::int64_t>(size);
  });
}

template <class Each>
void EventFiles::for_files(const Each& each) const {
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder_, error), end; !error && it != end;
       it.increment(error)) {
    if (it.depth() >= kMaxDepth) it.disable_recursion_pending();
    if (it->path().filename().string().find("tfevents") != std::string::npos) each(it->path());
  }
}

bool EventFiles::read_file(const fs::path& path, File& file, const Scalar& each) {
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened) return true;
  std::string block(kBlock, '\0');
  const ssize_t count = ::pread(opened.get(), block.data(), block.size(), file.offset);
  if (count <= 0) return true;
  block.resize(static_cast<std::size_t>(count));
  std::string_view rest = block;
  const std::string within = name_within(folder_, path);
  const Scalar named = [&](const std::string& tag, std::int64_t step, double value) {
    each(within + tag, step, value);
  };
  while (rest.size() >= kHead) {
    const auto length = little_endian<std::uint64_t>(rest);
    const auto check = little_endian<std::uint32_t>(rest.substr(8));
    if (length > kMaxRecord || masked(crc32c(rest.substr(0, 8))) != check) return false;
    const std::size_t whole = kHead + length + kFoot;
    if (whole > kBlock) {  // a picture: no scalar is as long
      file.offset += static_cast<std::int64_t>(whole);
      return true;
    }
    if (rest.size() < whole) break;
    const std::string_view data = rest.substr(kHead, length);
    if (masked(crc32c(data)) != little_endian<std::uint32_t>(rest.substr(kHead + length)))
      return false;
    read_event(data, named);
    rest.remove_prefix(whole);
    file.offset += static_cast<std::int64_t>(whole);
    bytes_ += static_cast<std::int64_t>(whole);
  }
  return true;
}

void EventFiles::read(const Scalar& each,
                      const std::function<void(const std::string& text)>& trouble) {
  for_files([&](const fs::path& path) {
    File& file = files_[path.string()];
    if (file.broken) return;
    try {
      file.broken = !read_file(path, file, each);
    } catch (const std::invalid_argument&) {
      file.broken = true;
    }
    if (file.broken)
      trouble(path.string() + " is damaged after byte " + std::to_string(file.offset) +
              "; nothing more is read from it");
  });
}

}  // namespace thalweg::engine
