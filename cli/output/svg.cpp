// No scripts and no fonts, so that browsers, LaTeX (by Inkscape) and GitHub show the same.
#include "cli/output/svg.h"

#include <fmt/format.h>

#include "cli/output/text.h"

namespace thalweg::cli::svg {

std::string head(double width, double height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\">\n<style>text{{font:13px sans-serif;fill:#222}}"
      ".title{{font-size:15px;font-weight:bold}}.end{{text-anchor:end}}"
      ".middle{{text-anchor:middle}}.grid{{stroke:#ddd}}.frame{{fill:none;stroke:#555}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      width, height);
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : with_directions_shown(text)) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      result += c;
  }
  return result;
}

std::string escaped_attribute(const std::string& text) {
  std::string result;
  for (const char c : escaped(text))
    result += c == '"' ? std::string("&quot;") : std::string(1, c);
  return result;
}

std::string text_at(double x, double y, const char* style, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style,
                     escaped(text));
}

std::string line(double x1, double y1, double x2, double y2, const std::string& attributes) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, attributes);
}

}  // namespace thalweg::cli::svg
