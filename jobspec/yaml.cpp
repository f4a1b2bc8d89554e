// read_yaml: yaml-cpp's events become Values with places. Only this file knows yaml-cpp.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>
#include <unordered_map>

#include "base/text.h"
#include "jobspec/reader.h"
#include "jobspec/scalar.h"
#include "jobspec/yaml_slips.h"

namespace thalweg::jobspec {
namespace {

/// Aliases copy what they name, and anchors keep what is copied; a short file could otherwise
/// become a huge or endlessly deep tree.
constexpr std::size_t max_aliased_values = 100'000;
constexpr std::size_t max_copied_bytes = 32 << 20;  ///< of text
constexpr std::size_t max_values = 2'000'000;       ///< in all: some 50 bytes each and their text
constexpr int deepest = 200;

Place place_of(const YAML::Mark& mark) {
  return {mark.line + 1, mark.column + 1};
}

struct Size {
  std::size_t values = 1;
  std::size_t bytes = 0;  ///< of texts and keys
  int depth = 1;
};

/// Tags that say no more than the scalar's own form does; PyYAML writes them.
bool is_core(const std::string& tag) {
  const std::string prefix = "tag:yaml.org,2002:";
  if (tag.compare(0, prefix.size(), prefix) != 0) return false;
  const std::string kind = tag.substr(prefix.size());
  return kind == "float" || kind == "int" || kind == "bool" || kind == "null";
}

struct Anchored {
  Value value;
  Size size;
};

class Builder : public YAML::EventHandler {
 public:
  explicit Builder(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  Value take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark&, const std::string&) override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) {
      diagnostics_.add(place_of(mark), path(), "found an empty key, expected a name");
    }
    add(place_of(mark), Value(), anchor, {Value(), {}}, "");
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      stop(place_of(mark), "the anchor contains itself, expected a finished value");
    }
    const Size size = found->second.size;
    aliased_ += size.values;
    if (aliased_ > max_aliased_values) stop(place_of(mark), "aliases copy too many values");
    count_copy(place_of(mark), size.bytes);
    if (static_cast<int>(frames_.size()) + size.depth > deepest) too_deep(place_of(mark));
    const std::string key = found->second.value.is_string() ? found->second.value.as_string() : "";
    add(place_of(mark), found->second.value, YAML::NullAnchor, found->second, key);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (expects_key()) {
      if (anchor) count_copy(place_of(mark), text.size());
      frames_.back().merges = text == "<<" && tag == "?";
      add(place_of(mark), Value(text), anchor, {Value(text), {1, text.size(), 1}}, text);
      return;
    }
    Value value = text;
    if (tag == "?" || tag.empty() || is_core(tag)) {
      if (std::optional<Value> read = read_scalar(text)) {
        value = std::move(*read);
      } else {
        diagnostics_.add(place_of(mark), path(),
                         "found " + text + ", expected a number that fits 64 bits");
      }
    } else if (tag != "!" && tag != "tag:yaml.org,2002:str") {
      diagnostics_.add(place_of(mark), path(), "found the tag " + tag + ", expected a plain value",
                       tag.find("python") == tag.npos
                           ? "remove the tag"
                           : "write the file with yaml.safe_dump, of plain numbers and texts");
    }
    if (anchor) count_copy(place_of(mark), text.size());
    Anchored copy{anchor ? value : Value(), {1, text.size(), 1}};
    add(place_of(mark), std::move(value), anchor, std::move(copy), "");
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, Value(List{}), anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, Value(Map{}), anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  /// A list or map whose end has not come yet.
  struct Frame {
    Value value;
    YAML::anchor_t anchor = 0;
    Place place;
    bool has_key = false;  // the next value belongs to `key`
    std::string key;
    Place key_place;
    std::unordered_map<std::string, int> lines;  // of the keys so far
    bool merges = false;                         // the next value belongs to a merge key
    Map merged;                                  // what merge keys bring, the first ones first
    Size size;
  };

  bool expects_key() const {
    return !frames_.empty() && frames_.back().value.is_map() && !frames_.back().has_key;
  }

  std::string path() const {
    std::string text;
    for (const Frame& frame : frames_) {
      if (!frame.has_key) continue;
      if (!text.empty()) text += '.';
      text += frame.key;
    }
    return text;
  }

  [[noreturn]] void stop(Place place, const std::string& message) {
    diagnostics_.add(place, path(), message);
    diagnostics_.throw_if_any();
    throw std::logic_error("a diagnostic was lost");
  }

  [[noreturn]] void too_deep(Place place) {
    stop(place, "lists and maps are nested more than " + std::to_string(deepest) + " deep");
  }

  void count_copy(Place place, std::size_t bytes) {
    copied_bytes_ += bytes;
    if (copied_bytes_ > max_copied_bytes)
      stop(place, "anchors and aliases copy more than " + std::to_string(max_copied_bytes >> 20) +
                      " MiB of text");
  }

  void open(const YAML::Mark& mark, Value empty, YAML::anchor_t anchor) {
    if (expects_key()) stop(place_of(mark), "found a list or map as key, expected a name");
    if (frames_.size() >= deepest) too_deep(place_of(mark));
    Frame frame;
    frame.value = std::move(empty);
    frame.anchor = anchor;
    frame.place = place_of(mark);
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (!frame.merged.empty()) merge(frame);
    if (frame.anchor) {
      values_ += frame.size.values;
      count_copy(frame.place, frame.size.bytes);
    }
    Anchored copy{frame.anchor ? frame.value : Value(), frame.size};
    add(frame.place, std::move(frame.value), frame.anchor, std::move(copy), "");
  }

  /// Puts a finished value (or key) where it belongs. `copy` is what an anchor keeps.
  void add(Place place, Value value, YAML::anchor_t anchor, Anchored copy, const std::string& key) {
    const Size size = copy.size;
    if (++values_ > max_values)
      stop(place, "the file has more than " + std::to_string(max_values) + " values");
    if (anchor) anchors_[anchor] = std::move(copy);
    value.place = place;
    if (frames_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& frame = frames_.back();
    frame.size.values += size.values;
    frame.size.bytes += size.bytes;
    frame.size.depth = std::max(frame.size.depth, size.depth + 1);
    if (frame.value.is_list()) {
      frame.value.as_list().push_back(std::move(value));
    } else if (!frame.has_key) {
      frame.has_key = true;
      frame.key = key;
      frame.key_place = place;
    } else {
      add_member(frame, std::move(value));
    }
  }

  /// `<<: *base` or `<<: [*first, *second]`, as YAML 1.1 and PyYAML have it.
  void take_merged(Frame& frame, const Value& value) {
    const List sources = value.is_list() ? value.as_list() : List{value};
    for (const Value& source : sources) {
      if (!source.is_map()) {
        diagnostics_.add(frame.key_place, path(),
                         "found " + describe(source) + ", expected the alias of a map");
        return;
      }
      frame.merged.insert(frame.merged.end(), source.as_map().begin(), source.as_map().end());
    }
  }

  /// Before the frame's own keys, which count where both have one, as PyYAML has it.
  void merge(Frame& frame) {
    Map map;
    for (auto& [key, value] : frame.merged)
      if (frame.lines.emplace(key, value.place.line).second)
        map.emplace_back(key, std::move(value));
    Map& own = frame.value.as_map();
    map.insert(map.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
    own = std::move(map);
  }

  void add_member(Frame& frame, Value value) {
    value.place = frame.key_place;
    const auto [first, is_new] = frame.lines.emplace(frame.key, frame.key_place.line);
    if (!is_new) {
      diagnostics_.add(frame.key_place, path(), "the key is given twice, expected once",
                       "first on line " + std::to_string(first->second));
    } else if (frame.merges) {
      take_merged(frame, value);
    } else {
      frame.value.as_map().emplace_back(std::move(frame.key), std::move(value));
    }
    frame.has_key = frame.merges = false;
  }

  Diagnostics& diagnostics_;
  std::vector<Frame> frames_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
  std::size_t aliased_ = 0, copied_bytes_ = 0, values_ = 0;
  Value root_;
};

/// yaml-cpp takes some control characters for the end of the file, and passes broken UTF-8 on.
void check_characters(std::string_view text, Diagnostics& diagnostics) {
  int line = 1;
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t length = utf8_length(text, i);
    if (length == 0) {
      diagnostics.add({line, 0}, "", "found bytes that are not UTF-8 text, expected a YAML file");
      return;
    }
    if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F) {
      diagnostics.add(
          {line, 0}, "",
          "found a control character (code " + std::to_string(c) + "), expected a YAML file");
      return;
    }
    if (c == '\n') ++line;
    i += length;
  }
}

/// Names the lines whose indentation holds a tab: the usual cause of a syntax error far from it.
bool complain_about_tabs(std::string_view text, Diagnostics& diagnostics) {
  bool found = false;
  int line = 0;
  for (std::size_t start = 0; start < text.size();) {
    ++line;
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view row = text.substr(start, end - start);
    const std::size_t first = row.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && row[first] != '#' &&
        row.substr(0, first).find('\t') != std::string_view::npos) {
      diagnostics.add({line, 0}, "", "found a tab in the indentation, expected spaces");
      found = true;
    }
    start = end + 1;
  }
  return found;
}

}  // namespace

Value read_yaml(std::string_view text, const std::string& name) {
  Diagnostics diagnostics(name);
  check_characters(text, diagnostics);
  diagnostics.throw_if_any();
  Builder builder(diagnostics);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    Builder second(diagnostics);
    if (parser.HandleNextDocument(second)) {
      const Value more = second.take_root();
      diagnostics.add(more.place, "", "found a second document, expected one document in a file");
    }
  } catch (const YAML::Exception& error) {
    if (!complain_about_tabs(text, diagnostics) &&
        !complain_about_slip(text, error.mark.line + 1, diagnostics)) {
      std::string message = error.msg;  // may hold a single byte of the file's text
      std::replace_if(
          message.begin(), message.end(), [](char c) { return c < 0x20 || c > 0x7E; }, '?');
      diagnostics.add(place_of(error.mark), "", "this is not YAML: " + message);
    }
  }
  diagnostics.throw_if_any();
  return builder.take_root();
}

}  // namespace thalweg::jobspec
