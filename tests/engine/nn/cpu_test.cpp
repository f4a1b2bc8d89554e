// The cpu device against the reference device in float64, layer by layer and for whole models.
#include <gtest/gtest.h>

#include "cases.h"
#include "engine/device/executor.h"
#include "near_reference.h"

namespace thalweg::engine::test {
namespace {

// Of the reference tensor's norm. Gradients of weights before a batch norm lose digits by
// cancellation.
constexpr double cpu_tolerance = 1e-5;

class Cpu : public testing::TestWithParam<Case> {};

TEST_P(Cpu, MatchesReference) {
  const Graph graph = GetParam().graph();
  const auto program = cpu::compile(graph, GetParam().samples);
  expect_near_reference(graph, *program, *program->executor(), GetParam().samples, cpu_tolerance);
}

INSTANTIATE_TEST_SUITE_P(Layers, Cpu, testing::ValuesIn(small_cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Windows, Cpu, testing::ValuesIn(exact_cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Shapes, Cpu, testing::ValuesIn(larger_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::engine::test
