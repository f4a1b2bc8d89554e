// Files and folders that a sweep file names.
#pragma once

#include <string>
#include <vector>

#include "jobspec/sweep.h"

namespace thalweg::jobspec {

/// Makes the relative paths of resolved `train` trees absolute: what the schema calls a path counts
/// from sweep.directory. What follows it ("FILE.npz:NAME") stays; so do absolute paths, an option's
/// default ("auto") and words, and paths that begin with ~ or $, which the engine expands where it
/// runs.
class Paths {
 public:
  Paths(const Sweep& sweep, const Schema& schema);
  void make_absolute(Value& train) const;

 private:
  struct Rule {
    std::string path;      // dotted
    std::string selector;  // of the section, where the option is a variant's; else empty
    std::string variant;
    bool selected_by_default;
    std::vector<Value> no_paths;  // the default, and words
  };
  bool applies(const Rule& rule, const Value& train) const;

  std::string directory_;
  std::vector<Rule> rules_;  // only those that some trial can need
};

/// The absolute folder that a sweep file's relative paths count from: its own, or the working
/// directory for "-" (standard input).
std::string directory_of(const std::string& sweep_file);

}  // namespace thalweg::jobspec
