// What a command takes, said once: parsing, --help, shell completion and "did you mean" all read it
// from here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace thalweg::cli {

/// What a shell offers after it.
enum class Completes {
  nothing,
  file,
  id,
  metric,        ///< of the sweep or trial that is named before, else of the newest sweep
  id_or_metric,  ///< ids, then perhaps a metric of theirs
  group,         ///< parameters of that sweep, separated by commas
  choices
};

struct Argument {
  using Target = std::variant<bool*, std::string*, std::vector<std::string>*, std::int64_t*,
                              std::optional<double>*>;
  std::string names;  ///< "--json", "-f,--follow"; a bare name ("ID") for a positional
  std::string value;  ///< what stands for the value in the help; empty for flags
  std::string doc;
  Target target;
  bool required = false;
  Completes completes = Completes::nothing;
  std::vector<std::string> choices;  ///< the only values allowed, if not empty
  bool commas = true;  ///< they separate the values of a vector; else the option is repeated

  bool dashed = false;  ///< of a positional: words as "-draft" are values of the list, too

  bool positional() const { return names.front() != '-'; }
  bool flag() const { return std::holds_alternative<bool*>(target); }
  bool many() const { return std::holds_alternative<std::vector<std::string>*>(target); }
  /// {"-f", "--follow"}
  std::vector<std::string> spellings() const;
};

class Arguments {
 public:
  template <class T>
  Argument& positional(const std::string& name, T& target, const std::string& doc) {
    return add({name, name, doc, &target, true, Completes::nothing, {}});
  }
  Argument& flag(const std::string& names, bool& target, const std::string& doc) {
    return add({names, "", doc, &target, false, Completes::nothing, {}});
  }
  /// A vector takes a list with commas, and may be repeated.
  template <class T>
  Argument& option(const std::string& names, const std::string& value, T& target,
                   const std::string& doc) {
    return add({names, value, doc, &target, false, Completes::nothing, {}});
  }
  const std::vector<Argument>& all() const { return all_; }

 private:
  Argument& add(Argument argument) { return all_.emplace_back(std::move(argument)); }
  std::vector<Argument> all_;
};

/// Fills the targets. Throws CommandError (bad input) with the nearest option where one is unknown.
/// False where --help was asked for.
bool parse_arguments(const Arguments& arguments, const std::string& command,
                     const std::vector<std::string>& words);

}  // namespace thalweg::cli
