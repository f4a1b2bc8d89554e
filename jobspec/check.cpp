#include "jobspec/check.h"

#include <algorithm>

#include "jobspec/reader.h"
#include "jobspec/synonyms.h"

namespace thalweg::jobspec {
namespace {

std::vector<std::string> names_of(const std::vector<Variant>& variants) {
  std::vector<std::string> names;
  for (const Variant& variant : variants)
    names.push_back(variant.name);
  return names;
}

/// Walks the tree once.
class Walk {
 public:
  Walk(const Schema& schema, const Value& train, const std::set<std::string>& varied)
      : schema_(schema), train_(train), varied_(varied) {}

  std::vector<ValidationError> errors;

  void map(const Value& value, const std::string& path) {
    const std::vector<Choice> choices = choose(value, path);
    for (const auto& [key, inner] : value.as_map())
      member(choices, path, key, inner);
    for (const Choice& choice : choices) {
      require(choice.section->options, value, path);
      if (choice.variant) require(choice.variant->options, value, path);
    }
  }

  /// Sections that the file leaves out, but which need something said.
  void left_out(const Value& train) {
    std::set<std::string> seen;
    for (const Section& section : schema_.sections) {
      if (section.path.empty() || !seen.insert(section.path).second) continue;
      if (train.find(section.path)) continue;
      Value empty = Map{};
      empty.place = train.place;
      map(empty, section.path);
    }
  }

  void divisors(const Value& train) {
    for (const Section& section : schema_.sections) {
      for (const Option& option : section.options)
        divisor(train, section, option);
      for (const Variant& variant : section.variants) {
        for (const Option& option : variant.options)
          divisor(train, section, option);
      }
    }
  }

 private:
  /// A section that applies to a map, and which of its variants is picked there.
  struct Choice {
    const Section* section;
    const Variant* variant;  // nullptr: none, or not known
    bool open;               // any variant's options are let through
  };

  void report(const Value& at, std::string path, std::string message, std::string hint = {}) {
    errors.push_back({at.place, std::move(path), std::move(message), std::move(hint)});
  }

  std::vector<Choice> choose(const Value& value, const std::string& path) {
    std::vector<Choice> choices;
    for (const Section& section : schema_.sections) {
      if (section.path != path) continue;
      Choice choice{&section, nullptr, false};
      if (!section.variants.empty()) pick(choice, value, joined(path, section.selector));
      choices.push_back(choice);
    }
    return choices;
  }

  void pick(Choice& choice, const Value& value, const std::string& selector) {
    const Section& section = *choice.section;
    choice.open = true;
    if (varied_.count(selector) || meant_elsewhere(value, section)) return;
    const Value* given = value.find(section.selector);
    const Value name = given ? *given : Value(section.default_value);
    if (!given && section.default_value.empty()) {
      report(value, selector, some_of(names_of(section.variants)));
      errors.back().missing = true;
      return;
    }
    for (const Variant& variant : section.variants) {
      if (name == Value(variant.name)) choice.variant = &variant;
    }
    choice.open = !choice.variant;  // a wrong name is reported as a member
  }

  /// `schedule: {name: cosine}`: an unknown key that means the selector; its diagnostic is enough.
  bool meant_elsewhere(const Value& value, const Section& section) const {
    const std::string place = "train." + section.path;
    return std::any_of(value.as_map().begin(), value.as_map().end(), [&](const auto& entry) {
      if (value.find(section.selector) ||
          Target(schema_, joined(section.path, entry.first)).known())
        return false;
      const std::vector<Meaning> meanings = meanings_of_key(place, entry.first);
      return !meanings.empty() && meanings.front().means == place + "." + section.selector;
    });
  }

  void member(const std::vector<Choice>& choices, const std::string& path, const std::string& key,
              const Value& value) {
    const std::string full = joined(path, key);
    if (is_section(full)) {
      if (!value.is_map()) {
        report(value, full, "found " + describe(value) + ", expected a map of keys",
               section_hint(schema_, full, value));
        return;
      }
      map(value, full);
      return;
    }
    if (selector_member(choices, full, key, value)) return;
    option_member(choices, full, key, value);
  }

  bool is_section(const std::string& path) const {
    return std::any_of(schema_.sections.begin(), schema_.sections.end(), [&](const Section& s) {
      return s.path == path || s.path.substr(0, path.size() + 1) == path + ".";
    });
  }

  bool selector_member(const std::vector<Choice>& choices, const std::string& full,
                       const std::string& key, const Value& value) {
    for (const Choice& choice : choices) {
      if (choice.section->variants.empty() || choice.section->selector != key) continue;
      if (varied_.count(full)) return true;
      std::string hint;
      const std::string expected = mismatch(*choice.section, value, &hint);
      if (!expected.empty()) {
        if (hint.empty()) hint = vary_hint(full, value);
        report(value, full, "found " + describe(value) + ", expected " + expected, hint);
      }
      return true;
    }
    return false;
  }

  void option_member(const std::vector<Choice>& choices, const std::string& full,
                     const std::string& key, const Value& value) {
    std::vector<const Option*> fitting;
    std::vector<std::string> owners;
    const Variant* picked = nullptr;
    const Section* section = nullptr;
    for (const Choice& choice : choices) {
      if (const Option* option = find_option(choice.section->options, key)) {
        fitting.push_back(option);
      }
      for (const Variant& variant : choice.section->variants) {
        const Option* option = find_option(variant.options, key);
        if (!option) continue;
        owners.push_back(variant.name);
        section = choice.section;
        picked = choice.variant;
        if (choice.open || choice.variant == &variant) fitting.push_back(option);
      }
    }
    if (fitting.empty() && owners.empty()) {
      unknown(choices, full, key, value);
    } else if (fitting.empty()) {
      report(value, full,
             "found " + joined(section->path, section->selector) + ": " + picked->name +
                 ", expected " + any_of(owners) + ", whose option this is",
             wrong_owner_hint(full, owners));
      errors.back().selector = joined(section->path, section->selector);
      errors.back().owners = std::move(owners);
    } else if (!varied_.count(full)) {
      std::string hint;
      std::string expected;
      for (const Option* option : fitting) {
        expected = mismatch_at(full, *option, value, &hint);
        if (expected.empty()) return;
      }
      if (hint.empty()) hint = vary_hint(full, value);
      report(value, full, "found " + describe(value) + ", expected " + expected, hint);
    }
  }

  static std::string wrong_owner_hint(const std::string& full,
                                      const std::vector<std::string>& owners) {
    // PyTorch's flags that are optimizers of their own here.
    for (const Meaning& meaning :
         meanings_of_key("train.optimizer", full.substr(full.rfind('.') + 1))) {
      if (meaning.means == "train.optimizer.name" && !meaning.remedy.empty()) return meaning.remedy;
    }
    return "remove it, or choose " + any_of(owners);
  }

  void unknown(const std::vector<Choice>& choices, const std::string& full, const std::string& key,
               const Value& value) {
    std::vector<std::string> names;
    const auto add = [&](const std::string& name) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const Choice& choice : choices) {
      if (!choice.section->variants.empty()) add(choice.section->selector);
      for (const Option& option : choice.section->options)
        add(option.name);
      for (const Variant& variant : choice.section->variants) {
        if (!choice.open && choice.variant != &variant) continue;
        for (const Option& option : variant.options)
          add(option.name);
      }
    }
    const std::string parent =
        full.size() > key.size() ? full.substr(0, full.size() - key.size()) : "";
    for (const Section& section : schema_.sections) {
      if (section.path.size() <= parent.size() || section.path.substr(0, parent.size()) != parent) {
        continue;
      }
      const std::string rest = section.path.substr(parent.size());
      add(rest.substr(0, rest.find('.')));
    }
    UnknownKey said = meant_by(choices, full, key, value, names);
    tell_known(said.message, said.hint, names);
    report(value, full, std::move(said.message), std::move(said.hint));
    errors.back().meant = in_train(said.meant);
  }

  UnknownKey meant_by(const std::vector<Choice>& choices, const std::string& full,
                      const std::string& key, const Value& value,
                      const std::vector<std::string>& names) const {
    const std::string place = full.size() > key.size()
                                  ? "train." + full.substr(0, full.size() - key.size() - 1)
                                  : "train";
    UnknownKey said;
    if (const std::size_t dot = key.find('.'); dot != key.npos && Target(schema_, full).known()) {
      said.meant = "train." + full;
      said.hint =
          "write it nested, as " + key.substr(0, dot) + ": {" + key.substr(dot + 1) + ": ...}";
      return said;
    }
    for (const Choice& choice : choices) {
      const std::vector<std::string> variants = names_of(choice.section->variants);
      const auto named = std::find_if(variants.begin(), variants.end(), [&](const auto& name) {
        return squashed(name) == squashed(key);
      });
      if (named == variants.end() || !(value.is_map() || value.is_null())) continue;
      said.hint =
          "write " + choice.section->selector + ": " + *named + ", with its options beside it";
      said.meant = place + "." + choice.section->selector;
      return said;
    }
    said = unknown_key(place, key, value, names, {}, [&](const Meaning& meaning) {
      return cannot_be_given(schema_, train_, meaning);
    });
    if (!said.hint.empty()) return said;
    if (const std::string near = Target::suggestion(schema_, train_, full); !near.empty()) {
      said.hint = how_to_write("train." + near, place, value);
      said.meant = "train." + near;
      if (const std::string pick = pick_of(choices, place, said.meant, names); !pick.empty())
        said.hint = pick;
    }
    return said;
  }

  /// "did you mean 'final' of decay: cosine or step?" of a key of this place that variants have
  /// which are not picked; else empty.
  static std::string pick_of(const std::vector<Choice>& choices, const std::string& place,
                             const std::string& meant, const std::vector<std::string>& names) {
    if (meant.substr(0, meant.rfind('.')) != place) return "";
    const std::string key = meant.substr(meant.rfind('.') + 1);
    if (std::find(names.begin(), names.end(), key) != names.end()) return "";
    for (const Choice& choice : choices) {
      std::vector<std::string> owners;
      for (const Variant& variant : choice.section->variants)
        if (find_option(variant.options, key)) owners.push_back(variant.name);
      if (!owners.empty())
        return "did you mean '" + key + "' of " + choice.section->selector + ": " +
               some_of(owners) + "?";
    }
    return "";
  }

  /// "train.optimizer.lr" -> "optimizer.lr"; others as they are.
  static std::string in_train(const std::string& path) {
    constexpr std::string_view prefix = "train.";
    return path.compare(0, prefix.size(), prefix) == 0 ? path.substr(prefix.size()) : "";
  }

  void require(const std::vector<Option>& options, const Value& value, const std::string& path) {
    for (const Option& option : options) {
      const std::string full = joined(path, option.name);
      if (option.required && !value.find(option.name) && !varied_.count(full)) {
        report(value, full, expected_of(option), option.doc);
        errors.back().missing = true;
      }
    }
  }

  void divisor(const Value& train, const Section& section, const Option& option) {
    const std::string path = joined(section.path, option.name);
    if (option.divides.empty() || varied_.count(path) || varied_.count(option.divides)) return;
    const Value* small = train.find(path);
    const Value* large = train.find(option.divides);
    if (!small || !large || !small->is_int() || !large->is_int() || small->as_int() <= 0) return;
    if (large->as_int() % small->as_int() == 0) return;
    report(*large, option.divides,
           "found " + large->to_text() + ", expected a multiple of " + path + ", which is " +
               small->to_text());
  }

  const Schema& schema_;
  const Value& train_;
  const std::set<std::string>& varied_;
};

}  // namespace

std::string to_text(const ValidationError& mismatch) {
  return mismatch.path + ": " + (mismatch.missing ? "missing, expected " : "") + mismatch.message +
         (mismatch.hint.empty() ? "" : " (" + mismatch.hint + ")");
}

void report_error(ValidationError mismatch, const std::string& prefix, Diagnostics& diagnostics) {
  const std::string key = prefix + mismatch.path;
  if (mismatch.missing) {
    diagnostics.add_missing(mismatch.place, key, std::move(mismatch.message),
                            std::move(mismatch.hint));
  } else {
    const std::string meant = mismatch.meant.empty() ? "" : prefix + mismatch.meant;
    diagnostics.add_unknown(mismatch.place, key, std::move(mismatch.message), meant,
                            std::move(mismatch.hint));
  }
}

std::vector<ValidationError> check_train(const Value& train, const Schema& schema,
                                         const std::set<std::string>& varied) {
  if (schema.open) return {};
  Walk walk(schema, train, varied);
  walk.map(train, "");
  walk.left_out(train);
  walk.divisors(train);
  return std::move(walk.errors);
}

}  // namespace thalweg::jobspec
