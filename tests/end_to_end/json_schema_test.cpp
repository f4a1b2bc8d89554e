// `thalweg schema` against sweep files, by Python's jsonschema where it is installed.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/process.h"

namespace thalweg::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const fs::path kSource = THALWEG_SOURCE_DIR;

// 1e-4 is a number in YAML 1.2, which the sweep files are; PyYAML reads 1.1.
const char* const kCheck = R"(
import json, re, sys
import jsonschema, yaml
loader = yaml.SafeLoader
loader.add_implicit_resolver('tag:yaml.org,2002:float',
    re.compile(r'^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+$'), list('-+.0123456789'))
schema = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(schema)
check = jsonschema.Draft7Validator(schema)
for name in sys.argv[2:]:
    errors = [e.message for e in check.iter_errors(yaml.load(open(name), loader))]
    print(json.dumps({'file': name, 'errors': errors}))
)";

std::string schema_text() {
  TempDir home;
  RunOptions options;
  options.env["THALWEG_HOME"] = home.path().string();
  const Outcome outcome = run({"thalweg", "schema"}, options);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}

TEST(JsonSchemaCommand, PrintsWhatTheEngineCanDo) {
  const json schema = json::parse(schema_text());
  const json& properties = schema["properties"];
  EXPECT_EQ(schema["$schema"], "http://json-schema.org/draft-07/schema#");
  EXPECT_FALSE(schema["additionalProperties"].get<bool>());
  EXPECT_TRUE(properties.contains("seeds"));
  const json& optimizer = properties["train"]["properties"]["optimizer"]["properties"];
  EXPECT_THAT(optimizer["name"]["enum"].dump(), testing::HasSubstr("\"adamw\""));
  EXPECT_FALSE(optimizer["beta2"]["description"].get<std::string>().empty());
  EXPECT_TRUE(properties["parameters"]["properties"].contains("optimizer.lr"));
  EXPECT_TRUE(properties["parameters"]["properties"].contains("resources.nodes"));
}

TEST(JsonSchemaCommand, TakesGoodFilesAndRefusesOthers) {
  if (run({"/usr/bin/python3", "-c", "import jsonschema, yaml"}).code != 0)
    GTEST_SKIP() << "python3-jsonschema and python3-yaml are not installed";
  TempDir folder;
  const fs::path schema = folder.path() / "schema.json";
  write_file(schema, schema_text());
  std::vector<std::string> words{"/usr/bin/python3", "-c", kCheck, schema.string()};
  for (const auto& entry : fs::directory_iterator(kSource / "jobspec/examples"))
    if (entry.path().extension() == ".yaml") words.push_back(entry.path().string());
  const std::size_t good = words.size();
  EXPECT_GE(good, 4u + 10u);
  for (const char* name : {"weight_decay_with_a_dash", "train_key_at_the_top", "optuna_words",
                           "dropout_over_one", "sgd_with_momentum", "slurm_words_in_resources"})
    words.push_back((kSource / "tests/jobspec/people" / (std::string(name) + ".yaml")).string());
  const Outcome outcome = run(words);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::size_t at = 4;
  for (std::string line; std::getline(lines, line); ++at) {
    const json answer = json::parse(line);
    EXPECT_EQ(answer["errors"].empty(), at < good) << line;
  }
  EXPECT_EQ(at, words.size());
}

}  // namespace
}  // namespace thalweg::test
