// Checks a `train` tree against the schema and fills in its defaults.
#include <algorithm>
#include <utility>

#include "engine/train/options.h"
#include "jobspec/diagnostic.h"
#include "jobspec/schema.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

using jobspec::Diagnostic;
using jobspec::Option;
using jobspec::Section;
using jobspec::Value;

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
        const bool again = std::find(known.begin(), known.end(), s.path) != known.end();
        if (path.empty() && !again) known.push_back(s.path);  // sections are keys of the root
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
        complain(value, join(path, key), "unknown key, expected one of " + join_list(known),
                 suggestion(key, known));
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
    std::string hint;
    const std::string expected = jobspec::misfit(o, value, &hint);
    if (!expected.empty())
      complain(value, key, "found " + jobspec::describe(value) + ", expected " + expected, hint);
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
