#include "cli/output/csv.h"

#include <ostream>

#include "cli/output/text.h"

namespace thalweg::cli {

std::string csv_field(std::string_view given) {
  const std::string text = with_controls_shown(given);
  const bool spaced = !text.empty() && (text.front() == ' ' || text.back() == ' ');
  if (!spaced && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

void write_csv_line(std::ostream& out, const std::vector<std::string>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i)
    out << (i > 0 ? "," : "") << csv_field(fields[i]);
  out << '\n';
}

std::vector<std::vector<std::string>> parse_csv(std::string_view text) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> line;
  std::string field;
  bool quoted = false, any = false;
  const auto end_line = [&] {
    if (any) {
      line.push_back(std::move(field));
      lines.push_back(std::move(line));
    }
    line.clear();
    field.clear();
    any = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"' && field.empty()) {
      quoted = any = true;
    } else if (c == ',') {
      line.push_back(std::move(field));
      field.clear();
      any = true;
    } else if (c == '\n') {
      end_line();
    } else if (c != '\r') {
      field += c;
      any = true;
    }
  }
  end_line();
  return lines;
}

}  // namespace thalweg::cli
