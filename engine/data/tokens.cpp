// tokens: token numbers in a raw file (as data preparation scripts write them) or an array file.
#include "engine/data/tokens.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/data/header.h"
#include "engine/data/mapped_file.h"
#include "engine/data/table.h"
#include "engine/data/window_options.h"

namespace thalweg::engine {
namespace {

constexpr int kMaxTokens = 1 << 24;  // inputs are floats, which hold integers up to here

class TokenWindows final : public Dataset {
 public:
  TokenWindows(Array tokens, int vocabulary, std::int64_t length, std::int64_t stride)
      : Dataset({.input = {length},
                 .classes = vocabulary,
                 .labels = length,
                 .targets = 0,
                 .vocabulary = vocabulary}),
        tokens_(std::move(tokens)),
        length_(length),
        stride_(stride) {}
  std::size_t size() const override {
    const std::int64_t n = (tokens_.shape[0] - 1 - length_) / stride_ + 1;
    return static_cast<std::size_t>(n);
  }
  void copy(std::size_t index, float* out) const override {
    tokens_.read(static_cast<std::int64_t>(index) * stride_, length_, 0, 1, out);
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override {
    const std::int64_t first = static_cast<std::int64_t>(index) * stride_ + 1;
    for (std::int64_t i = 0; i < length_; ++i)
      out[i] = static_cast<std::int32_t>(tokens_.integer(first + i));
  }

 private:
  Array tokens_;
  std::int64_t length_, stride_;
};

struct RawType {
  const char* name;
  NumberType type;
};
constexpr RawType kRawTypes[] = {{"u16", NumberType::u16},
                                 {"u8", NumberType::u8},
                                 {"u32", NumberType::u32},
                                 {"i32", NumberType::i32}};

Array read_raw(const std::filesystem::path& file, const std::string& type_name) {
  const auto mapped = std::make_shared<const MappedFile>(file);
  Array array;
  for (const RawType& row : kRawTypes)
    if (type_name == row.name) array.type = row.type;
  const std::size_t bytes = mapped->bytes().size(), each = bytes_of(array.type);
  if (bytes % each != 0)
    throw DataError(file, static_cast<std::int64_t>(bytes - bytes % each),
                    "the last token is cut: " + std::to_string(bytes) +
                        " bytes are no multiple of " + std::to_string(each) + " (data.type is " +
                        type_name + ")");
  array.shape = {static_cast<std::int64_t>(bytes / each)};
  array.data = mapped->bytes().data();
  array.owner = mapped;
  array.name = file.string();
  array.offset = 0;
  return array;
}

Array read_tokens(const data::Options& options, const std::string& where, const std::string& type,
                  Extent extent) {
  const auto local = [&](const std::filesystem::path& file) {
    return data::local_file(options, file);
  };
  for (const char* ending : {".npy", ".npz:", ".h5:", ".hdf5:"})
    if (where.find(ending) != std::string::npos) {
      Array array = read_array(where, local, extent);
      if (array.shape.size() != 1 || !is_integer(array.type))
        throw DataError(array.name, array.offset, "tokens must be integers in one dimension");
      return array;
    }
  return read_raw(local(where), type);
}

/// Of tokens that are too many to read for what only they tell; 2 stand for a vocabulary that is
/// not known.
int vocabulary_unread(const Array& tokens, int vocabulary, data::HeaderFacts& facts) {
  facts.unseen.push_back(
      {"data.file", "may hold tokens outside of the vocabulary: " + tokens.name + " was not read"});
  if (vocabulary > 0) return vocabulary;
  facts.unseen.push_back({"data.vocabulary", "auto is the largest token + 1, and " + tokens.name +
                                                 " was not read; set it"});
  facts.classes_unknown = true;
  return 2;
}

std::unique_ptr<Dataset> make_tokens(const data::Options& options, data::HeaderFacts* header) {
  const auto read = [&](Extent extent) {
    return read_tokens(options, options.text("file"), options.text("type"), extent);
  };
  Array array = read(header == nullptr ? Extent::all : Extent::header);
  const std::size_t bytes = static_cast<std::size_t>(array.count()) * bytes_of(array.type);
  const bool unread = header != nullptr && bytes > data::kReadableBytes;
  if (array.data == nullptr && !unread) array = read(Extent::all);
  if (header != nullptr && array.offset < 0) header->held_bytes += bytes;
  const auto given = static_cast<int>(options.integer_or("vocabulary", 0));
  const int vocabulary =
      unread ? vocabulary_unread(array, given, *header) : check_tokens(array, given);
  const data::WindowOptions window = data::read_window(options);
  return token_windows(std::move(array), vocabulary, window.length, window.stride);
}

}  // namespace

std::unique_ptr<Dataset> token_windows(Array tokens, int vocabulary, std::int64_t length,
                                       std::int64_t stride) {
  if (tokens.shape[0] < length + stride + 1)
    throw DataError(tokens.name, DataError::kNoOffset,
                    std::to_string(tokens.shape[0]) + " tokens are not two samples of " +
                        std::to_string(length) + "; make data.length smaller");
  if (static_cast<std::uint64_t>(tokens.shape[0] / stride) >
      std::numeric_limits<std::uint32_t>::max())
    throw DataError(tokens.name, DataError::kNoOffset,
                    "more than 2^32 samples are not supported; make data.stride larger");
  return std::make_unique<TokenWindows>(std::move(tokens), vocabulary, length, stride);
}

int check_tokens(const Array& tokens, int vocabulary) {
  const std::int64_t end = vocabulary > 0 ? vocabulary : kMaxTokens;
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < tokens.shape[0]; ++i) {
    const std::int64_t token = tokens.integer(i);
    if (token < 0 || token >= end)
      throw DataError(tokens.name,
                      tokens.offset < 0
                          ? DataError::kNoOffset
                          : tokens.offset + i * static_cast<std::int64_t>(bytes_of(tokens.type)),
                      "token " + std::to_string(token) + " of number " + std::to_string(i) +
                          " is not in the vocabulary of " + std::to_string(end));
    largest = std::max(largest, token);
  }
  return vocabulary > 0 ? vocabulary : static_cast<int>(largest) + 1;
}

namespace data {

WindowOptions read_window(const Options& options) {
  WindowOptions w;
  w.length = options.integer("length");
  w.stride = options.integer_or("stride", w.length);
  return w;
}

std::vector<jobspec::Option> window_options() {
  constexpr double longest = 1 << 24;
  return {int_option("length", 128, 1, longest, "tokens in a sample"),
          int_option("stride", "auto", 1, longest,
                     "tokens from one sample's start to the next; auto = length")};
}

Row tokens() {
  std::vector<std::string> types;
  for (const RawType& raw : kRawTypes)
    types.emplace_back(raw.name);
  std::vector<jobspec::Option> options{
      required(or_list(path_option(
          "file", {},
          "raw little-endian token numbers, or an array (FILE.npy, FILE.npz:NAME, FILE.h5:NAME)"))),
      choice_option("type", std::move(types), "of a number in a raw file"),
      int_option("vocabulary", "auto", 2, kMaxTokens,
                 "how many different tokens there are; auto = the largest + 1")};
  for (jobspec::Option& o : window_options())
    options.push_back(std::move(o));
  return {"tokens",
          "a file of token numbers, to predict the next one",
          std::move(options),
          make_tokens,
          {"file"}};
}

}  // namespace data
}  // namespace thalweg::engine
