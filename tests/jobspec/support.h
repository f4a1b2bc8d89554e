// What the tests of jobspec share.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "jobspec/diagnostic.h"
#include "jobspec/schema.h"
#include "jobspec/sweep.h"

namespace thalweg::jobspec {

inline std::filesystem::path source_dir() {
  return THALWEG_SOURCE_DIR;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Resembles what `thalweg-train --schema` prints.
inline const Schema& test_schema() {
  static const Schema schema =
      Schema::from_json(read_file(source_dir() / "tests/jobspec/schema.json"));
  return schema;
}

inline Sweep parse(const std::string& text, const std::string& name = "sweep.yaml") {
  return parse_sweep(text, name, test_schema());
}

/// Every complaint about a file, in parsing or expanding it; empty where there is none.
inline std::vector<Diagnostic> diagnostics(const std::string& text,
                                           const std::string& name = "sweep.yaml") {
  try {
    expand(parse(text, name), test_schema());
  } catch (const InputError& error) {
    return error.diagnostics();
  }
  return {};
}

}  // namespace thalweg::jobspec
