// Wordings that were replaced, and what is said now. contributing.md of the handbook lists them,
// too.
#pragma once

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

/// std::regex is slow: it looks only at texts that have `hint`.
struct Wording {
  const char* hint;
  std::regex pattern;
  const char* say;
};

/// Those that no text for users has.
inline const std::vector<Wording>& replaced_wordings() {
  static const auto stands = "(file|folder|disk|table)s? stands? (in|beside|above|below)";
  static const std::vector<Wording> wordings = {
      {"is not overwritten", std::regex("that is there is not overwritten"),
       "An existing file is not overwritten"},
      {"hardly", std::regex("hardly meant"), "valid but probably unintended"},
      {"by the results", std::regex("by the results that there are"), "from the results available"},
      {"it is only noted", std::regex("it is only noted"), "produce only a note"},
      {"how far", std::regex("how far larger batches"), "how steps fall with batch size"},
      {"is not that", std::regex("is not that they train otherwise"),
       "to rule out a change of convergence"},
      {"in the record", std::regex("in the record's place"), "restore the database from a backup"},
      {"say that", std::regex("say that run folders"),
       "tell the controller that run folders have moved"},
      {" wants", std::regex("(record|home) wants"), "keep it on a local disk"},
      {"answers to", std::regex("answers to what goes"), "common problems"},
      {"stand", std::regex(stands), "is in, is below"},
      {"got there", std::regex("got there"), "reached the target"},
  };
  return wordings;
}

/// Expects none of them in `text`, which is called `name` where one is found.
inline void expect_no_wording(const std::string& name, const std::string& text,
                              const std::vector<Wording>& wordings) {
  std::smatch match;
  for (const Wording& wording : wordings)
    EXPECT_FALSE(text.find(wording.hint) != text.npos &&
                 std::regex_search(text, match, wording.pattern))
        << name << ": '" << match.str() << "': say: " << wording.say;
}
