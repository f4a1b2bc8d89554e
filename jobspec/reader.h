// Walking a map of the user's file: takes known keys, reports the rest, never stops at the
// first mistake.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "jobspec/diagnostic.h"
#include "jobspec/fwd.h"

namespace thalweg::jobspec {

struct Meaning;
using MeaningTest = std::function<bool(const Meaning& meaning)>;

/// The mistakes found so far in one file.
class Diagnostics {
 public:
  explicit Diagnostics(std::string file) : file_(std::move(file)) {}

  void add(Place place, std::string key, std::string message, std::string hint = {});
  /// A key that is not there. Not shown where an unknown key turns out to be meant for it.
  void add_missing(Place place, std::string key, std::string message, std::string hint = {});
  /// `meant`: the dotted path that is the nearest to it; may be empty.
  void add_unknown(Place place, std::string key, std::string message, const std::string& meant,
                   std::string hint = {});
  /// From now on a message about an unknown key does not name these meanings (synonyms.h).
  void bar_meanings(MeaningTest barred) { barred_ = std::move(barred); }
  const MeaningTest& barred() const { return barred_; }
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  void throw_if_any() const;

 private:
  struct Entry {
    Diagnostic diagnostic;
    bool missing = false;
    std::string meant{};
  };
  std::string file_;
  std::vector<Entry> entries_;
  MeaningTest barred_;
};

struct IntRange {
  std::int64_t min = 1;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

/// The candidate that is `word` but for case, dashes and underscores, or the nearest to it; empty
/// where none is near.
std::string likely(std::string_view word, const std::vector<std::string>& candidates);
/// "did you mean 'lr'?" or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);
/// The same with the words that people bring for the value of that path (synonyms.h).
std::string word_hint(std::string_view path, std::string_view word,
                      const std::vector<std::string>& candidates);
/// "a, b or c"
std::string any_of(const std::vector<std::string>& names);
/// The same, cut: "a, b, c or one of 20 more".
std::string some_of(const std::vector<std::string>& names);

/// What a message says about a key that is not known.
struct UnknownKey {
  std::string message = "unknown key";
  std::string hint{};   ///< empty where nothing is near
  std::string meant{};  ///< path from the top of the file; empty where nothing is near
};
/// `place`: path from the top of the file of the map that holds it; `known`: the keys that it may
/// hold. `fits`: which of several meanings of the word are possible here; without it, those of
/// `known`. `barred`: meanings that cannot be given in this file.
using PathTest = std::function<bool(const std::string& path)>;
UnknownKey unknown_key(const std::string& place, const std::string& key, const Value& value,
                       const std::vector<std::string>& known, const PathTest& fits = {},
                       const MeaningTest& barred = {});
/// Joins names to what is said: behind a "did you mean", or as what is expected where there is no
/// hint.
void tell_known(std::string& message, std::string& hint, const std::vector<std::string>& known);

/// One map and the keys that it may hold. A getter leaves `out` as it is where the key is missing
/// or wrong (a wrong one is a diagnostic) and returns whether it set it. Call finish() once at the
/// end.
class Fields {
 public:
  /// `path`: dotted path of the map itself, empty for the whole file. What is no map is a
  /// diagnostic.
  Fields(const Value& value, std::string path, Diagnostics& diagnostics);

  bool is_map() const { return map_ != nullptr; }
  Place place() const { return place_; }
  std::string path_of(std::string_view key) const;

  /// The value of a key, which is known from now on; nullptr where it is missing.
  const Value* take(std::string_view key);
  /// The same for a key that no message should offer.
  const Value* take_quietly(std::string_view key);
  bool boolean(std::string_view key, bool& out);
  bool integer(std::string_view key, std::int64_t& out, IntRange range);
  bool integer(std::string_view key, int& out, IntRange range);
  bool real(std::string_view key, double& out);
  bool text(std::string_view key, std::string& out);
  /// A list of texts; a single text counts as a list of one.
  bool texts(std::string_view key, std::vector<std::string>& out);

  /// False, after a diagnostic, where the key is missing.
  bool require(std::string_view key, std::string_view expected);
  /// False only where the key is there and wrong.
  bool optional_real(std::string_view key, double& out) { return !take(key) || real(key, out); }

  void missing(std::string_view key, std::string_view expected, std::string hint = {});
  void wrong(const Value& value, std::string_view key, std::string_view expected,
             std::string hint = {});
  /// Complains about every key that was not taken.
  void finish();

 private:
  const Map* map_ = nullptr;
  Place place_;
  std::string path_;
  Diagnostics& diagnostics_;
  std::vector<std::string> known_, quiet_;
};

}  // namespace thalweg::jobspec
