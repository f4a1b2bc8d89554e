// A page in one file: nothing from elsewhere, light and dark as the reader's system has it, fit for
// print, readable without scripts. A script draws its charts again so that they answer the mouse.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace thalweg::cli {

/// A page of sections with headings, a table of contents, and footnotes. Text given here is escaped
/// but for what is said to be HTML.
class HtmlPage {
 public:
  explicit HtmlPage(std::string title) : title_(std::move(title)) {}

  /// A link (HTML) to the footnote of this text; the same text is one footnote.
  std::string note(const std::string& text);
  /// `html` stands as it is.
  void section(const std::string& heading, const std::string& html);
  /// A chart (chart.h) of the figure that has its id.
  void add_chart(nlohmann::json chart) { charts_.push_back(std::move(chart)); }
  /// The page is fetched again every so many seconds (0: never), for a server's page.
  void refresh_every(int seconds) { refresh_ = seconds; }
  /// What the page comes to, right below its heading.
  void lead(std::string text) { lead_ = std::move(text); }
  /// `links`: HTML above the heading.
  void links(std::string html) { links_ = std::move(html); }
  /// Throws std::runtime_error where the system has no random numbers.
  std::string text() const;

 private:
  std::string notes_html() const;
  std::string scripts(const std::string& nonce) const;

  struct Note {
    std::string text;
    int uses = 0;
  };
  std::string title_, links_, lead_;
  std::vector<std::pair<std::string, std::string>> sections_;
  std::vector<Note> notes_;
  nlohmann::json charts_ = nlohmann::json::array();
  int refresh_ = 0;
};

/// "<p>…</p>".
std::string html_paragraph(const std::string& text, const std::string& style = "");
struct HtmlPair {
  std::string name, value;
  std::string after = {};  ///< HTML behind the value: a footnote's link
};
/// A list of names and values; empty values are left out.
std::string html_pairs(const std::vector<HtmlPair>& pairs);
/// Text of several lines as it stands.
std::string html_verbatim(const std::string& text);
/// A figure that a chart of this id is drawn into; `still`, an SVG, is what stands there on paper
/// and without scripts. `caption` is HTML.
std::string html_figure(const std::string& id, const std::string& still,
                        const std::string& caption);
/// Compact JSON that may stand in a script element: no "<", ">", "&" in it; broken UTF-8 is
/// replaced.
std::string json_for_script(const nlohmann::json& value);
/// Hexadecimal digits of so many random bytes of the system. Throws std::runtime_error.
std::string random_hex(std::size_t bytes);

}  // namespace thalweg::cli
