// Sentences of a text, and how long they are.
#pragma once

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <vector>

/// A sentence ends with one of `ends` before a blank, or where a paragraph does.
inline std::vector<std::string> sentences(const std::string& prose, const std::string& ends) {
  std::vector<std::string> found;
  std::string sentence;
  const auto finish = [&] {
    if (std::any_of(sentence.begin(), sentence.end(),
                    [](unsigned char c) { return std::isalpha(c) != 0; }))
      found.push_back(sentence);
    sentence.clear();
  };
  std::istringstream lines(prose);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    bool empty = true;
    for (std::string word; words >> word; empty = false) {
      sentence += (sentence.empty() ? "" : " ") + word;
      if (ends.find(word.back()) != ends.npos) finish();
    }
    if (empty) finish();
  }
  finish();
  return found;
}

/// At most 30 words with a letter in them. A list of eight names or more is none.
inline bool short_enough(const std::string& sentence) {
  std::istringstream words(sentence);
  int count = 0;
  for (std::string word; words >> word;)
    count +=
        std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
  const auto names = std::count(sentence.begin(), sentence.end(), ',') +
                     std::count(sentence.begin(), sentence.end(), ';');
  return count <= 30 || names >= 8;
}
