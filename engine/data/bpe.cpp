#include "engine/data/bpe.h"

#include <algorithm>
#include <queue>
#include <set>
#include <unordered_map>

#include "engine/data/dataset.h"
#include "engine/data/mapped_file.h"

namespace thalweg::engine {
namespace {

enum class Character { blank, letter, digit, other };

Character kind_of(char c) {
  const auto u = static_cast<unsigned char>(c);
  if (u == ' ' || (u >= '\t' && u <= '\r')) return Character::blank;
  if ((u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || u >= 0x80) return Character::letter;
  if (u >= '0' && u <= '9') return Character::digit;
  return Character::other;
}

using Merge = BytePairs::Merge;

/// The words of a text with their counts, and where each pair of neighbours occurs.
class Learner {
 public:
  explicit Learner(std::string_view text) {
    std::map<std::string_view, std::int64_t> counts;
    for (const std::string_view word : pre_tokenize(text))
      ++counts[word];
    for (const auto& [spelling, count] : counts) {
      Word word;
      for (const char c : spelling)
        word.symbols.push_back(static_cast<unsigned char>(c));
      word.count = count;
      words_.push_back(std::move(word));
    }
    for (std::size_t w = 0; w < words_.size(); ++w)
      add(w, +1);
    for (const auto& [pair, use] : uses_)
      queue_.push({use.count, pair});
  }

  std::vector<Merge> learn(std::size_t most) {
    std::vector<Merge> merges;
    while (merges.size() < most && !queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const auto found = uses_.find(best.pair);
      const std::int64_t count = found == uses_.end() ? 0 : found->second.count;
      if (count != best.count) {  // has changed since: it waits with its true count
        if (count > 0) queue_.push({count, best.pair});
        continue;
      }
      if (count < 2) break;
      join(best.pair, BytePairs::kBytes + static_cast<std::uint32_t>(merges.size()));
      merges.push_back(best.pair);
    }
    return merges;
  }

 private:
  struct Word {
    std::vector<std::uint32_t> symbols;
    std::int64_t count = 0;
  };
  struct Use {
    std::int64_t count = 0;
    std::set<std::size_t> words;  ///< may name words that have it no more
  };
  struct Candidate {
    std::int64_t count;
    Merge pair;
    bool operator<(const Candidate& o) const {
      return count != o.count ? count < o.count : pair > o.pair;
    }
  };

  void add(std::size_t w, std::int64_t sign) {
    const Word& word = words_[w];
    for (std::size_t i = 1; i < word.symbols.size(); ++i) {
      const Merge pair{word.symbols[i - 1], word.symbols[i]};
      Use& use = uses_[pair];
      use.count += sign * word.count;
      if (sign > 0) {
        use.words.insert(w);
        touched_.insert(pair);
      }
    }
  }

  void join(const Merge& pair, std::uint32_t symbol) {
    touched_.clear();
    const std::set<std::size_t> words = uses_[pair].words;
    for (const std::size_t w : words) {
      add(w, -1);
      std::vector<std::uint32_t> joined;
      const auto& old = words_[w].symbols;
      for (std::size_t i = 0; i < old.size(); ++i) {
        const bool here = i + 1 < old.size() && old[i] == pair.first && old[i + 1] == pair.second;
        joined.push_back(here ? symbol : old[i]);
        if (here) ++i;
      }
      words_[w].symbols = std::move(joined);
      add(w, +1);
    }
    uses_.erase(pair);
    for (const Merge& other : touched_)
      if (const auto use = uses_.find(other); use != uses_.end())
        queue_.push({use->second.count, other});
  }

  std::vector<Word> words_;
  std::map<Merge, Use> uses_;
  std::set<Merge> touched_;
  std::priority_queue<Candidate> queue_;
};

/// GPT-2's spelling of bytes: printable ones as they are, the others from U+0100 on.
std::unordered_map<std::uint32_t, std::uint32_t> bytes_of_characters() {
  std::unordered_map<std::uint32_t, std::uint32_t> bytes;
  std::uint32_t next = 256;
  for (std::uint32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    bytes[printable ? b : next++] = b;
  }
  return bytes;
}

/// The symbols of one line of merges.txt as bytes.
class MergeReader {
 public:
  explicit MergeReader(const MappedFile& file)
      : file_(file),
        text_(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()) {
    for (std::uint32_t b = 0; b < BytePairs::kBytes; ++b)
      token_[std::string(1, static_cast<char>(b))] = b;
  }

  std::vector<Merge> read() {
    std::vector<Merge> merges;
    for (std::size_t begin = 0; begin < text_.size();) {
      std::size_t end = text_.find('\n', begin);
      if (end == std::string_view::npos) end = text_.size();
      std::string_view line = text_.substr(begin, end - begin);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty() && !line.starts_with("#version")) take(line, begin, merges);
      begin = end + 1;
    }
    if (merges.empty()) fail(0, "no merges in the file");
    return merges;
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& reason) const {
    throw DataError(file_.file(), static_cast<std::int64_t>(at), reason);
  }

  void take(std::string_view line, std::size_t at, std::vector<Merge>& merges) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos || line.find(' ', blank + 1) != std::string_view::npos)
      fail(at, "a line is not two symbols with a blank between them");
    const std::string left = to_bytes(line.substr(0, blank), at),
                      right = to_bytes(line.substr(blank + 1), at + blank + 1);
    const auto l = token_.find(left), r = token_.find(right);
    if (l == token_.end()) fail(at, "a symbol that no line before makes");
    if (r == token_.end()) fail(at + blank + 1, "a symbol that no line before makes");
    token_.emplace(left + right, BytePairs::kBytes + static_cast<std::uint32_t>(merges.size()));
    merges.emplace_back(l->second, r->second);
  }

  std::string to_bytes(std::string_view symbol, std::size_t at) const {
    static const auto bytes = bytes_of_characters();
    std::string out;
    for (std::size_t i = 0; i < symbol.size(); ++i) {
      auto c = static_cast<unsigned char>(symbol[i]);
      std::uint32_t character = c;
      if (c >= 0x80) {  // all characters of the spelling have at most two bytes of UTF-8
        const bool two = (c & 0xe0) == 0xc0 && i + 1 < symbol.size();
        if (!two) fail(at + i, "a character that stands for no byte");
        character = (c & 0x1fu) << 6 | (static_cast<unsigned char>(symbol[++i]) & 0x3fu);
      }
      const auto found = bytes.find(character);
      if (found == bytes.end()) fail(at + i, "a character that stands for no byte");
      out += static_cast<char>(found->second);
    }
    return out;
  }

  const MappedFile& file_;
  std::string_view text_;
  std::unordered_map<std::string, std::uint32_t> token_;
};

}  // namespace

std::vector<std::string_view> pre_tokenize(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    const bool leads = text[begin] == ' ' && begin + 1 < text.size() &&
                       kind_of(text[begin + 1]) != Character::blank;
    if (leads) ++end;
    const Character kind = kind_of(text[end]);
    while (end < text.size() && kind_of(text[end]) == kind)
      ++end;
    // The last blank of several belongs to the word after them.
    if (kind == Character::blank && end < text.size() && end - begin > 1 && text[end - 1] == ' ')
      --end;
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

BytePairs::BytePairs(std::vector<Merge> merges) : merges_(std::move(merges)) {
  for (std::uint32_t b = 0; b < kBytes; ++b)
    text_.emplace_back(1, static_cast<char>(b));
  for (const Merge& merge : merges_) {
    rank_.emplace(merge, static_cast<std::uint32_t>(text_.size()));
    text_.push_back(text_.at(merge.first) + text_.at(merge.second));
  }
}

std::vector<std::uint32_t> BytePairs::encode_word(std::string_view word) const {
  std::vector<std::uint32_t> symbols;
  for (const char c : word)
    symbols.push_back(static_cast<unsigned char>(c));
  while (true) {  // the earliest merge first, wherever it applies
    std::uint32_t first = size();
    std::size_t at = 0;
    for (std::size_t i = 1; i < symbols.size(); ++i) {
      const auto merge = rank_.find({symbols[i - 1], symbols[i]});
      if (merge != rank_.end() && merge->second < first) first = merge->second, at = i;
    }
    if (first == size()) return symbols;
    symbols[at - 1] = first;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

std::vector<std::uint32_t> BytePairs::encode(std::string_view text) const {
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> known;
  std::vector<std::uint32_t> tokens;
  for (const std::string_view word : pre_tokenize(text)) {
    auto found = known.find(word);
    if (found == known.end()) found = known.emplace(word, encode_word(word)).first;
    tokens.insert(tokens.end(), found->second.begin(), found->second.end());
  }
  return tokens;
}

std::string BytePairs::decode(const std::vector<std::uint32_t>& tokens) const {
  std::string text;
  for (const std::uint32_t token : tokens)
    text += text_.at(token);
  return text;
}

BytePairs learn_byte_pairs(std::string_view text, std::uint32_t size) {
  return BytePairs(Learner(text).learn(size - std::min(size, BytePairs::kBytes)));
}

BytePairs read_merges(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  return BytePairs(MergeReader(mapped).read());
}

}  // namespace thalweg::engine
