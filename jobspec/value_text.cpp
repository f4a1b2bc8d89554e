// Writing a Value: one-line JSON, canonical JSON, block YAML.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "jobspec/scalar.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {
namespace {

void append_int(std::string& out, std::int64_t i) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, i).ptr);
}

/// Shortest text that reads back the same, and as a real: "1" becomes "1.0".
void append_real(std::string& out, double d) {
  char text[40];
  char* const end = std::to_chars(text, text + sizeof text, d).ptr;
  out.append(text, end);
  const auto marks_real = [](char c) { return c == '.' || c == 'e'; };
  if (std::none_of(text, end, marks_real)) out += ".0";
}

const char* name_of_non_finite(double d) {
  if (std::isnan(d)) return "nan";
  return d < 0 ? "-inf" : "inf";
}

void append_quoted(std::string& out, std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += "\\u00";
          out += digits[static_cast<unsigned char>(c) >> 4];
          out += digits[static_cast<unsigned char>(c) & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

struct JsonWriter {
  std::string& out;
  bool canonical;

  void operator()(std::monostate) const { out += "null"; }
  void operator()(bool b) const { out += b ? "true" : "false"; }
  void operator()(std::int64_t i) const { append_int(out, i); }
  void operator()(double d) const {
    if (!std::isfinite(d)) {
      append_quoted(out, name_of_non_finite(d));
    } else if (canonical && is_int64(d)) {
      append_int(out, static_cast<std::int64_t>(d));
    } else {
      append_real(out, d);
    }
  }
  void operator()(const std::string& s) const { append_quoted(out, s); }
  void operator()(const List& list) const {
    out += '[';
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i) out += ',';
      std::visit(*this, list[i].data());
    }
    out += ']';
  }
  void operator()(const Map& map) const {
    out += '{';
    if (canonical) {
      std::vector<const Map::value_type*> entries;
      entries.reserve(map.size());
      for (const auto& entry : map)
        entries.push_back(&entry);
      std::sort(entries.begin(), entries.end(),
                [](const auto* a, const auto* b) { return a->first < b->first; });
      for (const auto* entry : entries)
        member(*entry, entry == entries.front());
    } else {
      for (const auto& entry : map)
        member(entry, &entry == map.data());
    }
    out += '}';
  }
  void member(const Map::value_type& entry, bool first) const {
    if (!first) out += ',';
    append_quoted(out, entry.first);
    out += ':';
    std::visit(*this, entry.second.data());
  }
};

/// Plain text in YAML only where nothing in it could mean anything else.
bool needs_quotes(const std::string& text) {
  const auto plain = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '/' || c == '.' || c == '-' || c == '+';
  };
  if (text.empty() || text[0] == '-' || text[0] == '.' || text[0] == '+') return true;
  if (!std::all_of(text.begin(), text.end(), plain)) return true;
  const std::optional<Value> read = read_scalar(text);
  return !read || !read->is_string();
}

void append_yaml_text(std::string& out, const std::string& text) {
  if (needs_quotes(text)) {
    append_quoted(out, text);
  } else {
    out += text;
  }
}

bool is_leaf(const Value& value) {
  if (value.is_list()) return value.as_list().empty();
  if (value.is_map()) return value.as_map().empty();
  return true;
}

void append_leaf(std::string& out, const Value& value) {
  if (value.is_string()) {
    append_yaml_text(out, value.as_string());
  } else if (value.is_number() && !value.is_int() && !std::isfinite(value.as_double())) {
    const double d = value.as_double();
    out += std::isnan(d) ? ".nan" : d < 0 ? "-.inf" : ".inf";
  } else {
    out += value.to_json();
  }
}

void append_block(std::string& out, const Value& value, int indent);

/// What follows "key:" or "-".
void append_after(std::string& out, const Value& value, int indent) {
  const bool flat = value.is_list() && std::all_of(value.as_list().begin(), value.as_list().end(),
                                                   [](const Value& v) { return is_leaf(v); });
  if (is_leaf(value)) {
    out += ' ';
    append_leaf(out, value);
    out += '\n';
  } else if (flat) {
    out += " [";
    for (std::size_t i = 0; i < value.as_list().size(); ++i) {
      if (i) out += ", ";
      append_leaf(out, value.as_list()[i]);
    }
    out += "]\n";
  } else {
    out += '\n';
    append_block(out, value, indent + 2);
  }
}

void append_block(std::string& out, const Value& value, int indent) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  if (value.is_map()) {
    for (const auto& [key, inner] : value.as_map()) {
      out += margin;
      append_yaml_text(out, key);
      out += ':';
      append_after(out, inner, indent);
    }
  } else {
    for (const Value& inner : value.as_list()) {
      out += margin + "-";
      append_after(out, inner, indent);
    }
  }
}

}  // namespace

std::string Value::to_json() const {
  std::string out;
  std::visit(JsonWriter{out, false}, data_);
  return out;
}

std::string Value::canonical() const {
  std::string out;
  std::visit(JsonWriter{out, true}, data_);
  return out;
}

std::string Value::to_text() const {
  if (is_string()) return as_string();
  if (is_number() && !is_int() && !std::isfinite(as_double())) {
    return name_of_non_finite(as_double());
  }
  return to_json();
}

std::string to_yaml(const Value& value) {
  std::string out;
  if (is_leaf(value)) {
    append_leaf(out, value);
    out += '\n';
  } else {
    append_block(out, value, 0);
  }
  return out;
}

std::string describe(const Value& value) {
  if (value.is_null()) return "nothing";
  if (value.is_list()) return value.as_list().empty() ? "an empty list" : "a list";
  if (value.is_map()) return value.as_map().empty() ? "an empty map" : "a map";
  if (!value.is_string()) return value.to_text();
  constexpr std::size_t longest = 60;
  const std::string& text = value.as_string();
  std::size_t length = std::min(text.size(), longest);
  // Not in the middle of a UTF-8 character.
  while (length < text.size() && length > 0 && (text[length] & 0xC0) == 0x80)
    --length;
  std::string out = "text ";
  append_quoted(out, length < text.size() ? text.substr(0, length) + "..." : text);
  return out;
}

}  // namespace thalweg::jobspec
