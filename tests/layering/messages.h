// Texts in the sources: string literals, joined to what a user reads.
#pragma once

#include <string>
#include <vector>

struct Message {
  int line = 0;
  std::string text;
};

/// The string literals of a C++ source, in their order. Neighbours are one text, and so are those
/// that `+` or `<<` join; what is between them, and a placeholder of fmt, is the word X. Escapes
/// are what they mean; comments and #include are left out.
std::vector<Message> messages_of(const std::string& source);

/// Whether it is a sentence or a part of one, rather than a name, a format, SQL or a script: four
/// words or more.
bool is_prose(const std::string& text);
