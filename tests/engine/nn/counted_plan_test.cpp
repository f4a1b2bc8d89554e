// What tests/support/counted_plan.h counts: bytes, arithmetic and launches of plans whose sums are
// known by hand.
#include "tests/support/counted_plan.h"

#include <gmock/gmock.h>

#include "cases.h"
#include "on_gpu.h"

namespace thalweg::engine::test {
namespace {

using Pass = CountedOperation::Pass;
using testing::ElementsAre;
using testing::HasSubstr;

Graph two_linear() {
  return build_graph({linear("a", 16), {"relu", "r", {}}, linear("b", 3)}, {{8}, 3, 1});
}

TEST(CountedPlan, CountsProductsAsTheyAreAskedFor) {
  constexpr int samples = 4;
  const CountedPlan counted = count_plan(two_linear(), samples, Precision::fp32);
  std::vector<double> flops;
  for (const CountedOperation& o : counted.operations)
    if (o.call != nullptr) flops.push_back(o.call->flops);
  const double a = 2.0 * samples * 8 * 16, b = 2.0 * samples * 16 * 3;
  // Forward; then b's weights and inputs, and a's weights: nothing wants its input's gradient.
  EXPECT_THAT(flops, ElementsAre(a, b, b, b, a));
}

TEST(CountedPlan, CountsBytesOfTheTensorsThatAnOperationNames) {
  constexpr int samples = 4;
  const CountedPlan counted = count_plan(two_linear(), samples, Precision::fp32);
  const CountedOperation& first = counted.operations.front();
  ASSERT_NE(first.call, nullptr);
  EXPECT_EQ(first.bytes, 4.0 * (samples * 8 + 16 * 8 + samples * 16 + 16));  // x, weights, y, bias
  EXPECT_THAT(place_of(counted, first), HasSubstr("linear a forward"));
  EXPECT_EQ(place_of(counted, counted.operations[2]), "cross_entropy loss");
  EXPECT_EQ(counted.operations[2].pass, Pass::loss);
  double of_loss = 0;
  for (const CountedOperation& o : counted.operations)
    of_loss += o.pass == Pass::loss ? o.bytes : 0;
  EXPECT_GE(of_loss, 4.0 * samples * (3 + 1));  // logits, labels
}

TEST(CountedPlan, CountsWhatIsPutIntoTheStream) {
  const CountedPlan counted = count_plan(two_linear(), 4, Precision::fp32);
  int own = 0;
  for (const CountedOperation& o : counted.operations) {
    const int of_a_call = o.call != nullptr ? 1 : o.launches;
    EXPECT_EQ(o.launches, of_a_call) << place_of(counted, o);
    if (o.call == nullptr) own += o.launches;
  }
  // The loss and its gradient, the sum of losses, relu's gradient; drawing labels puts in nothing.
  EXPECT_GE(own, 3);
  EXPECT_LE(own, 20);
}

TEST(CountedPlan, KnowsConvolutionsOfFewChannelsAndAttentionAndLstms) {
  const LayerSpec conv{"conv2d", "c", {{"channels", 8}, {"kernel", 3}, {"padding", 1}}};
  const auto work_of_first_call = [](const CountedPlan& counted) {
    for (const CountedOperation& o : counted.operations)
      if (o.call != nullptr) return *o.call;
    return CallWork{};
  };
  const CountedPlan images =
      count_plan(build_graph({conv, {"flatten", "f", {}}, linear("l", 2)}, {{3, 4, 4}, 2, 1}), 2,
                 Precision::bf16);
  const CallWork forward = work_of_first_call(images);
  EXPECT_EQ(forward.kind, CallWork::Kind::convolution);
  // At least as many as three channels take, at most as eight do.
  const double least = 2.0 * 2 * 16 * 8 * 9 * 3;
  EXPECT_GE(forward.flops, least);
  EXPECT_LE(forward.flops, least * 8 / 3);

  const LayerSpec attention{"attention", "a", {{"heads", 2}, {"causal", true}}};
  const CountedPlan tokens =
      count_plan(build_graph({linear("i", 48), attention, linear("o", 2)}, {{5, 6}, 2, 5}), 3,
                 Precision::bf16);
  std::vector<CallWork> looks;
  for (const CountedOperation& o : tokens.operations)
    if (o.call != nullptr && o.call->kind == CallWork::Kind::attention) {
      looks.push_back(*o.call);
      EXPECT_EQ(o.bytes, o.call->touched);
    }
  ASSERT_EQ(looks.size(), 2U);
  EXPECT_EQ(looks[0].flops, 3.0 * 2 * 5 * 5 * 8 * 2 * 2 / 2);  // two products of half the pairs
  EXPECT_EQ(looks[1].flops, looks[0].flops * 5 / 2);
  EXPECT_EQ(looks[0].touched, 2.0 * 3 * 5 * 16 * 4);  // q, k, v, o
  EXPECT_EQ(looks[1].touched, 2 * looks[0].touched);

  const CountedPlan lstm =
      count_plan(build_graph({{"lstm", "l", {{"width", 8}}}, linear("o", 2)}, {{5, 6}, 2, 5}), 3,
                 Precision::bf16);
  const CallWork recurrence = work_of_first_call(lstm);
  EXPECT_EQ(recurrence.kind, CallWork::Kind::lstm);
  EXPECT_EQ(recurrence.steps, 5);
  EXPECT_EQ(recurrence.flops, 2.0 * 3 * 5 * 4 * 8 * (6 + 8));
}

// A plan made with a GPU's own library can be run, and is the one that a program has.
TEST(CountedPlan, WithALibraryIsThePlanOfAProgram) {
  const auto stream = some_gpu().stream();
  const CountedPlan counted = count_plan(two_linear(), 4, Precision::fp32, &stream->library());
  const cuda::CudaProgram program(some_gpu(), counted.graph, 4, Precision::fp32);
  EXPECT_EQ(counted.plan.arena_bytes, program.plan().arena_bytes);
  EXPECT_EQ(counted.plan.backward.size(), program.plan().backward.size());
  ASSERT_EQ(counted.plan.calls.size(), program.plan().calls.size());
  for (std::size_t i = 0; i < counted.plan.calls.size(); ++i)
    EXPECT_EQ(counted.plan.calls[i].call->key(), program.plan().calls[i].call->key());
}

}  // namespace
}  // namespace thalweg::engine::test
