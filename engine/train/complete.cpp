// Checks a `train` tree against the schema and fills in its defaults.
#include <algorithm>
#include <utility>

#include "engine/train/options.h"
#include "jobspec/diagnostic.h"

namespace thalweg::engine {
namespace {

using jobspec::Diagnostic;
using jobspec::Option;
using jobspec::OptionType;
using jobspec::Section;
using jobspec::Value;

const char* name_of(OptionType type) {
  switch (type) {
    case OptionType::boolean:
      return "true or false";
    case OptionType::integer:
      return "a whole number";
    case OptionType::real:
      return "a number";
    case OptionType::text:
      return "text";
    case OptionType::list:
      return "a list";
    case OptionType::map:
      return "a map";
  }
  return "";
}

bool has_type(const Value& value, OptionType type) {
  switch (type) {
    case OptionType::boolean:
      return value.is_bool();
    case OptionType::integer:
      return value.is_int() ||
             (value.is_number() &&
              value.as_double() ==
                  static_cast<double>(static_cast<std::int64_t>(value.as_double())));
    case OptionType::real:
      return value.is_number();
    case OptionType::text:
      return value.is_string();
    case OptionType::list:
      return value.is_list();
    case OptionType::map:
      return value.is_map();
  }
  return false;
}

class Completion {
 public:
  Completion(const jobspec::Schema& schema, std::string file)
      : schema_(schema), file_(std::move(file)) {}

  Value run(const Value& train) {
    if (!train.is_map()) {
      complain(train, "", "found " + jobspec::describe(train) + ", expected a map");
      throw jobspec::InputError(std::move(mistakes_));
    }
    Value result = jobspec::Map{};
    for (std::size_t i = 0; i < schema_.sections.size(); ++i) {
      const std::string& path = schema_.sections[i].path;
      if (!first_of_path(i)) continue;
      static const Value nothing = jobspec::Map{};
      const Value* given = path.empty() ? &train : train.find(path);
      if (given == nullptr || given->is_null()) given = &nothing;
      if (!given->is_map()) {
        complain(*given, path, "found " + jobspec::describe(*given) + ", expected a map");
        continue;
      }
      complete_path(path, *given, result);
    }
    if (!mistakes_.empty()) throw jobspec::InputError(std::move(mistakes_));
    return result;
  }

 private:
  bool first_of_path(std::size_t i) const {
    const auto end = schema_.sections.begin() + static_cast<std::ptrdiff_t>(i);
    return std::none_of(schema_.sections.begin(), end,
                        [&](const Section& s) { return s.path == schema_.sections[i].path; });
  }

  void complete_path(const std::string& path, const Value& given, Value& result) {
    std::vector<std::string> known;
    bool variant_known = true;
    const auto put = [&](const std::string& key, Value value) {
      result.set(path.empty() ? key : path + "." + key, std::move(value));
    };
    if (!path.empty()) result.set(path, jobspec::Map{});
    for (const Section& s : schema_.sections) {
      if (s.path != path) {
        if (path.empty()) known.push_back(s.path);  // sections are keys of the root
        continue;
      }
      if (!s.variants.empty()) {
        known.push_back(s.selector);
        const jobspec::Variant* variant = select(s, given);
        if (variant == nullptr) {
          variant_known = false;
        } else {
          put(s.selector, variant->name);
          take(path, variant->options, given, known, put);
        }
      }
      take(path, s.options, given, known, put);
    }
    if (!variant_known) return;  // which keys belong there is not known either
    for (const auto& [key, value] : given.as_map())
      if (std::find(known.begin(), known.end(), key) == known.end())
        complain(value, join(path, key), "unknown key", suggestion(key, known));
  }

  const jobspec::Variant* select(const Section& s, const Value& given) {
    const Value* name = find_key(given, s.selector);
    std::vector<std::string> names;
    for (const jobspec::Variant& v : s.variants)
      names.push_back(v.name);
    std::string chosen = s.fallback;
    if (name != nullptr) chosen = name->to_text();
    if (name == nullptr && chosen.empty()) {
      complain(given, join(s.path, s.selector), "missing", "one of " + join_list(names));
      return nullptr;
    }
    for (const jobspec::Variant& v : s.variants)
      if (v.name == chosen) return &v;
    complain(*name, join(s.path, s.selector),
             "found \"" + chosen + "\", expected one of " + join_list(names),
             suggestion(chosen, names));
    return nullptr;
  }

  template <class Put>
  void take(const std::string& path, const std::vector<Option>& options, const Value& given,
            std::vector<std::string>& known, const Put& put) {
    for (const Option& o : options) {
      known.push_back(o.name);
      const Value* value = find_key(given, o.name);
      if (value != nullptr && !value->is_null()) {
        check(*value, join(path, o.name), o);
        put(o.name, *value);
      } else if (o.required) {
        complain(given, join(path, o.name), "missing", o.doc);
      } else if (!o.fallback.is_null()) {
        put(o.name, o.fallback);
      }
    }
  }

  void check(const Value& value, const std::string& key, const Option& o) {
    if (o.or_auto && value.is_string() && value.as_string() == "auto") return;
    if (!has_type(value, o.type))
      return complain(value, key,
                      "found " + jobspec::describe(value) + ", expected " + name_of(o.type) +
                          (o.or_auto ? " or auto" : ""));
    if (o.type == OptionType::integer || o.type == OptionType::real) {
      const double x = value.as_double();
      const bool low = o.above_min ? !(x > o.min) : !(x >= o.min);
      if (low || !(x <= o.max))
        complain(value, key, "found " + jobspec::describe(value) + ", expected " + range(o));
    }
    if (o.type == OptionType::text && !o.choices.empty() &&
        std::find(o.choices.begin(), o.choices.end(), value.as_string()) == o.choices.end())
      complain(value, key,
               "found \"" + value.as_string() + "\", expected one of " + join_list(o.choices),
               suggestion(value.as_string(), o.choices));
  }

  static std::string range(const Option& o) {
    const std::string low = (o.above_min ? "more than " : "at least ") + Value(o.min).to_text();
    const std::string high = "at most " + Value(o.max).to_text();
    if (o.min == -std::numeric_limits<double>::infinity()) return high;
    if (o.max == std::numeric_limits<double>::infinity()) return low;
    return low + " and " + high;
  }

  /// A key of this map itself, dots included.
  static const Value* find_key(const Value& map, const std::string& key) {
    for (const auto& [name, value] : map.as_map())
      if (name == key) return &value;
    return nullptr;
  }
  static std::string join(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }
  static std::string join_list(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names)
      text += (text.empty() ? "" : ", ") + name;
    return text;
  }
  static std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
    const std::string near = jobspec::nearest(word, names);
    return near.empty() ? "" : "did you mean " + near + "?";
  }
  void complain(const Value& at, const std::string& key, std::string message,
                std::string hint = "") {
    const std::string full = key.empty() ? "train" : "train." + key;
    mistakes_.push_back({file_, at.place, full, std::move(message), std::move(hint)});
  }

  const jobspec::Schema& schema_;
  std::string file_;
  std::vector<Diagnostic> mistakes_;
};

}  // namespace

Value complete(const Value& train, const jobspec::Schema& schema, const std::string& file) {
  return Completion(schema, file).run(train);
}

}  // namespace thalweg::engine
