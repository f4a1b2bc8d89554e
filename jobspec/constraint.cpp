// Recursive descent, one function for each level of precedence. The tree is walked for every
// combination; a grid may have ten million of them, so names are numbers there.
#include "jobspec/constraint.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <stdexcept>

#include "jobspec/scalar.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {

struct Constraint::Node {
  enum class Kind { literal, name, list, unary, binary, comparisons, all, any };
  Kind kind = Kind::literal;
  Value value{};         ///< literal
  std::string word{};    ///< name, or the operator
  std::size_t number{};  ///< name: its place in names()
  std::vector<Node> parts{};
  std::vector<std::string> operators{};  ///< comparisons: between the parts
};

namespace {

using Node = Constraint::Node;
using Kind = Node::Kind;

/// Of parentheses and signs within each other: so that no text overflows the stack.
constexpr int max_depth = 100;

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_part(char c) {
  return is_name_start(c) || is_digit(c) || c == '.';
}

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) { advance(); }

  Node whole() {
    Node node = disjunction();
    if (!token_.empty()) fail("found '" + token_ + "', expected an operator or the end");
    return node;
  }
  std::vector<std::string> names() { return std::move(names_); }

 private:
  enum class Token { end, name, quoted_name, number, text, symbol };

  [[noreturn]] void fail(const std::string& message) const {
    throw std::invalid_argument(message + " (character " + std::to_string(start_ + 1) + ")");
  }

  void advance() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
      ++at_;
    start_ = at_;
    if (at_ == text_.size()) {
      type_ = Token::end;
      token_.clear();
      return;
    }
    const char c = text_[at_];
    const bool fraction = c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
    if (is_name_start(c))
      take(Token::name, [](char next) { return is_name_part(next); });
    else if (is_digit(c) || fraction)
      take_number();
    else if (c == '\'' || c == '"' || c == '`')
      take_quoted(c);
    else
      take_symbol();
  }

  template <class Belongs>
  void take(Token type, const Belongs& belongs) {
    while (at_ < text_.size() && belongs(text_[at_]))
      ++at_;
    type_ = type;
    token_ = text_.substr(start_, at_ - start_);
  }

  void take_number() {
    take(Token::number, [this](char c) {
      const char before = at_ > start_ ? text_[at_ - 1] : ' ';
      return is_name_part(c) || ((c == '-' || c == '+') && (before == 'e' || before == 'E'));
    });
  }

  void take_quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos) fail(std::string("found no closing ") + quote);
    type_ = quote == '`' ? Token::quoted_name : Token::text;
    token_ = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
  }

  void take_symbol() {
    type_ = Token::symbol;
    for (const char* two : {"<=", ">=", "==", "!="})
      if (text_.compare(at_, 2, two) == 0) {
        token_ = two;
        at_ += 2;
        return;
      }
    token_ = text_.substr(at_++, 1);
    if (std::string_view("<>()[],+-*/%").find(token_[0]) == std::string_view::npos)
      fail("found '" + token_ + "'" +
           (token_ == "="                                     ? ", expected == for equality"
            : token_ == "&" || token_ == "|" || token_ == "!" ? ", expected and, or, not"
                                                              : ""));
  }

  bool is(std::string_view word) const {
    return (type_ == Token::symbol || type_ == Token::name) && token_ == word;
  }
  bool accept(std::string_view word) {
    if (!is(word)) return false;
    advance();
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word))
      fail("found " + (type_ == Token::end ? std::string("the end") : "'" + token_ + "'") +
           ", expected " + std::string(word));
  }

  Node chain(Kind kind, std::string_view word, Node (Parser::*next)()) {
    Node first = (this->*next)();
    if (!is(word)) return first;
    Node node{kind};
    node.parts.push_back(std::move(first));
    while (accept(word))
      node.parts.push_back((this->*next)());
    return node;
  }
  Node disjunction() { return chain(Kind::any, "or", &Parser::conjunction); }
  Node conjunction() { return chain(Kind::all, "and", &Parser::negation); }

  Node negation() {
    if (!is("not")) return comparison();
    const Deeper deeper(*this);
    advance();
    Node node{Kind::unary, {}, "not"};
    node.parts.push_back(negation());
    return node;
  }

  std::string comparison_operator() {
    static constexpr std::array symbols{"<", "<=", ">", ">=", "==", "!="};
    for (const char* symbol : symbols)
      if (type_ == Token::symbol && token_ == symbol) {
        advance();
        return symbol;
      }
    if (accept("in")) return "in";
    if (!accept("not")) return "";
    expect("in");
    return "not in";
  }

  Node comparison() {
    Node first = sum();
    Node node{Kind::comparisons};
    for (std::string op = comparison_operator(); !op.empty(); op = comparison_operator()) {
      node.operators.push_back(op);
      node.parts.push_back(op == "in" || op == "not in" ? list() : sum());
    }
    if (node.parts.empty()) return first;
    node.parts.insert(node.parts.begin(), std::move(first));
    return node;
  }

  Node list() {
    Node node{Kind::list};
    expect("[");
    do
      node.parts.push_back(sum());
    while (accept(","));
    expect("]");
    return node;
  }

  Node left_to_right(std::initializer_list<const char*> words, Node (Parser::*next)()) {
    Node node = (this->*next)();
    for (;;) {
      const auto word =
          std::find_if(words.begin(), words.end(), [&](const char* w) { return is(w); });
      if (word == words.end()) return node;
      Node both{Kind::binary, {}, *word};
      advance();
      both.parts.push_back(std::move(node));
      both.parts.push_back((this->*next)());
      // A long sum is a deep tree, too.
      if (++operations_ > max_operations) fail("found too many operations");
      node = std::move(both);
    }
  }
  Node sum() { return left_to_right({"+", "-"}, &Parser::product); }
  Node product() { return left_to_right({"*", "/", "%"}, &Parser::factor); }

  Node factor() {
    const Deeper deeper(*this);
    if (accept("-")) {
      Node node{Kind::unary, {}, "-"};
      node.parts.push_back(factor());
      return node;
    }
    if (accept("(")) {
      Node node = disjunction();
      expect(")");
      return node;
    }
    return primary();
  }

  Node primary() {
    Node node;
    switch (type_) {
      case Token::number:
        node.value = read_scalar(token_).value_or(Value());
        if (!node.value.is_number()) fail("found '" + token_ + "', expected a number");
        break;
      case Token::text:
        node.value = token_;
        break;
      case Token::quoted_name:
        node = named();
        break;
      case Token::name:
        if (token_ == "true" || token_ == "false")
          node.value = token_ == "true";
        else if (token_ == "and" || token_ == "or" || token_ == "not" || token_ == "in")
          fail("found '" + token_ + "', expected a value");
        else
          node = named();
        break;
      case Token::end:
        fail("found the end, expected a value");
      case Token::symbol:
        fail("found '" + token_ + "', expected a value");
    }
    advance();
    return node;
  }

  Node named() {
    const auto found = std::find(names_.begin(), names_.end(), token_);
    const auto number = static_cast<std::size_t>(found - names_.begin());
    if (found == names_.end()) names_.push_back(token_);
    return {Kind::name, {}, token_, number};
  }

  struct Deeper {
    explicit Deeper(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > max_depth) parser_.fail("found too many parentheses or signs");
    }
    ~Deeper() { --parser_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    Parser& parser_;
  };

  static constexpr int max_operations = 1000;
  const std::string& text_;
  std::size_t at_ = 0, start_ = 0;
  int depth_ = 0, operations_ = 0;
  Token type_ = Token::end;
  std::string token_;
  std::vector<std::string> names_;
};

class Walk {
 public:
  explicit Walk(const std::vector<const Value*>& values) : values_(values) {}

  Value of(const Node& node) const {
    switch (node.kind) {
      case Kind::literal:
        return node.value;
      case Kind::name:
        return *values_[node.number];
      case Kind::list:
        break;  // comparison() takes its parts
      case Kind::unary:
        if (node.word == "not") return !truth(node.parts[0]);
        return -number(node.parts[0], "-");
      case Kind::binary:
        return arithmetic(node);
      case Kind::comparisons:
        return comparison(node);
      case Kind::all:
        return std::all_of(node.parts.begin(), node.parts.end(),
                           [&](const Node& part) { return truth(part); });
      case Kind::any:
        return std::any_of(node.parts.begin(), node.parts.end(),
                           [&](const Node& part) { return truth(part); });
    }
    return {};
  }

  bool truth(const Node& node) const {
    const Value value = of(node);
    if (!value.is_bool())
      throw std::invalid_argument("found " + describe(value) + after(node) +
                                  ", expected true or false");
    return value.as_bool();
  }

 private:
  static std::string after(const Node& node) {
    return node.kind == Kind::name ? " of " + node.word : "";
  }

  double number(const Node& node, const std::string& with) const {
    const Value value = of(node);
    if (!value.is_number())
      throw std::invalid_argument("found " + describe(value) + after(node) + ", and " + with +
                                  " is for numbers");
    return value.as_double();
  }

  Value arithmetic(const Node& node) const {
    const double a = number(node.parts[0], node.word), b = number(node.parts[1], node.word);
    switch (node.word[0]) {
      case '+':
        return a + b;
      case '-':
        return a - b;
      case '*':
        return a * b;
      case '/':
        return a / b;
      default: {
        // The sign of the divisor, as in Python. fmod is exact on every machine.
        const double rest = std::fmod(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      }
    }
  }

  bool equal(const Node& a, const Node& b) const {
    const Value x = of(a), y = of(b);
    if (x.is_number() && y.is_number()) return x.as_double() == y.as_double();
    return x == y;
  }

  bool pair(const Node& a, const std::string& op, const Node& b) const {
    if (op == "==") return equal(a, b);
    if (op == "!=") return !equal(a, b);
    if (op == "in" || op == "not in") {
      const bool there = std::any_of(b.parts.begin(), b.parts.end(),
                                     [&](const Node& each) { return equal(a, each); });
      return there == (op == "in");
    }
    const double x = number(a, op), y = number(b, op);
    if (op == "<") return x < y;
    if (op == "<=") return x <= y;
    return op == ">" ? x > y : x >= y;
  }

  bool comparison(const Node& node) const {
    for (std::size_t i = 0; i < node.operators.size(); ++i)
      if (!pair(node.parts[i], node.operators[i], node.parts[i + 1])) return false;
    return true;
  }

  const std::vector<const Value*>& values_;
};

}  // namespace

Constraint::Constraint(const std::string& text) : text_(text) {
  Parser parser(text_);
  root_ = std::make_shared<const Node>(parser.whole());
  names_ = parser.names();
}

bool Constraint::holds(const std::vector<const Value*>& values) const {
  if (std::find(values.begin(), values.end(), nullptr) != values.end()) return true;
  return Walk(values).truth(*root_);
}

}  // namespace thalweg::jobspec
