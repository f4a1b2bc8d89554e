// A page in one file: no scripts, nothing from elsewhere, light and dark as the reader's system
// has it, and fit for print.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace thalweg::cli {

/// A page of sections with headings and a table of contents. Text given here is escaped but for
/// what is said to be HTML.
class HtmlPage {
 public:
  explicit HtmlPage(std::string title) : title_(std::move(title)) {}

  /// `html` stands as it is.
  void section(const std::string& heading, const std::string& html);
  std::string text() const;

 private:
  std::string title_;
  std::vector<std::pair<std::string, std::string>> sections_;
};

/// "<p>…</p>".
std::string html_paragraph(const std::string& text, const std::string& style = "");
/// A list of names and values; empty values are left out.
std::string html_pairs(const std::vector<std::pair<std::string, std::string>>& pairs);
/// Text of several lines as it stands.
std::string html_verbatim(const std::string& text);

}  // namespace thalweg::cli
