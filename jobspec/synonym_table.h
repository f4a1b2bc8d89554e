// The rows behind synonyms.h.
#pragma once

#include <string_view>
#include <vector>

namespace thalweg::jobspec {

struct KeySynonym {
  /// The map that the word stands in: a path from the top of the file, "*" = anywhere, "x.*" =
  /// anywhere below x.
  std::string_view place;
  std::string_view words;  ///< squashed (synonyms.h), several with blanks between
  /// From the top of the file; ".key" = of the same map; empty = no counterpart.
  std::string_view means;
  std::string_view remedy = {};  ///< instead of the sentence made of `means`
};

struct ValueSynonym {
  std::string_view path;  ///< of the key, from the top of the file; "*.key" = any such key
  std::string_view words;
  std::string_view means;
  std::string_view remedy = {};
};

/// A section of `train` written as one value.
struct MainKey {
  std::string_view section, key;
};

const std::vector<KeySynonym>& key_synonyms();
const std::vector<ValueSynonym>& value_synonyms();
const std::vector<MainKey>& main_keys();

}  // namespace thalweg::jobspec
