#include "engine/train/describe.h"

#include <filesystem>
#include <istream>
#include <ostream>

#include "base/file.h"
#include "engine/train/check.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;

/// A file whose keys are wrong, as a report of nothing else.
CheckReport unreadable(const std::exception& error) {
  CheckReport report;
  if (const auto* input = dynamic_cast<const jobspec::InputError*>(&error)) {
    for (const jobspec::Diagnostic& d : input->diagnostics())
      report.errors.push_back({d.key, d.message, d.hint});
  } else {
    report.errors.push_back({"", error.what()});
  }
  return report;
}

Value json_of(const std::string& name, const CheckReport& report) {
  List errors;
  for (const CheckError& e : report.errors)
    errors.push_back(Map{{"key", e.key}, {"message", e.message}, {"hint", e.hint}});
  Map line{{"format", 1}, {"file", name}, {"ok", report.errors.empty()}};
  line.emplace_back("errors", std::move(errors));
  for (auto& entry : report.to_json())
    line.push_back(std::move(entry));
  line.emplace_back("layers", report.layer_json());
  line.emplace_back("notes", List(report.notes.begin(), report.notes.end()));
  return line;
}

class Describer {
 public:
  Describer(const DescribeOptions& options, const DescribeStreams& streams)
      : options_(options), streams_(streams), checker_({options.elsewhere, false}) {}

  void tell(const std::string& name, const std::string& text) {
    write(name, report_of(name, text));
  }
  void tell_file(const std::string& file) {
    try {
      tell(file, read_file(file));
    } catch (const std::system_error& error) {
      write(file, unreadable(error));
    }
  }

  bool fine = true;

 private:
  CheckReport report_of(const std::string& name, const std::string& text) {
    try {
      const jobspec::Trial trial = jobspec::parse_trial(text, name);
      return checker_.check({trial.train, trial.resources, name, trial.metric, trial.sweep_ranks,
                             true, trial.init_from});
    } catch (const jobspec::InputError& error) {
      return unreadable(error);
    }
  }

  void write(const std::string& name, const CheckReport& report) {
    fine = fine && report.errors.empty();
    if (options_.json) {
      streams_.out << json_of(name, report).to_json() << '\n';
      return;
    }
    if (report.errors.empty())
      streams_.out << name << ": " << report.text() << report.layer_text() << '\n';
    for (const CheckError& e : report.errors)
      streams_.err << name << ": " << (e.key.empty() ? "" : e.key + ": ") << e.message
                   << (e.hint.empty() ? "" : " (" + e.hint + ")") << '\n';
  }

  DescribeOptions options_;
  DescribeStreams streams_;
  Checker checker_;
};

}  // namespace

bool describe_trials(const std::vector<std::string>& files, const DescribeOptions& options,
                     const DescribeStreams& streams) {
  Describer describer(options, streams);
  for (const std::string& file : files) {
    if (file != "-") {
      describer.tell_file(file);
      continue;
    }
    std::string line;
    for (int number = 1; std::getline(streams.in, line); ++number)
      if (!line.empty()) describer.tell("standard input:" + std::to_string(number), line);
  }
  return describer.fine;
}

}  // namespace thalweg::engine
