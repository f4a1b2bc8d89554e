// Reads C++ as far as texts need it: literals, comments, brackets and the operators that join.
#include "tests/layering/messages.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>

namespace {

struct Token {
  int line = 0;
  bool literal = false;
  std::string text;
};

char meaning_of(char escaped) {
  return escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
}

/// Goes through a source, token by token.
class Scanner {
 public:
  explicit Scanner(const std::string& source) : source_(source) {}

  std::vector<Token> run() {
    while (at_ < source_.size())
      step();
    return std::move(tokens_);
  }

 private:
  bool here(const char* text) const {
    return source_.compare(at_, std::string(text).size(), text) == 0;
  }

  void skip_to(const char* end) {
    const std::size_t found = std::min(source_.find(end, at_), source_.size());
    line_ +=
        static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                    source_.begin() + static_cast<std::ptrdiff_t>(found), '\n'));
    at_ = found;
  }

  void step() {
    const char c = source_[at_];
    if (here("//") || here("#include")) return skip_to("\n");
    if (here("/*")) return skip_to("*/"), void(at_ += 2);
    if (here("R\"")) return raw_literal();
    if (c == '"') return literal();
    if (c == '\'' && (at_ == 0 || std::isalnum(static_cast<unsigned char>(source_[at_ - 1])) == 0))
      return character();
    line_ += c == '\n' ? 1 : 0;
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      const bool shift = here("<<");
      tokens_.push_back({line_, false, shift ? "<<" : std::string(1, c)});
      at_ += shift ? 1 : 0;
    }
    ++at_;
  }

  void raw_literal() {
    const std::size_t open = source_.find('(', at_);
    const std::string end = ")" + source_.substr(at_ + 2, open - at_ - 2) + "\"";
    const std::size_t close = source_.find(end, open);
    tokens_.push_back({line_, true, source_.substr(open + 1, close - open - 1)});
    skip_to(end.c_str());
    at_ += end.size();
  }

  void literal() {
    Token token{line_, true, ""};
    for (++at_; at_ < source_.size() && source_[at_] != '"'; ++at_)
      token.text += source_[at_] == '\\' ? meaning_of(source_[++at_]) : source_[at_];
    ++at_;
    tokens_.push_back(std::move(token));
  }

  void character() {
    at_ += source_[at_ + 1] == '\\' ? 2 : 1;
    skip_to("'");
    ++at_;
  }

  const std::string& source_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

/// Where the next literal is that the operator at `at` joins to the one before it; 0: none.
std::size_t joined_by(const std::vector<Token>& tokens, std::size_t at) {
  const std::string& join = tokens[at].text;
  int depth = 0;
  for (std::size_t i = at + 1; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.literal && depth == 0 && tokens[i - 1].text == join) return i;
    if (token.literal) continue;
    if (token.text.find_first_of("([{") != std::string::npos) ++depth;
    if (token.text.find_first_of(")]}") != std::string::npos && --depth < 0) return 0;
    if (depth == 0 && token.text.find_first_of(",;?=") != std::string::npos) return 0;
  }
  return 0;
}

}  // namespace

std::vector<Message> messages_of(const std::string& source) {
  const std::vector<Token> tokens = Scanner(source).run();
  static const std::regex placeholder(R"(\{[^{}\s]*\})");
  std::vector<bool> used(tokens.size());
  std::vector<Message> messages;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].literal || used[i]) continue;
    Message message{tokens[i].line, tokens[i].text};
    for (std::size_t next = i + 1; next < tokens.size();) {
      if (!tokens[next].literal) {
        if (tokens[next].text != "+" && tokens[next].text != "<<") break;
        const std::size_t literal = joined_by(tokens, next);
        if (literal != next + 1) message.text += "X";
        if (literal == 0) break;
        next = literal;
      }
      message.text += tokens[next].text;
      used[next++] = true;
    }
    if (message.text.find('{') != std::string::npos)
      message.text = std::regex_replace(message.text, placeholder, "X");
    messages.push_back(std::move(message));
  }
  return messages;
}

bool is_prose(const std::string& text) {
  static const std::regex statement(
      R"(\s*(select|insert into|update \w+ set|delete from|create (table|index|view|trigger|temp|unique)|with \w+( \(.*\))? as|drop|alter|pragma)\b)",
      std::regex::icase);
  int words = 0;
  std::istringstream parts(text);
  for (std::string part; parts >> part;) {
    const auto letters = std::count_if(part.begin(), part.end(),
                                       [](unsigned char c) { return std::isalpha(c) != 0; });
    words += letters >= 2 ? 1 : 0;
  }
  return words >= 4 && !std::regex_search(text, statement, std::regex_constants::match_continuous);
}
