// Reads IDX files; zlib reads plain and gzip files alike.
#include "engine/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "engine/data/header.h"
#include "engine/data/unpacked_copy.h"

namespace thalweg::engine {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
// Memory is taken as data arrives, so that a wrong header cannot ask for terabytes.
constexpr std::size_t kChunk = std::size_t{16} << 20;
// What deflate may reach (zlib.net/zlib_tech.html): 1032 bytes of one.
constexpr std::uintmax_t kMaxRatio = 1032;

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : file_(file) {
    errno = 0;
    gz_ = gzopen(file.c_str(), "rb");
    if (gz_ == nullptr)
      throw DataError(file, DataError::kNoOffset,
                      std::string("cannot open: ") + std::strerror(errno != 0 ? errno : ENOMEM));
    gzbuffer(gz_, 1u << 18);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { gzclose(gz_); }

  /// Up to `bytes`; fewer only at the end of the file.
  std::size_t read(std::uint8_t* out, std::size_t bytes) {
    std::size_t done = 0;
    while (done < bytes) {
      const auto want = static_cast<unsigned>(std::min(bytes - done, kChunk));
      const int got = gzread(gz_, out + done, want);
      int code = Z_OK;
      const char* text = gzerror(gz_, &code);
      if (got < 0 || code == Z_BUF_ERROR || code == Z_DATA_ERROR)
        fail(code == Z_BUF_ERROR ? "the compressed data end too early"
             : code == Z_ERRNO   ? std::string("cannot read: ") + std::strerror(errno)
                                 : std::string("damaged compressed data (") + text + ")");
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
      offset_ += got;
    }
    return done;
  }
  bool compressed() const { return gzdirect(gz_) == 0; }
  [[noreturn]] void fail(const std::string& reason) const {
    throw DataError(file_, offset_, reason);
  }
  [[noreturn]] void fail_at(std::int64_t offset, const std::string& reason) const {
    throw DataError(file_, offset, reason);
  }

 private:
  const std::filesystem::path& file_;
  gzFile gz_ = nullptr;
  std::int64_t offset_ = 0;
};

std::vector<std::uint32_t> read_sizes(Reader& reader) {
  std::array<std::uint8_t, 4> word{};
  if (reader.read(word.data(), 4) < 4) reader.fail("too short for an IDX header");
  if (word[0] != 0 || word[1] != 0)
    reader.fail_at(0, "not an IDX file (it starts with two zero bytes)");
  if (word[2] != kUnsignedByte)
    reader.fail_at(
        2, "value type " + std::to_string(word[2]) + " is not supported, only 8 (unsigned byte)");
  if (word[3] == 0 || word[3] > 4)
    reader.fail_at(3, "expected 1 to 4 dimensions, found " + std::to_string(word[3]));
  std::vector<std::uint32_t> sizes(word[3]);
  for (std::uint32_t& size : sizes) {
    if (reader.read(word.data(), 4) < 4) reader.fail("the header ends too early");
    size = std::uint32_t{word[0]} << 24 | std::uint32_t{word[1]} << 16 |
           std::uint32_t{word[2]} << 8 | word[3];
  }
  return sizes;
}

std::uint64_t product(const Reader& reader, const std::vector<std::uint32_t>& sizes) {
  std::uint64_t total = 1;
  std::int64_t offset = 4;
  for (const std::uint32_t size : sizes) {
    if (size == 0) reader.fail_at(offset, "a dimension has size 0");
    if (total > (std::uint64_t{1} << 44) / size)
      reader.fail_at(offset, "the dimensions multiply to an impossible size");
    total *= size;
    offset += 4;
  }
  return total;
}

}  // namespace

Idx read_idx(const std::filesystem::path& file) {
  Reader reader(file);
  Idx idx;
  idx.sizes = read_sizes(reader);
  const std::uint64_t total = product(reader, idx.sizes);
  std::error_code unknown;
  const std::uintmax_t held = std::filesystem::file_size(file, unknown);
  if (!unknown) idx.values.reserve(std::min(total, held * kMaxRatio));
  while (idx.values.size() < total) {
    const std::size_t before = idx.values.size();
    const std::size_t want = std::min<std::uint64_t>(kChunk, total - before);
    idx.values.resize(before + want);
    if (reader.read(idx.values.data() + before, want) < want)
      reader.fail("the file ends too early: its header promises " + std::to_string(total) +
                  " values");
  }
  std::uint8_t extra = 0;
  if (reader.read(&extra, 1) != 0)
    reader.fail_at(static_cast<std::int64_t>(4 + 4 * idx.sizes.size() + total),
                   "more data than the header promises (" + std::to_string(total) + " values)");
  return idx;
}

Idx read_idx_header(const std::filesystem::path& file) {
  Reader reader(file);
  Idx idx;
  idx.sizes = read_sizes(reader);
  product(reader, idx.sizes);
  return idx;
}

namespace {

/// Sizes, and values that may be mapped.
struct IdxImages {
  std::vector<std::uint32_t> sizes;
  SharedBytes values;
};

IdxImages unpack_images(const std::filesystem::path& file) {
  auto idx = std::make_shared<Idx>(read_idx(file));
  return {idx->sizes, {idx, idx->values}};
}

/// By the unpacked copy where there is one; else one is made of what was unpacked.
IdxImages read_images(const std::filesystem::path& file) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) return unpack_images(file);  // read once
  std::vector<std::uint32_t> sizes;
  std::uint64_t total = 0;
  {
    Reader reader(file);
    sizes = read_sizes(reader);
    if (!reader.compressed()) return unpack_images(file);
    total = product(reader, sizes);
  }
  const UnpackedCopy copy(file, total);
  if (auto values = copy.read()) return {std::move(sizes), *std::move(values)};
  IdxImages images = unpack_images(file);
  copy.write(images.values.bytes);
  return images;
}

/// Of bytes, by the pair's mean and deviation.
StoredForm stored_form(const IdxPair& pair) {
  StoredForm form;
  for (std::size_t p = 0; p < form.patterns(); ++p)
    form.values.push_back(
        static_cast<float>((static_cast<double>(p) / 255 - pair.mean) / pair.deviation));
  return form;
}

class ByteImages : public Dataset {
 public:
  ByteImages(SharedBytes images, std::vector<std::uint8_t> labels, std::vector<std::int64_t> shape,
             int classes, const IdxPair& pair)
      : Dataset({.input = std::move(shape), .classes = classes}),
        images_(std::move(images)),
        labels_(std::move(labels)),
        floats_(images_.bytes.size() / labels_.size()),
        stored_(stored_form(pair)) {}
  std::size_t size() const override { return labels_.size(); }
  const StoredForm* stored() const override { return &stored_; }
  const std::uint8_t* stored_sample(std::size_t index) const override {
    return images_.bytes.data() + index * floats_;
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override { *out = labels_[index]; }

 private:
  SharedBytes images_;
  std::vector<std::uint8_t> labels_;
  std::size_t floats_;
  StoredForm stored_;
};

}  // namespace

namespace {

/// The largest label + 1 where the pair does not say.
int classes_of(const IdxPair& pair, const Idx& labels) {
  const auto largest = std::max_element(labels.values.begin(), labels.values.end());
  const int classes = pair.classes > 0 ? pair.classes : *largest + 1;
  if (*largest >= classes)
    throw DataError(pair.labels, 8 + (largest - labels.values.begin()),
                    "label " + std::to_string(*largest) + " of image " +
                        std::to_string(largest - labels.values.begin()) + ", but there are " +
                        std::to_string(classes) + " classes");
  return classes;
}

std::unique_ptr<Dataset> header_of(const IdxPair& pair, const IdxImages& images, int classes,
                                   std::vector<std::int64_t> shape, data::HeaderFacts& facts) {
  std::size_t bytes = 1;
  for (const std::uint32_t size : images.sizes)
    bytes *= size;
  facts.held_bytes += bytes + images.sizes[0];
  return std::make_unique<data::HeaderOnly>(
      SampleForm{.input = std::move(shape), .classes = classes}, images.sizes[0],
      stored_form(pair));
}

}  // namespace

std::unique_ptr<Dataset> load_idx_pair(const IdxPair& pair, data::HeaderFacts* facts) {
  IdxImages images = facts == nullptr ? read_images(pair.images)
                                      : IdxImages{read_idx_header(pair.images).sizes, {}};
  Idx labels = read_idx(pair.labels);  // a byte each: read at once even of millions
  if (images.sizes.size() < 2)
    throw DataError(pair.images, 3, "images need 2 to 4 dimensions, found 1");
  if (labels.sizes.size() != 1)
    throw DataError(pair.labels, 3,
                    "labels need 1 dimension, found " + std::to_string(labels.sizes.size()));
  if (labels.sizes[0] != images.sizes[0])
    throw DataError(pair.labels, 4,
                    std::to_string(labels.sizes[0]) + " labels for " +
                        std::to_string(images.sizes[0]) + " images in " + pair.images.string());
  const int classes = classes_of(pair, labels);
  std::vector<std::int64_t> shape(images.sizes.begin() + 1, images.sizes.end());
  if (shape.size() == 2) shape.insert(shape.begin(), 1);  // one colour
  if (facts != nullptr) return header_of(pair, images, classes, std::move(shape), *facts);
  return std::make_unique<ByteImages>(std::move(images.values), std::move(labels.values),
                                      std::move(shape), classes, pair);
}

}  // namespace thalweg::engine
