// text: a plain text file, its bytes or byte pairs as tokens.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/data/bpe.h"
#include "engine/data/header.h"
#include "engine/data/mapped_file.h"
#include "engine/data/table.h"
#include "engine/data/tokens.h"
#include "engine/data/window_options.h"

namespace thalweg::engine::data {
namespace {

// What byte pairs are learnt from: more text hardly changes the pairs, but takes longer.
constexpr std::size_t kLearnBytes = std::size_t{32} << 20;

Array as_bytes(const std::shared_ptr<const MappedFile>& file) {
  Array array;
  array.type = NumberType::u8;
  array.shape = {static_cast<std::int64_t>(file->bytes().size())};
  array.data = file->bytes().data();
  array.owner = file;
  array.name = file->file().string();
  array.offset = 0;
  return array;
}

Array as_pairs(const MappedFile& file, std::string_view text, const BytePairs& pairs) {
  const auto tokens = std::make_shared<const std::vector<std::uint32_t>>(pairs.encode(text));
  Array array;
  array.type = NumberType::u32;
  array.shape = {static_cast<std::int64_t>(tokens->size())};
  array.data = reinterpret_cast<const std::uint8_t*>(tokens->data());
  array.owner = tokens;
  array.name = file.file().string();
  return array;
}

/// Learnt once for all sets of a dataset, which are loaded one after another.
BytePairs learnt_from(const std::filesystem::path& file, std::uint32_t size) {
  struct Learnt {
    std::filesystem::path file;
    std::filesystem::file_time_type time;
    std::uint32_t size;
    BytePairs pairs;
  };
  thread_local std::optional<Learnt> last;
  const auto time = std::filesystem::last_write_time(file);
  if (!last || last->file != file || last->time != time || last->size != size) {
    const MappedFile mapped(file);
    const std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()),
                                std::min(mapped.bytes().size(), kLearnBytes));
    last = Learnt{file, time, size, learn_byte_pairs(text, size)};
  }
  return last->pairs;
}

std::unique_ptr<Dataset> make_text(const Options& options, HeaderFacts* header) {
  const WindowOptions window = read_window(options);
  const auto file = std::make_shared<const MappedFile>(local_file(options, options.text("file")));
  const bool merges = options.has("merges");
  if (options.text("vocabulary") == "byte") {
    if (merges)
      throw std::invalid_argument("data.merges: bytes have no merges; set data.vocabulary to bpe");
    return token_windows(as_bytes(file), static_cast<int>(BytePairs::kBytes), window.length,
                         window.stride);
  }
  if (header != nullptr) {
    header->unseen.push_back({"data.file", "has as many tokens as byte pairs are found in " +
                                               file->file().string() + ", which was not read"});
    return nullptr;
  }
  const std::string_view all(reinterpret_cast<const char*>(file->bytes().data()),
                             file->bytes().size());
  // A validation text is read in the training text's pairs.
  const BytePairs pairs =
      merges ? read_merges(options.text("merges"))
             : learnt_from(options.has("training_file")
                               ? local_file(options, options.text("training_file"))
                               : file->file(),
                           static_cast<std::uint32_t>(options.integer("vocabulary_size")));
  return token_windows(as_pairs(*file, all, pairs), static_cast<int>(pairs.size()), window.length,
                       window.stride);
}

}  // namespace

Row text() {
  std::vector<jobspec::Option> options{
      required(or_list(path_option("file", {}, "any text"))),
      choice_option("vocabulary", {"byte", "bpe"}, "tokens are bytes, or byte pairs (bpe)"),
      int_option("vocabulary_size", 4096, 257, 1 << 20,
                 "of bpe: tokens, learnt from the (first) text's first 32 MiB"),
      path_option("merges", {}, "of bpe: GPT-2's merges.txt instead of learning")};
  for (jobspec::Option& o : window_options())
    options.push_back(std::move(o));
  return {"text",
          "a plain text, to predict the next byte or byte pair",
          std::move(options),
          make_text,
          {"file"}};
}

}  // namespace thalweg::engine::data
