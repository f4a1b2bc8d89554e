// Byte-pair encoding (Sennrich et al., arXiv:1508.07909) over bytes: any text has tokens, none is
// unknown. Token 0 .. 255 is that byte, 256 + i what merge i joins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thalweg::engine {

class BytePairs {
 public:
  using Merge = std::pair<std::uint32_t, std::uint32_t>;
  static constexpr std::uint32_t kBytes = 256;

  /// Merges may only use bytes and merges before them.
  explicit BytePairs(std::vector<Merge> merges);
  std::uint32_t size() const { return kBytes + static_cast<std::uint32_t>(merges_.size()); }
  const std::vector<Merge>& merges() const { return merges_; }
  std::vector<std::uint32_t> encode(std::string_view text) const;
  std::string decode(const std::vector<std::uint32_t>& tokens) const;

 private:
  std::vector<std::uint32_t> encode_word(std::string_view word) const;

  std::vector<Merge> merges_;
  std::map<Merge, std::uint32_t> rank_;
  std::vector<std::string> text_;  ///< of every token
};

/// Joins the most frequent pair, again and again, until there are `size` tokens or no pair occurs
/// twice; of equally frequent ones the one with the smaller numbers.
BytePairs learn_byte_pairs(std::string_view text, std::uint32_t size);

/// merges.txt as GPT-2 and its followers come with: lines of two symbols, bytes written as
/// printable characters. Throws DataError.
BytePairs read_merges(const std::filesystem::path& file);

/// Words with the one blank before them, numbers, punctuation, and blanks: merges never cross
/// these.
std::vector<std::string_view> pre_tokenize(std::string_view text);

}  // namespace thalweg::engine
