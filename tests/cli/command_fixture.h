// The real `thalweg` in a folder of its own, with a fake controller, engine and daemon beside it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/fake_controller.h"
#include "tests/support/process.h"

namespace thalweg::test {

using nlohmann::json;

json sample(const std::string& name);

class CommandTest : public testing::Test {
 protected:
  CommandTest();

  /// Starts the fake controller, which answers pings.
  FakeController& controller();
  Outcome thalweg(std::vector<std::string> words);
  /// The engine answers --check with `echo WORDS` of the shell, and notes how it was asked in the
  /// file "asked".
  void answer_check(const std::string& words);
  /// The program's standard output as JSON; the exit code must be 0.
  json thalweg_json(std::vector<std::string> words);
  std::filesystem::path folder(const std::string& name) const { return temp_.path() / name; }
  RunOptions options() const;
  std::string program() const { return folder("bin/thalweg").string(); }
  /// A program beside thalweg, of these lines of shell.
  void script(const std::string& name, const std::string& text);

 private:
  TempDir temp_;
  std::unique_ptr<FakeController> controller_;
};

std::string source_file(const std::string& name);

/// Of sweep 12 no study can tell anything. `by`: "&by=lr" where the page asks for workloads.
void refuse_studies(FakeController& controller, const std::string& by = "");

}  // namespace thalweg::test
