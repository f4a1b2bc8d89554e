// NPZ: a ZIP archive of NPY files, stored or deflated (PKWARE's APPNOTE.TXT; ZIP64 as numpy writes
// it).
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "engine/data/array.h"
#include "engine/data/dataset.h"
#include "engine/data/mapped_file.h"

namespace thalweg::engine {
namespace {

constexpr std::uint32_t kEndOfDirectory = 0x06054b50, kEntry = 0x02014b50, kLocal = 0x04034b50;
constexpr std::uint32_t kEndOfDirectory64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr std::uint32_t kSee64 = 0xffffffff;
constexpr std::size_t kEndBytes = 22, kLocatorBytes = 20, kEntryBytes = 46, kLocalBytes = 30;
constexpr std::uint16_t kZip64Field = 1;
enum Method : std::uint16_t { kStored = 0, kDeflated = 8 };
// zlib unpacks at most about a thousand bytes out of one; more is a lie.
constexpr std::uint64_t kMaxGrowth = 1100;
constexpr std::uint64_t kMaxNpyHeader = 1 << 17;  // version 1: 64 KiB

struct Member {
  std::string name;
  std::uint16_t method = 0, flags = 0;
  std::uint32_t checksum = 0;
  std::uint64_t packed = 0, size = 0, header = 0;
};

class Archive {
 public:
  explicit Archive(std::shared_ptr<const MappedFile> file)
      : file_(std::move(file)), bytes_(file_->bytes()) {}

  [[noreturn]] void fail(std::uint64_t offset, const std::string& reason) const {
    throw DataError(file_->file(), static_cast<std::int64_t>(offset), reason);
  }
  template <class T>
  T number(std::uint64_t at) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T)) fail(bytes_.size(), kCut);
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  std::vector<Member> members() const {
    std::uint64_t at = 0, count = 0;
    find_directory(at, count);
    std::vector<Member> found;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (number<std::uint32_t>(at) != kEntry) fail(at, "damaged ZIP directory");
      Member m;
      m.flags = number<std::uint16_t>(at + 8);
      m.method = number<std::uint16_t>(at + 10);
      m.checksum = number<std::uint32_t>(at + 16);
      m.packed = number<std::uint32_t>(at + 20);
      m.size = number<std::uint32_t>(at + 24);
      m.header = number<std::uint32_t>(at + 42);
      const std::uint64_t name = number<std::uint16_t>(at + 28),
                          extra = number<std::uint16_t>(at + 30),
                          comment = number<std::uint16_t>(at + 32), start = at + kEntryBytes;
      if (bytes_.size() - start < name + extra) fail(bytes_.size(), kCut);
      m.name.assign(reinterpret_cast<const char*>(bytes_.data() + start), name);
      read_zip64(start + name, extra, m);
      found.push_back(std::move(m));
      at = start + name + extra + comment;
    }
    return found;
  }

  Array read(const Member& m, const std::string& name, Extent extent) const {
    if (number<std::uint32_t>(m.header) != kLocal) fail(m.header, "damaged ZIP member");
    const std::uint64_t start = m.header + kLocalBytes + number<std::uint16_t>(m.header + 26) +
                                number<std::uint16_t>(m.header + 28);
    if (start > bytes_.size() || bytes_.size() - start < m.packed) fail(bytes_.size(), kCut);
    if ((m.flags & 1) != 0) fail(m.header, "the archive is encrypted");
    const std::uint8_t* packed = bytes_.data() + start;
    if (m.method == kStored) {
      if (m.packed != m.size) fail(m.header, "damaged ZIP member");
      if (extent == Extent::all) check(packed, m.size, m);
      return parse_npy(file_->file(), name, packed, m.size, static_cast<std::int64_t>(start),
                       file_);
    }
    if (m.method != kDeflated)
      fail(m.header, "ZIP method " + std::to_string(m.method) +
                         " is not supported; write it with numpy.savez_compressed");
    if (m.size / kMaxGrowth > m.packed) fail(m.header, "an impossible size");
    const std::uint64_t wanted = extent == Extent::all ? m.size : std::min(m.size, kMaxNpyHeader);
    const auto memory = std::make_shared<std::vector<std::uint8_t>>(wanted);
    inflate_first(packed, start, m, *memory);
    if (wanted == m.size) check(memory->data(), m.size, m);
    return parse_npy(file_->file(), name, memory->data(), m.size, std::nullopt, memory, wanted);
  }

 private:
  static constexpr const char* kCut = "the ZIP archive ends too early";

  void find_directory(std::uint64_t& at, std::uint64_t& count) const {
    if (bytes_.size() < kEndBytes) fail(bytes_.size(), kCut);
    // The end record may be followed by a comment of up to 65,535 bytes.
    std::uint64_t end = bytes_.size() - kEndBytes;
    const std::uint64_t last = end > 65535 ? end - 65535 : 0;
    while (number<std::uint32_t>(end) != kEndOfDirectory) {
      if (end == last) fail(0, "not an NPZ file (no ZIP directory at its end)");
      --end;
    }
    count = number<std::uint16_t>(end + 10);
    at = number<std::uint32_t>(end + 16);
    if (end < kLocatorBytes || number<std::uint32_t>(end - kLocatorBytes) != kLocator64) return;
    const auto record = number<std::uint64_t>(end - kLocatorBytes + 8);
    if (number<std::uint32_t>(record) != kEndOfDirectory64) fail(record, "damaged ZIP64 record");
    count = number<std::uint64_t>(record + 32);
    at = number<std::uint64_t>(record + 48);
  }

  /// Sizes that do not fit into 32 bits stand in an extra field, in this order.
  void read_zip64(std::uint64_t at, std::uint64_t bytes, Member& m) const {
    for (const std::uint64_t end = at + bytes; end - at >= 4;) {
      const auto id = number<std::uint16_t>(at);
      const std::uint64_t length = number<std::uint16_t>(at + 2);
      if (length > end - at - 4) return;
      if (id == kZip64Field) {
        std::uint64_t from = at + 4;
        for (std::uint64_t* value : {&m.size, &m.packed, &m.header})
          if (*value == kSee64) {
            *value = number<std::uint64_t>(from);
            from += 8;
          }
      }
      at += 4 + length;
    }
  }

  /// As many bytes as `out` has.
  void inflate_first(const std::uint8_t* packed, std::uint64_t offset, const Member& m,
                     std::vector<std::uint8_t>& out) const {
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    std::uint64_t taken = 0, made = 0;
    int code = Z_OK;
    while (code == Z_OK) {
      constexpr std::uint64_t kChunk = 1u << 30;  // zlib counts in 32 bits
      const auto in = static_cast<uInt>(std::min(kChunk, m.packed - taken));
      const auto room = static_cast<uInt>(std::min<std::uint64_t>(kChunk, out.size() - made));
      stream.next_in = const_cast<Bytef*>(packed + taken);
      stream.avail_in = in;
      stream.next_out = out.data() + made;
      stream.avail_out = room;
      code = inflate(&stream, Z_NO_FLUSH);
      taken += in - stream.avail_in;
      made += room - stream.avail_out;
      if (code == Z_OK && in == stream.avail_in && room == stream.avail_out) break;
    }
    inflateEnd(&stream);
    const bool whole = out.size() == m.size;
    if (made != out.size() || (whole && code != Z_STREAM_END))
      fail(offset + taken, "damaged compressed data");
  }

  void check(const std::uint8_t* bytes, std::uint64_t size, const Member& m) const {
    if (static_cast<std::uint32_t>(crc32_z(0, bytes, size)) != m.checksum)
      fail(m.header, "the checksum of " + m.name + " is wrong");
  }

  std::shared_ptr<const MappedFile> file_;
  std::span<const std::uint8_t> bytes_;
};

}  // namespace

std::vector<std::string> npz_names(const std::filesystem::path& file) {
  std::vector<std::string> names;
  for (const Member& m : Archive(std::make_shared<const MappedFile>(file)).members())
    names.push_back(m.name.substr(0, m.name.rfind(".npy")));
  return names;
}

Array read_npz(const std::filesystem::path& file, const std::string& name, Extent extent) {
  const Archive archive(std::make_shared<const MappedFile>(file));
  std::string names;
  for (const Member& m : archive.members()) {
    if (m.name == name + ".npy" || m.name == name) return archive.read(m, name, extent);
    names += (names.empty() ? "" : ", ") + m.name.substr(0, m.name.rfind(".npy"));
  }
  throw DataError(file, DataError::kNoOffset,
                  "no array " + name + "; there are: " + (names.empty() ? "none" : names));
}

}  // namespace thalweg::engine
