// The values of a row's options, typed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobspec/fwd.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {

/// What a tree says for each of a row's options, the row's defaults elsewhere: the one way in which
/// a configuration is read. The tree is checked already (complete.h); it need not be complete. A
/// plain value type. Getters throw std::logic_error where the row has no such option, and
/// std::invalid_argument, with `where` before the option's name, where it has neither value nor
/// default.
class Options {
 public:
  Options() = default;
  /// Keys of the tree that are no option are left out. `where`: "schedule."
  Options(const Value& tree, const std::vector<Option>& options, std::string where = {});

  double real(std::string_view name) const { return value(name).as_double(); }
  std::int64_t integer(std::string_view name) const { return value(name).as_int(); }
  bool flag(std::string_view name) const { return value(name).as_bool(); }
  const std::string& text(std::string_view name) const { return value(name).as_string(); }
  const List& list(std::string_view name) const { return value(name).as_list(); }
  /// Of a list.
  std::vector<double> reals(std::string_view name) const;

  /// Whether there is a value, the tree's or a default.
  bool has(std::string_view name) const { return !find(name).value.is_null(); }
  bool is_auto(std::string_view name) const;
  /// `default_value` where it is "auto".
  std::int64_t integer_or(std::string_view name, std::int64_t default_value) const {
    return is_auto(name) ? default_value : integer(name);
  }
  const Value& value(std::string_view name) const;

 private:
  struct Entry {
    std::string name, doc;
    Value value;
  };
  const Entry& find(std::string_view name) const;

  std::string where_;
  std::vector<Entry> entries_;
};

}  // namespace thalweg::jobspec
