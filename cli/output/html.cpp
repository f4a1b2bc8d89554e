// The page's policy lets nothing run but the scripts that carry its nonce, and nothing be loaded,
// so that no text of a sweep could do harm even where escaping failed.
#include "cli/output/html.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <stdexcept>

#include "cli/output/page_parts.h"
#include "cli/output/svg.h"

namespace thalweg::cli {
namespace {

using svg::escaped;

/// For an element's text that ends at "-->".
std::string comment(std::string_view text) {
  return fmt::format("<!--\n{}-->\n", text);
}

std::string script_element(std::string_view text, const std::string& nonce) {
  return fmt::format("<script nonce=\"{}\">{}</script>\n", nonce, text);
}

}  // namespace

std::string random_hex(std::size_t bytes) {
  std::string hex;
  for (std::size_t i = 0; i < bytes; ++i) {
    unsigned char byte = 0;
    if (getrandom(&byte, 1, 0) != 1) throw std::runtime_error("the system has no random numbers");
    hex += fmt::format("{:02x}", byte);
  }
  return hex;
}

std::string HtmlPage::note(const std::string& text) {
  const auto same = [&](const Note& note) { return note.text == text; };
  auto found = std::find_if(notes_.begin(), notes_.end(), same);
  if (found == notes_.end()) found = notes_.insert(notes_.end(), Note{text});
  const auto number = found - notes_.begin() + 1;
  return fmt::format(
      "<sup id=\"r{0}-{1}\"><a class=\"note\" href=\"#n{0}\" title=\"{2}\">{0}</a></sup>", number,
      ++found->uses, svg::escaped_attribute(text));
}

void HtmlPage::section(const std::string& heading, const std::string& html) {
  sections_.emplace_back(heading, html);
}

std::string HtmlPage::notes_html() const {
  std::string html = "<ol class=\"notes\">\n";
  for (std::size_t i = 0; i < notes_.size(); ++i) {
    html += fmt::format("<li id=\"n{}\">{}", i + 1, escaped(notes_[i].text));
    for (int use = 1; use <= notes_[i].uses; ++use)
      html +=
          fmt::format(" <a href=\"#r{}-{}\" aria-label=\"back to use {}\">↩</a>", i + 1, use, use);
    html += "</li>\n";
  }
  return html + "</ol>\n";
}

std::string HtmlPage::scripts(const std::string& nonce) const {
  nlohmann::json data{{"charts", charts_}, {"refresh", refresh_}, {"colours", svg::kColours}};
  return fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n",
                     json_for_script(data)) +
         (page::chart_js().empty()
              ? std::string()
              : comment(page::chart_licence()) + script_element(page::chart_js(), nonce)) +
         script_element(page::plots_script(), nonce) + script_element(page::script(), nonce);
}

std::string HtmlPage::text() const {
  const std::string nonce = random_hex(16);
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
      "'nonce-{2}'; style-src 'unsafe-inline'; img-src data:{3}; base-uri 'none'\">\n<meta "
      "name=\"referrer\" content=\"no-referrer\">\n<title>{0}</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n{4}<h1>{0}</h1>\n<main>\n{5}<nav>",
      escaped(title_), page::style(), nonce,
      refresh_ > 0 ? "; connect-src 'self'; form-action 'self'" : "; form-action 'none'", links_,
      lead_.empty() ? "" : html_paragraph(lead_, "lead"));
  auto sections = sections_;
  if (!notes_.empty()) sections.emplace_back("How each number was computed", notes_html());
  for (std::size_t i = 0; i < sections.size(); ++i)
    page += fmt::format("<a href=\"#s{}\">{}</a>\n", i, escaped(sections[i].first));
  page += "</nav>\n";
  for (std::size_t i = 0; i < sections.size(); ++i)
    page += fmt::format("<section>\n<h2 id=\"s{}\">{}</h2>\n{}</section>\n", i,
                        escaped(sections[i].first), sections[i].second);
  return page + "</main>\n" + scripts(nonce) + "</body>\n</html>\n";
}

std::string html_paragraph(const std::string& text, const std::string& css) {
  return fmt::format("<p{}>{}</p>\n", css.empty() ? "" : fmt::format(" class=\"{}\"", css),
                     escaped(text));
}

std::string html_pairs(const std::vector<HtmlPair>& pairs) {
  std::string html = "<dl>\n";
  for (const auto& [name, value, after] : pairs)
    if (!value.empty())
      html += fmt::format("<dt>{}</dt><dd>{}{}</dd>\n", escaped(name), escaped(value), after);
  return html + "</dl>\n";
}

std::string html_verbatim(const std::string& text) {
  std::string html = "<pre>";
  std::size_t at = 0;
  while (at < text.size()) {  // escaped() takes line ends for control characters
    const std::size_t end = std::min(text.find('\n', at), text.size());
    html += escaped(text.substr(at, end - at)) + '\n';
    at = end + 1;
  }
  return html + "</pre>\n";
}

std::string html_figure(const std::string& id, const std::string& still,
                        const std::string& caption) {
  return fmt::format(
      "<figure id=\"{}\"><div class=\"live\"></div><div class=\"still wide\">{}</div><figcaption>{}"
      "</figcaption></figure>\n",
      id, still, caption);
}

std::string json_for_script(const nlohmann::json& value) {
  std::string text;
  for (const char c : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
    if (c == '<' || c == '>' || c == '&')
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      text += c;
  }
  return text;
}

}  // namespace thalweg::cli
