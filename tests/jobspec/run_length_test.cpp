// What depends on how long a run is.
#include "jobspec/run_length.h"

#include <gtest/gtest.h>

namespace thalweg::jobspec {
namespace {

TEST(RunLength, IsTakenWhereNoOtherIsSet) {
  Section schedule;
  schedule.path = "schedule";
  schedule.selector = "decay";
  schedule.default_value = "constant";
  schedule.variants = {{"constant", "", {}, ""}, {"cosine", "", {}, "decay"}, {"wsd", "", {}, "*"}};
  const Schema schema = Schema::from_json(Schema{"1", {schedule}}.to_json());
  const auto what = [&](const char* train) {
    return depends_on_run_length(schema, read_yaml(train, "train"));
  };
  EXPECT_EQ(what("{}"), "");
  EXPECT_EQ(what("{schedule: {decay: constant}}"), "");
  EXPECT_EQ(what("{schedule: {decay: cosine}}"),
            "schedule.decay: cosine (without decay_steps, decay_epochs or decay_samples)");
  EXPECT_EQ(what("{schedule: {decay: cosine, decay_epochs: 5}}"), "");
  EXPECT_EQ(what("{schedule: {decay: wsd, decay_epochs: 5}}"), "schedule.decay: wsd");
}

}  // namespace
}  // namespace thalweg::jobspec
