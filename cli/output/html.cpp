// The style overrides that of pictures (svg.cpp), whose colours are for white paper.
#include "cli/output/html.h"

#include <fmt/format.h>

#include "cli/output/svg.h"

namespace thalweg::cli {
namespace {

using svg::escaped;

constexpr const char* style = R"(
:root { color-scheme: light dark; --fg: #1b1f24; --dim: #5b636c; --bg: #ffffff; --rule: #d5dae0; }
@media (prefers-color-scheme: dark) {
  :root { --fg: #e6e9ed; --dim: #a3abb5; --bg: #16191d; --rule: #3a4149; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--fg); background: var(--bg);
       max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--rule);
         white-space: nowrap; }
.number { text-align: right; }
.how, nav, dt { color: var(--dim); } .how { font-size: .87rem; max-width: 48rem; }
nav a { color: inherit; margin-right: 1rem; white-space: nowrap; }
dl { display: grid; grid-template-columns: max-content auto; gap: .1rem 1rem; } dd { margin: 0;
     overflow-wrap: anywhere; }
pre { border: 1px solid var(--rule); padding: .6rem; overflow-x: auto; font-size: .85rem; }
body svg { max-width: 100%; height: auto; }
body svg > rect:first-of-type { fill: var(--bg); } body svg text { fill: var(--fg); }
body svg .grid { stroke: var(--rule); } body svg .frame { stroke: var(--dim); }
@media (prefers-color-scheme: dark) { body svg [stroke="#000000"] { stroke: #ffffff; } }
@media print { body { max-width: none; padding: 0; } nav { display: none; }
  h2 { break-after: avoid; } svg, tr { break-inside: avoid; } .wide { overflow: visible; }
  th, td { white-space: normal; } pre { white-space: pre-wrap; } }
)";

}  // namespace

void HtmlPage::section(const std::string& heading, const std::string& html) {
  sections_.emplace_back(heading, html);
}

std::string HtmlPage::text() const {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<nav>",
      escaped(title_), style);
  for (std::size_t i = 0; i < sections_.size(); ++i)
    page += fmt::format("<a href=\"#s{}\">{}</a>\n", i, escaped(sections_[i].first));
  page += "</nav>\n";
  for (std::size_t i = 0; i < sections_.size(); ++i)
    page += fmt::format("<section>\n<h2 id=\"s{}\">{}</h2>\n{}</section>\n", i,
                        escaped(sections_[i].first), sections_[i].second);
  return page + "</body>\n</html>\n";
}

std::string html_paragraph(const std::string& text, const std::string& css) {
  return fmt::format("<p{}>{}</p>\n", css.empty() ? "" : fmt::format(" class=\"{}\"", css),
                     escaped(text));
}

std::string html_pairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string html = "<dl>\n";
  for (const auto& [name, value] : pairs)
    if (!value.empty())
      html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value));
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

}  // namespace thalweg::cli
