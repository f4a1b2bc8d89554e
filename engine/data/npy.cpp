// NPY (numpy.lib.format, versions 1 to 3): "\x93NUMPY", version, length of the header, the header
// (a Python dict: descr, fortran_order, shape), the numbers.
#include <cstring>
#include <string_view>

#include "engine/data/array.h"
#include "engine/data/dataset.h"
#include "engine/data/mapped_file.h"

namespace thalweg::engine {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::int64_t kMaxNumbers = std::int64_t{1} << 44;

/// The header's dict, read left to right.
class Header {
 public:
  Header(std::string_view text, std::int64_t offset, const std::filesystem::path& file)
      : text_(text), offset_(offset), file_(file) {}

  [[noreturn]] void fail(const std::string& reason) const {
    throw DataError(file_,
                    offset_ < 0 ? DataError::kNoOffset : offset_ + static_cast<std::int64_t>(at_),
                    reason);
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("the header is no NPY header: expected '") + c + "'");
  }
  std::string_view quoted() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail("the header is no NPY header: expected a name");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("the header is no NPY header: a name does not end");
    const std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return word;
  }
  bool truth() {
    skip();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    fail("fortran_order is neither True nor False");
  }
  std::int64_t number() {
    skip();
    std::int64_t n = 0;
    const std::size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      n = n * 10 + (text_[at_] - '0');
      if (n > kMaxNumbers) fail("a dimension has an impossible size");
    }
    if (at_ == begin) fail("the shape holds something else than numbers");
    return n;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n'))
      ++at_;
  }

  std::string_view text_;
  std::int64_t offset_;
  const std::filesystem::path& file_;
  std::size_t at_ = 0;
};

NumberType number_type(const Header& header, std::string_view descr) {
  struct Name {
    std::string_view text;
    NumberType type;
  };
  static constexpr Name kNames[] = {
      {"u1", NumberType::u8},  {"b1", NumberType::u8},  {"i1", NumberType::i8},
      {"u2", NumberType::u16}, {"i2", NumberType::i16}, {"u4", NumberType::u32},
      {"i4", NumberType::i32}, {"u8", NumberType::u64}, {"i8", NumberType::i64},
      {"f2", NumberType::f16}, {"f4", NumberType::f32}, {"f8", NumberType::f64}};
  if (descr.starts_with(">"))
    header.fail("numbers of type '" + std::string(descr) +
                "' are big-endian; save them as little-endian");
  for (const Name& name : kNames)
    if (descr.size() == 3 && descr.substr(1) == name.text) return name.type;
  header.fail("numbers of type '" + std::string(descr) +
              "' are not supported; use integers, float16, float32 or float64");
}

struct Promise {
  NumberType type = NumberType::f32;
  std::vector<std::int64_t> shape;
};

Promise read_header(Header& header) {
  Promise promise;
  bool fortran = false, has_type = false, has_shape = false;
  header.expect('{');
  while (!header.take('}')) {
    const std::string_view key = header.quoted();
    header.expect(':');
    if (key == "descr") {
      promise.type = number_type(header, header.quoted());
      has_type = true;
    } else if (key == "fortran_order") {
      fortran = header.truth();
    } else if (key == "shape") {
      header.expect('(');
      while (!header.take(')')) {
        promise.shape.push_back(header.number());
        if (!header.take(',')) {
          header.expect(')');
          break;
        }
      }
      has_shape = true;
    } else {
      header.fail("unknown key '" + std::string(key) + "' in the header");
    }
    if (!header.take(',')) {
      header.expect('}');
      break;
    }
  }
  if (!has_type || !has_shape) header.fail("the header lacks descr or shape");
  if (fortran && promise.shape.size() > 1)
    header.fail("the array is in Fortran order; save numpy.ascontiguousarray(x)");
  if (promise.shape.empty()) header.fail("a single number, expected an array");
  std::int64_t total = 1;
  for (const std::int64_t size : promise.shape) {
    if (size == 0) header.fail("a dimension has size 0");
    if (total > kMaxNumbers / size) header.fail("the dimensions multiply to an impossible size");
    total *= size;
  }
  return promise;
}

}  // namespace

Array parse_npy(const std::filesystem::path& file, const std::string& name,
                const std::uint8_t* bytes, std::size_t size, std::optional<std::int64_t> offset,
                std::shared_ptr<const void> owner, std::optional<std::size_t> known) {
  const std::size_t held = known.value_or(size);
  const auto fail = [&](std::size_t at, const std::string& reason) {
    const std::string inside = name.empty() ? "" : "array " + name + ": ";
    throw DataError(file, offset ? *offset + static_cast<std::int64_t>(at) : DataError::kNoOffset,
                    inside + reason);
  };
  const std::string_view text(reinterpret_cast<const char*>(bytes), held);
  if (!text.starts_with(kMagic)) fail(0, "not an NPY file (it starts with \\x93NUMPY)");
  if (held < 10) fail(size, "the header ends too early");
  const int version = bytes[6];
  if (version < 1 || version > 3) fail(6, "NPY version " + std::to_string(version) + " is unknown");
  const std::size_t length_bytes = version == 1 ? 2 : 4, begin = 8 + length_bytes;
  if (held < begin) fail(size, "the header ends too early");
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;)
    length = length << 8 | bytes[8 + i];
  if (length > held - begin) fail(size, "the header ends too early");
  Header header(text.substr(begin, length),
                offset ? *offset + static_cast<std::int64_t>(begin) : -1, file);
  const Promise promise = read_header(header);
  Array array;
  array.type = promise.type;
  array.shape = promise.shape;
  if (held == size) array.data = bytes + begin + length;
  array.owner = std::move(owner);
  array.name = name.empty() ? file.string() : file.string() + ":" + name;
  if (offset) array.offset = *offset + static_cast<std::int64_t>(begin + length);
  const std::uint64_t promised = static_cast<std::uint64_t>(array.count()) * bytes_of(array.type),
                      there = size - begin - length;
  if (there < promised)
    fail(size, "the file ends too early: its header promises " + std::to_string(array.count()) +
                   " numbers");
  if (there > promised) fail(begin + length + promised, "more data than the header promises");
  return array;
}

Array read_npy(const std::filesystem::path& file, const std::string&, Extent) {
  const auto mapped = std::make_shared<const MappedFile>(file);
  const auto bytes = mapped->bytes();
  return parse_npy(file, "", bytes.data(), bytes.size(), 0, mapped);
}

std::string npy_header(std::string_view type, const std::vector<std::int64_t>& shape) {
  std::string text = "{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t n : shape)
    text += std::to_string(n) + ",";
  text += "), }";
  // Magic, version and length are 10 bytes; numbers begin at a multiple of 64.
  constexpr std::size_t kBefore = 10, kAligned = 64;
  const std::size_t whole = (kBefore + text.size() + 1 + kAligned - 1) / kAligned * kAligned;
  text.resize(whole - kBefore - 1, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {1, 0, static_cast<char>(text.size() % 256), static_cast<char>(text.size() / 256)};
  return header + text;
}

}  // namespace thalweg::engine
