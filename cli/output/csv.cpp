#include "cli/output/csv.h"

#include <ostream>

namespace thalweg::cli {

std::string csv_field(std::string_view text) {
  const bool spaced = !text.empty() && (text.front() == ' ' || text.back() == ' ');
  if (!spaced && text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
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

}  // namespace thalweg::cli
