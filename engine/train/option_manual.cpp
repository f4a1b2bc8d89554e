// thalweg-sweep-train(5): the tables as a manual page. The build writes it, so that it is never out
// of date.
#include "engine/device/layer.h"
#include "engine/nn/graph.h"
#include "engine/train/option_text.h"
#include "jobspec/schema.h"

namespace thalweg::engine {
namespace {

using jobspec::Option;
using jobspec::Section;
using jobspec::Variant;

/// Text that troff prints as it is.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool line_start = out.empty() || out.back() == '\n';
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '"') {
      out += "\\(dq";
    } else if (c == '\'') {
      out += "\\(aq";
    } else {
      out += c;
    }
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string entry(const std::string& name, const std::string& text) {
  return ".TP\n.B " + plain(name) + "\n" + plain(text) + "\n";
}

/// As a sentence of its own.
std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

std::string entries(const std::vector<Option>& options) {
  std::string text;
  for (const Option& option : options)
    text += entry(option.name, (option.doc.empty() ? "" : sentence(option.doc) + "\n") +
                                   sentence(range_and_default(option)));
  return text;
}

std::string alternatives(const Section& section) {
  std::string text = entry(section.selector, "Which one, with the options below it. " +
                                                 (section.default_value.empty()
                                                      ? std::string("Required.")
                                                      : "Default: " + section.default_value + "."));
  for (const Variant& variant : section.variants) {
    text +=
        ".SS " + plain(section.path + ": {" + section.selector + ": " + variant.name + "}") + "\n";
    text += plain(variant.doc) + "\n" + entries(variant.options);
  }
  return text;
}

const char* const kHead = R"(.SH NAME
thalweg\-sweep\-train \- what the train section of a sweep file may hold
.SH DESCRIPTION
All options of
.B train
in a
.BR thalweg\-sweep (5)
file, with what fits and the default of each. A parameter is named by the path of an option:
.BR optimizer.lr .
The same is printed by
.BR "thalweg\-train \-\-options" ,
of one part by
.BR "thalweg\-train \-\-options data.arrays" .
This page was written from the tables of the program.
)";

}  // namespace

std::string options_manual(const jobspec::Schema& schema) {
  std::string text = ".TH THALWEG\\-SWEEP\\-TRAIN 5 \"\" \"Thalweg " + plain(schema.version) +
                     "\" \"File Formats\"\n" + kHead;
  std::string before = "-";
  for (const Section& section : schema.sections) {
    if (section.path != before)
      text += ".SH " + (section.path.empty() ? "TRAIN" : upper(plain(section.path))) + "\n";
    if (section.path == before) text += ".PP\n";
    before = section.path;
    text += plain(section.doc) + ".\n" + entries(section.options);
    if (!section.variants.empty()) text += alternatives(section);
  }
  text +=
      ".SH LAYERS OF MODEL GRAPH\nOf each, with its options:\n.BR \"layers: [{kind: linear, "
      "outputs: 10}]\" .\n";
  for (const LayerKind& kind : layer_table())
    text += ".SS " + plain(kind.name) + "\n" + plain(kind.doc) + "\n" + entries(kind.options);
  return text + ".SH SEE ALSO\n.BR thalweg\\-sweep (5),\n.BR thalweg\\-train (1)\n";
}

}  // namespace thalweg::engine
