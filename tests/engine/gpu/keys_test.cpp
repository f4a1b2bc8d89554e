// Keys of calls: whatever a shape's field is changed to, the key is another one.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/gpu/library.h"
#include "engine/gpu/names.h"
#include "tests/engine/gpu/machines.h"

namespace thalweg::engine::gpu {
namespace {

template <class Shape>
void expect_another_key_for_each(const Shape& shape,
                                 const std::vector<std::function<void(Shape&)>>& changes) {
  std::set<std::string> keys{key_of(shape)};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Shape other = shape;
    changes[i](other);
    EXPECT_TRUE(keys.insert(key_of(other)).second) << "change " << i << ": " << key_of(other);
  }
  EXPECT_EQ(key_of(Shape(shape)), key_of(shape));
}

// As many changes as names.cpp binds fields.
TEST(Keys, OfProducts) {
  Product p;
  p.m = 8, p.n = 16, p.k = 32;
  p.row_a = 32, p.row_b = 16, p.row_c = 16;
  p.batch = 2;
  expect_another_key_for_each<Product>(p, {[](auto& s) { s.m = 9; },
                                           [](auto& s) { s.n = 17; },
                                           [](auto& s) { s.k = 33; },
                                           [](auto& s) { s.transpose_a = true; },
                                           [](auto& s) { s.transpose_b = true; },
                                           [](auto& s) { s.a = Type::bf16; },
                                           [](auto& s) { s.b = Type::bf16; },
                                           [](auto& s) { s.c = Type::bf16; },
                                           [](auto& s) { s.row_a = 40; },
                                           [](auto& s) { s.row_b = 40; },
                                           [](auto& s) { s.row_c = 40; },
                                           [](auto& s) { s.batch = 3; },
                                           [](auto& s) { s.step_a = 256; },
                                           [](auto& s) { s.step_b = 256; },
                                           [](auto& s) { s.step_c = 256; },
                                           [](auto& s) { s.alpha = 0.125f; },
                                           [](auto& s) { s.alignment = 4; },
                                           [](auto& s) { s.accumulate = true; },
                                           [](auto& s) { s.bias = true; },
                                           [](auto& s) { s.relu = true; },
                                           [](auto& s) { s.sums_of_a = true; },
                                           [](auto& s) { s.products = Products::tf32; }});
}

TEST(Keys, OfProductsKnowRowsSideBySide) {
  Product p;
  p.m = 8, p.n = 16, p.k = 32;
  const std::string key = key_of(p);
  p.row_a = 32, p.row_b = 16, p.row_c = 16;
  EXPECT_EQ(key_of(p), key);
}

TEST(Keys, OfRecurrences) {
  Recurrence r;
  r.samples = 2, r.positions = 3, r.features = 4, r.width = 5;
  expect_another_key_for_each<Recurrence>(
      r, {[](auto& s) { s.type = Type::bf16; }, [](auto& s) { s.samples = 3; },
          [](auto& s) { s.positions = 4; }, [](auto& s) { s.features = 5; },
          [](auto& s) { s.width = 6; }, [](auto& s) { s.layers = 2; },
          [](auto& s) { s.products = Products::tf32; }});
}

TEST(Keys, OfConvolutions) {
  Convolution c;
  c.n = 2, c.c = 3, c.k = 4;
  c.in = {8, 8}, c.out = {8, 8}, c.kernel = {3, 3};
  c.padding = 1;
  expect_another_key_for_each<Convolution>(
      c, {[](auto& s) { s.pass = Convolution::Pass::backward_data; },
          [](auto& s) { s.pass = Convolution::Pass::backward_weights; },
          [](auto& s) { s.type = Type::bf16; }, [](auto& s) { s.n = 3; }, [](auto& s) { s.c = 4; },
          [](auto& s) { s.k = 5; },
          [](auto& s) {
            s.in = {8, 9};
          },
          [](auto& s) {
            s.out = {8, 9};
          },
          [](auto& s) {
            s.kernel = {3, 5};
          },
          [](auto& s) {
            s.kernel = {3, 3, 3};
          },
          [](auto& s) { s.stride = 2; }, [](auto& s) { s.padding = 0; },
          [](auto& s) { s.bias = true; }, [](auto& s) { s.relu = true; },
          [](auto& s) { s.products = Products::tf32; }});
}

TEST(Keys, OfAttention) {
  FusedAttention f;
  f.samples = 2, f.heads = 3, f.queries = 4, f.keys = 5, f.width = 8;
  f.q = f.k = f.v = f.o = {96, 24, 8};
  std::vector<std::function<void(FusedAttention&)>> changes{
      [](auto& s) { s.samples = 3; },   [](auto& s) { s.heads = 4; },
      [](auto& s) { s.queries = 5; },   [](auto& s) { s.keys = 6; },
      [](auto& s) { s.width = 16; },    [](auto& s) { s.scale = 0.5f; },
      [](auto& s) { s.causal = true; }, [](auto& s) { s.backward = true; }};
  for (const auto tensor :
       {&FusedAttention::q, &FusedAttention::k, &FusedAttention::v, &FusedAttention::o})
    for (const auto stride : {&FusedAttention::Strides::sample, &FusedAttention::Strides::position,
                              &FusedAttention::Strides::head})
      changes.emplace_back([=](FusedAttention& s) { (s.*tensor).*stride = 100; });
  expect_another_key_for_each(f, changes);
}

class CallKeys : public OnMachine {};

TEST_P(CallKeys, AreThoseOfTheirShapes) {
  Product p;
  p.m = 8, p.n = 16, p.k = 32;
  EXPECT_EQ(stream_->library().product(p)->key(), key_of(p));
  Convolution c;
  c.n = 2, c.c = 4, c.k = 4;
  c.in = c.out = {8, 8}, c.kernel = {3, 3};
  c.padding = 1;
  EXPECT_EQ(stream_->library().convolution(c)->key(), key_of(c));
  EXPECT_FALSE(stream_->library().versions().empty());
}

THALWEG_ON_MACHINES(CallKeys);

}  // namespace
}  // namespace thalweg::engine::gpu
