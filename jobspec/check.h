// Checks a `train` tree, or one axis of it, against the engine's schema.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "jobspec/reader.h"
#include "jobspec/schema.h"

namespace thalweg::jobspec {

/// One thing that does not fit; `path` is dotted and relative to `train`.
struct ValidationError {
  Place place;
  std::string path;
  std::string message;
  std::string hint;
  /// Where an option belongs to other variants than the one picked: the dotted path of what picks,
  /// and those variants.
  std::string selector{};
  std::vector<std::string> owners{};
  bool missing = false;  ///< a key that should be there; `message` is what is expected
  std::string meant{};   ///< of an unknown key: the path that is nearest to it
};

/// "lr: found text \"x\", expected a number (hint)"
std::string to_text(const ValidationError& mismatch);
/// Files a mismatch under `prefix` + its path.
void report_error(ValidationError mismatch, const std::string& prefix, Diagnostics& diagnostics);

/// `varied`: dotted paths that axes set. They count as given, and where one of them picks a
/// section's variant, the options of every variant are let through.
std::vector<ValidationError> check_train(const Value& train, const Schema& schema,
                                         const std::set<std::string>& varied);

/// The schema's view of a dotted path.
class Target {
 public:
  Target(const Schema& schema, std::string_view path);

  bool known() const { return open_ || selector_ || !options_.empty(); }
  /// Picks a variant of its section.
  bool selector() const { return selector_ != nullptr; }
  /// A whole number is asked for.
  bool whole() const;
  /// A real number is asked for.
  bool real() const;
  /// What would be right, in words; empty where the value fits. NaN and infinity never do.
  std::string mismatch(const Value& value, std::string* hint) const;
  /// The nearest path that can be given where `train` picks its variants; empty where none is near.
  static std::string suggestion(const Schema& schema, const Value& train, std::string_view path);

 private:
  std::string path_;
  bool open_ = false;
  const Section* selector_ = nullptr;
  std::vector<const Option*> options_;
};

/// How to write a section that was given as one value; empty where that cannot be told.
std::string section_hint(const Schema& schema, const std::string& path, const Value& value);
/// "to try several, write optimizer.lr: {values: [0.1, 0.01]} under parameters" for a list or a
/// distribution where one value belongs; empty for others.
std::string vary_hint(const std::string& path, const Value& value);
/// "did you mean 'adamw'?" for a word that is none of `names`; `path` relative to `train`.
std::string value_hint(const std::string& path, const std::string& text,
                       const std::vector<std::string>& names);
/// mismatch(), with the words that people bring for the value of that path.
std::string mismatch_at(const std::string& path, const Option& option, const Value& value,
                        std::string* hint);
/// Whether an option of that path can be given where `train` picks its variants. `path` is relative
/// to `train`.
bool option_applies(const Schema& schema, const Value& train, const std::string& path);

/// Whether a meaning is no option of the schema, or one of variants that `train` does not pick and
/// the remedy does not pick either.
bool cannot_be_given(const Schema& schema, const Value& train, const Meaning& meaning);

/// What would be right, in words; empty where the value names a variant of the section.
std::string mismatch(const Section& section, const Value& value, std::string* hint);

/// nullptr where there is none of that name.
const Option* find_option(const std::vector<Option>& options, std::string_view name);
/// "optimizer" and "lr" make "optimizer.lr".
std::string joined(std::string_view path, std::string_view key);

}  // namespace thalweg::jobspec
