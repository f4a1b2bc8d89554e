// RFC 4180 lines; line ends are "\n".
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::cli {

/// Quoted where it holds a comma, a quote, a line end, or spaces at its ends. Control characters
/// but line ends and tabs are written as "\u001b", and so is what turns the direction of writing
/// round: output goes to terminals, too.
std::string csv_field(std::string_view text);
/// The lines of a file, with quoted fields and any line ends; empty lines are left out. A quote
/// that is not closed ends with the file.
std::vector<std::vector<std::string>> parse_csv(std::string_view text);
void write_csv_line(std::ostream& out, const std::vector<std::string>& fields);

}  // namespace thalweg::cli
