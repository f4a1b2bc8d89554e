#include "jobspec/diagnostic.h"

#include <algorithm>

namespace thalweg::jobspec {
namespace {

std::string joined(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += diagnostic.to_string();
  }
  return text;
}

std::vector<Diagnostic> in_file_order(std::vector<Diagnostic> diagnostics) {
  std::stable_sort(
      diagnostics.begin(), diagnostics.end(),
      [](const Diagnostic& a, const Diagnostic& b) { return a.place.line < b.place.line; });
  return diagnostics;
}

}  // namespace

std::string Diagnostic::to_string() const {
  std::string text = file;
  if (place.line > 0) {
    text += ':';
    text += std::to_string(place.line);
  }
  if (!text.empty()) text += ": ";
  if (!key.empty()) text += key + ": ";
  text += message;
  if (!hint.empty()) text += " (" + hint + ")";
  return text;
}

InputError::InputError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(joined(in_file_order(diagnostics))),
      diagnostics_(in_file_order(std::move(diagnostics))) {}

}  // namespace thalweg::jobspec
