// Seeds of a configuration stand together and have the same text: it is taken apart once for all of
// them (each_text).
#include "db/analysis/parameters.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "jobspec/scalar.h"

namespace thalweg::db::analysis {
namespace {

/// Goes through JSON text that our own writer has made: only what ends a member is looked at.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  /// Without its quotes.
  std::optional<std::string_view> string() {
    blanks();
    const std::size_t start = at_ + 1;
    if (!skip_string()) return {};
    return text_.substr(start, at_ - start - 1);
  }

  /// Up to the comma or bracket behind it.
  std::string_view value() {
    blanks();
    const std::size_t start = at_;
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        if (!skip_string()) return {};
        continue;
      }
      const bool closes = c == '}' || c == ']';
      if (depth == 0 && (closes || c == ',')) break;
      depth += c == '{' || c == '[' ? 1 : closes ? -1 : 0;
      ++at_;
    }
    return text_.substr(start, at_ - start);
  }

 private:
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n'))
      ++at_;
  }
  bool skip_string() {
    if (at_ >= text_.size() || text_[at_] != '"') return false;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    if (at_ >= text_.size()) return false;
    ++at_;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// What a string of JSON stands for.
std::string unescaped(std::string_view inside) {
  if (inside.find('\\') == std::string_view::npos) return std::string(inside);
  return jobspec::read_yaml("\"" + std::string(inside) + "\"", "parameters").to_text();
}

/// `trial` for every trial, and before it `text` where the text is another than the last one's.
void each_text(ReadStore& store, std::int64_t sweep,
               const std::function<void(std::string_view text)>& text,
               const std::function<void(std::int64_t trial)>& trial) {
  std::optional<std::string> last;
  store.parameters(sweep, [&](std::int64_t number, std::string_view now) {
    if (last != now) {
      last = now;
      text(now);
    }
    trial(number);
  });
}

/// One parameter of a sweep.
struct Known {
  std::string name, first;
  std::size_t trials = 0;
  bool several = false;  ///< values
};

class Variety {
 public:
  /// Of the trials that follow.
  void look(std::string_view text) {
    here_.clear();
    each_member(text, [this](std::string_view key, std::string_view value) {
      const std::size_t place = place_of(key, value);
      Known& known = known_[place];
      known.several = known.several || known.first != value;
      here_.push_back(place);
    });
  }
  void count() {
    ++trials_;
    for (const std::size_t place : here_)
      ++known_[place].trials;
  }

  std::vector<std::string> varied() const {
    std::vector<std::string> names;
    for (const Known& known : known_)
      if (known.several || known.trials < trials_) names.push_back(known.name);
    return names;
  }

 private:
  std::size_t place_of(std::string_view key, std::string_view value) {
    // Trials have the same parameters in the same order, but for some.
    const std::size_t next = here_.size();
    if (next < known_.size() && known_[next].name == key) return next;
    const std::string name = unescaped(key);
    const auto [found, fresh] = places_.try_emplace(name, known_.size());
    if (fresh) known_.push_back({name, std::string(value), 0, false});
    return found->second;
  }

  std::size_t trials_ = 0;
  std::vector<Known> known_;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::size_t> here_;  ///< of the last text
};

}  // namespace

void each_member(std::string_view object,
                 const std::function<void(std::string_view, std::string_view)>& each) {
  Scanner scanner(object);
  if (!scanner.take('{')) return;
  do {
    const auto key = scanner.string();
    if (!key || !scanner.take(':')) return;
    const std::string_view value = scanner.value();
    if (value.empty()) return;
    each(*key, value);
  } while (scanner.take(','));
}

jobspec::Value member_value(std::string_view json) {
  if (json.empty() || json == "null") return {};
  const char first = json.front();
  if (first == '"') return unescaped(json.substr(1, json.size() - 2));
  if (first == '{' || first == '[') return std::string(json);
  return jobspec::read_scalar(json).value_or(jobspec::Value());
}

std::vector<TrialValues> parameter_values(ReadStore& store, std::int64_t sweep,
                                          const std::vector<std::string>& names) {
  std::vector<TrialValues> values(names.size());
  std::vector<std::optional<jobspec::Value>> last(names.size());
  const auto take = [&](std::string_view text) {
    std::fill(last.begin(), last.end(), std::nullopt);
    each_member(text, [&](std::string_view key, std::string_view value) {
      for (std::size_t i = 0; i < names.size(); ++i)
        if (key == names[i] || (key.find('\\') != key.npos && unescaped(key) == names[i]))
          last[i] = member_value(value);
    });
  };
  each_text(store, sweep, take, [&](std::int64_t trial) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (last[i]) values[i].emplace_hint(values[i].end(), trial, *last[i]);
  });
  return values;
}

bool Presence::any_has(const std::vector<Id>& trials, const std::string& name) {
  return std::any_of(trials.begin(), trials.end(), [&](const Id& trial) {
    const auto [found, fresh] = known_.try_emplace({trial.sweep, name});
    if (fresh) found->second = std::move(parameter_values(store_, trial.sweep, {name}).front());
    return found->second.contains(trial.trial);
  });
}

std::vector<std::string> varied_parameters(ReadStore& store, std::int64_t sweep) {
  struct Known {
    std::optional<std::vector<std::string>> varied;
  };
  auto& known = store.kept_of_configurations<Known>(sweep).varied;
  if (!known) {
    Variety variety;
    each_text(
        store, sweep, [&](std::string_view text) { variety.look(text); },
        [&](std::int64_t) { variety.count(); });
    known = variety.varied();
  }
  return *known;
}

}  // namespace thalweg::db::analysis
