// Sweep files of Weights & Biases that start a program of their own. Thalweg trains with its own
// engine, so every key of such a file would be a mistake; one message says so, and what its
// parameters are called here.
#include <fmt/format.h>

#include "jobspec/check.h"
#include "jobspec/parse.h"
#include "jobspec/synonyms.h"

namespace thalweg::jobspec {
namespace {

constexpr std::size_t max_parameters = 20;

/// "train.py", or the words of the command that name a script.
std::string program_of(const Value& value) {
  if (value.is_string()) return value.as_string();
  if (value.is_list()) {
    for (const Value& word : value.as_list()) {
      const std::string text = word.to_text();
      if (text.size() > 3 && text.substr(text.size() - 3) == ".py") return text;
    }
  }
  return "a program of its own";
}

/// Calls `each(name, value)` for every parameter, nested ones with their dotted names.
template <class Each>
void for_parameters(const Value& parameters, const std::string& prefix, const Each& each) {
  if (!parameters.is_map()) return;
  for (const auto& [key, value] : parameters.as_map()) {
    const std::string name = prefix.empty() ? key : prefix + "." + key;
    const Value* inner = value.is_map() ? value.find("parameters") : nullptr;
    if (inner) {
      for_parameters(*inner, name, each);
    } else {
      each(name, value);
    }
  }
}

std::string name_here(const Schema& schema, const std::string& name) {
  if (Target(schema, name).known()) return name;
  constexpr std::string_view prefix = "train.";
  for (const Meaning& meaning : meanings_of_key("parameters", name)) {
    if (meaning.means.compare(0, prefix.size(), prefix) != 0) {
      if (!meaning.means.empty()) return meaning.means;
      continue;
    }
    const std::string path = meaning.means.substr(prefix.size());
    if (Target(schema, path).known()) return path;
  }
  return "";
}

std::string mapping(const Value& parameters, const Schema& schema) {
  std::string text, without;
  std::size_t count = 0;
  for_parameters(parameters, "", [&](const std::string& name, const Value&) {
    if (++count > max_parameters) return;
    const std::string here = name_here(schema, name);
    std::string& list = here.empty() ? without : text;
    list += (list.empty() ? "" : ", ") + name + (here.empty() ? "" : " -> " + here);
  });
  if (count > max_parameters) text += fmt::format(", and {} more", count - max_parameters);
  if (!without.empty()) text += (text.empty() ? "" : "; ") + ("without a counterpart: " + without);
  return text;
}

/// What the file asks for that no sweep here can do.
std::string unsupported(const Value& file) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  const Value* method = file.find("method");
  const bool known = method && (*method == Value("grid") || *method == Value("random"));
  if (method && !known)
    add("method " + method->to_text() + " (write grid, or random with run_cap)");
  if (file.find("early_terminate")) add("early_terminate (trials run to their end)");
  if (const Value* parameters = file.find("parameters")) {
    for_parameters(*parameters, "", [&](const std::string& name, const Value& value) {
      const Value* distribution = value.is_map() ? value.find("distribution") : nullptr;
      if (!distribution || !distribution->is_string()) return;
      const std::string& kind = distribution->as_string();
      if (kind == "beta" || kind == "q_beta") add("distribution " + kind + " of " + name);
    });
  }
  return text;
}

}  // namespace

bool refuse_program(const Value& file, Parsing& parsing) {
  const Value* program = file.find("program");
  const Value* command = file.find("command");
  if (file.find("train") || (!program && !command)) return false;
  const Value& found = program ? *program : *command;
  const Value* parameters = file.find("parameters");
  const std::string names = parameters ? mapping(*parameters, parsing.schema) : "";
  const std::string cannot = unsupported(file);
  parsing.diagnostics.add(
      found.place, program ? "program" : "command",
      "this is a Weights & Biases sweep that runs " + program_of(found) +
          "; Thalweg trains with its own engine and runs no other program",
      "say what to train under train: {model: {name: ...}, data: {name: ...}}, and leave out " +
          std::string(program ? "program" : "command") +
          (names.empty() ? "" : "; your parameters would be: " + names) +
          (cannot.empty() ? "" : "; not supported here: " + cannot));
  return true;
}

}  // namespace thalweg::jobspec
