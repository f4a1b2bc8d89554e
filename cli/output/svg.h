// What SVG pictures have in common: size, style, colours, text.
#pragma once

#include <array>
#include <string>

namespace thalweg::cli::svg {

// Okabe and Ito's colours, which colour-blind people can tell apart (jfly.uni-koeln.de/color).
inline constexpr std::array<const char*, 7> kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                        "#E69F00", "#56B4E9", "#000000"};

/// Everything up to the first element. Classes of text: title, middle, end (anchors); of lines:
/// grid, frame. "</svg>" ends the picture.
std::string head(double width, double height);
/// As XML text; control characters are left out.
std::string escaped(const std::string& text);
/// As the value of an attribute in double quotes.
std::string escaped_attribute(const std::string& text);
/// `style`: a class, or "".
std::string text_at(double x, double y, const char* style, const std::string& text);
std::string line(double x1, double y1, double x2, double y2, const std::string& attributes);

}  // namespace thalweg::cli::svg
