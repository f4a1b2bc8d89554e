// Only the order of words and brackets matters here, so this knows SQLite's words (plain and
// quoted), strings and comments, and takes every other character as a word of its own.
#include "db/sqlite/cte.h"

#include <cctype>
#include <utility>
#include <vector>

namespace thalweg::db::sqlite {
namespace {

bool in_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || c == '$' || byte >= 0x80;
}

struct Word {
  std::string text;     ///< lower case, without quotes
  bool quoted = false;  ///< then it is a name, whatever it says
};

class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  std::vector<Word> all() {
    std::vector<Word> words;
    while (skip_space(), at_ < text_.size())
      words.push_back(next());
    return words;
  }

 private:
  bool starts(std::string_view with) const { return text_.substr(at_).starts_with(with); }
  void skip_to(std::string_view end) {
    const auto found = text_.find(end, at_);
    at_ = found == std::string_view::npos ? text_.size() : found + end.size();
  }

  void skip_space() {
    for (;;) {
      if (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
        ++at_;
      else if (starts("--"))
        skip_to("\n");
      else if (starts("/*"))
        at_ += 2, skip_to("*/");
      else
        return;
    }
  }

  Word next() {
    const char c = text_[at_];
    if (c == '"' || c == '`' || c == '\'' || c == '[') return {quoted(c == '[' ? ']' : c), true};
    std::string word;
    do
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(text_[at_++])));
    while (in_word(c) && at_ < text_.size() && in_word(text_[at_]));
    return {std::move(word)};
  }

  /// A doubled quote stands for one, but for brackets.
  std::string quoted(char end) {
    std::string word;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == end) {
        ++at_;
        if (end == ']' || at_ == text_.size() || text_[at_] != end) return word;
      }
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(text_[at_])));
    }
    return word;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string shadowed(std::string_view sql, const Names& names) {
  const std::vector<Word> words = Words(sql).all();
  const auto is = [&](std::size_t i, std::string_view what) {
    return i < words.size() && !words[i].quoted && words[i].text == what;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!names.contains(words[i].text)) continue;
    std::size_t k = i + 1;
    if (is(k, "(")) {
      while (k < words.size() && !is(k, ")"))
        ++k;
      ++k;
    }
    if (!is(k, "as")) continue;
    ++k;
    if (is(k, "not")) ++k;
    if (is(k, "materialized")) ++k;
    if (is(k, "(")) return words[i].text;
  }
  return {};
}

}  // namespace thalweg::db::sqlite
