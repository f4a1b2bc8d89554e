// The libraries' calls against plain loops in doubles, on both machines, each in all its
// algorithms.
#include "engine/gpu/library.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/engine/gpu/machines.h"
#include "tests/support/distance.h"

namespace thalweg::engine::gpu {
namespace {

using Doubles = std::vector<double>;

/// Numbers that bfloat16 has, so that the inputs of all types are the same.
Doubles draw(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> number(-64, 64);
  Doubles values(static_cast<std::size_t>(n));
  for (double& value : values)
    value = number(random) / 64.0;
  return values;
}

class LibraryCalls : public OnMachine {
 protected:
  Memory up(const Doubles& values, Type type) {
    if (type == Type::f32) return OnMachine::up(std::vector<float>(values.begin(), values.end()));
    std::vector<Bf16> rounded;
    for (const double value : values)
      rounded.push_back(store<Bf16>(static_cast<float>(value)));
    return OnMachine::up(rounded);
  }
  Doubles down(const Memory& memory, Type type) {
    Doubles values;
    if (type == Type::f32) {
      for (const float value : OnMachine::down<float>(memory))
        values.push_back(value);
    } else {
      for (const Bf16 value : OnMachine::down<Bf16>(memory))
        values.push_back(load(value));
    }
    return values;
  }

  /// All algorithms of `call`; the last tensor but `inputs_after` ... is `result`, which is made
  /// anew.
  void expect(Call& call, std::vector<void*> tensors, std::size_t place, const Doubles& before,
              Type type, const Doubles& expected, double scale) {
    ASSERT_GE(call.algorithms(), 1);
    for (int algorithm = 0; algorithm < call.algorithms(); ++algorithm) {
      call.choose(algorithm);
      const Memory result = up(before, type);
      const Memory workspace(*gpu_, call.workspace(algorithm), "a test's workspace");
      tensors[place] = result.data();
      call.run(*stream_, tensors, workspace.data());
      const Doubles found = down(result, type);
      // A rounding of the result, and of every sum on the way.
      const double step = type == Type::bf16 ? 1.0 / 128 : 1e-5;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const double size = std::abs(expected[i]) + scale;
        thalweg::test::note_distance(std::abs(found[i] - expected[i]) / size, step);
        ASSERT_NEAR(found[i], expected[i], step * size)
            << call.name() << ", " << call.algorithm_name(algorithm) << ", element " << i;
      }
    }
  }
};

double at(const Doubles& values, std::int64_t i) {
  return values[static_cast<std::size_t>(i)];
}
double& at(Doubles& values, std::int64_t i) {
  return values[static_cast<std::size_t>(i)];
}

Doubles plain_product(const Product& p, const Doubles& a, const Doubles& b, Doubles c,
                      const Doubles& bias) {
  for (int batch = 0; batch < p.batch; ++batch)
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k)
          sum += at(a, batch * p.step_a + (p.transpose_a ? k * p.row_a + i : i * p.row_a + k)) *
                 at(b, batch * p.step_b + (p.transpose_b ? j * p.row_b + k : k * p.row_b + j));
        double& to = at(c, batch * p.step_c + i * p.row_c + j);
        to = p.alpha * sum + (p.accumulate ? to : 0) + (p.bias ? at(bias, j) : 0);
        if (p.relu) to = std::max(to, 0.0);
      }
  return c;
}

/// What lies between the rows of `result` becomes what c has there.
void keep_gaps(const Product& p, const Doubles& c, Doubles& result) {
  for (std::size_t i = 0; i < c.size(); ++i) {
    const auto in_batch = static_cast<std::int64_t>(i) % p.step_c;
    if (in_batch >= p.m * p.row_c || in_batch % p.row_c >= p.n) result[i] = c[i];
  }
}

TEST_P(LibraryCalls, Products) {
  struct Types {
    Type ab, c;
  };
  for (const Types types :
       {Types{Type::f32, Type::f32}, Types{Type::bf16, Type::bf16}, Types{Type::bf16, Type::f32}})
    for (const int options : {0, 1, 2, 3, 4 + 8, 16, 4 + 8 + 16, 1 + 32, 2 + 4 + 8 + 16 + 32, 64}) {
      Product p;
      p.m = 24, p.n = 40, p.k = 16;
      p.a = p.b = types.ab, p.c = types.c;
      p.transpose_a = options & 1, p.transpose_b = options & 2;
      p.bias = options & 4, p.relu = options & 8, p.accumulate = options & 16;
      if (options & 32) p.batch = 3;
      if (options & 64) p.products = Products::tf32;  // the inputs have few enough bits for it
      p.alpha = options & 16 ? 0.5f : 1;
      // Rows longer than they must be, and a batch with gaps.
      p.row_a = (p.transpose_a ? p.m : p.k) + 8, p.row_b = (p.transpose_b ? p.k : p.n) + 16;
      p.row_c = p.n + 8;
      p.step_a = p.row_a * (p.transpose_a ? p.k : p.m) + 32;
      p.step_b = p.row_b * (p.transpose_b ? p.n : p.k) + 64;
      p.step_c = p.row_c * p.m + 8;
      const Doubles a = draw(p.step_a * p.batch, 1), b = draw(p.step_b * p.batch, 2);
      const Doubles c = draw(p.step_c * p.batch, 3), bias = draw(p.n, 4);
      const Memory at_a = up(a, p.a), at_b = up(b, p.b), at_bias = up(bias, p.c);
      const auto call = stream_->library().product(p);
      SCOPED_TRACE(options);
      // What lies between the rows is left alone: it is compared too.
      expect(*call, {at_a.data(), at_b.data(), nullptr, at_bias.data()}, 2, c, p.c,
             plain_product(p, a, b, c, bias), 1);
      if (!p.accumulate) continue;
      // E beside C, and of other numbers; C's own gaps stay.
      const Doubles e = draw(p.step_c * p.batch, 5);
      const Memory at_e = up(e, p.c);
      Doubles expected = plain_product(p, a, b, e, bias);
      keep_gaps(p, c, expected);
      expect(*call, {at_a.data(), at_b.data(), nullptr, at_bias.data(), at_e.data()}, 2, c, p.c,
             expected, 1);
    }
}

TEST_P(LibraryCalls, ProductsBesideTheSumsOfA) {
  for (const Type type : {Type::f32, Type::bf16})
    for (const int options : {0, 1, 2, 1 + 4}) {
      SCOPED_TRACE(testing::Message()
                   << "options " << options << (type == Type::bf16 ? " bf16" : ""));
      Product p;
      p.m = 24, p.n = 40, p.k = 200;
      p.a = p.b = type;
      p.transpose_a = options & 1, p.transpose_b = options & 2;
      if (options & 4) p.products = Products::tf32;  // the inputs have few enough bits for it
      p.sums_of_a = true;
      const auto call = stream_->library().product(p);
      if (call == nullptr) GTEST_SKIP() << refusals().back();
      const Doubles a = draw(p.m * p.k, 1), b = draw(p.k * p.n, 2), c(960), none(24);
      Product rows = p;
      rows.row_a = p.transpose_a ? p.m : p.k, rows.row_b = p.transpose_b ? p.k : p.n;
      rows.row_c = p.n;
      Doubles sums(24);
      for (std::int64_t i = 0; i < p.m; ++i)
        for (std::int64_t k = 0; k < p.k; ++k)
          at(sums, i) += at(a, p.transpose_a ? k * p.m + i : i * p.k + k);
      const Memory at_a = up(a, type), at_b = up(b, type), at_c = up(c, Type::f32);
      const Memory at_sums = up(none, Type::f32);
      std::vector<void*> tensors{at_a.data(), at_b.data(), nullptr,
                                 nullptr,     nullptr,     at_sums.data()};
      expect(*call, tensors, 2, c, Type::f32, plain_product(rows, a, b, c, {}), 5);
      tensors[2] = at_c.data();
      expect(*call, tensors, 5, none, Type::f32, sums, 5);
    }
}

TEST_P(LibraryCalls, RefusesSumsBesideWhatIsNoPlainProduct) {
  Product p;
  p.m = p.n = p.k = 8;
  p.sums_of_a = p.relu = true;
  EXPECT_THROW((void)stream_->library().product(p), GpuError);
}

TEST_P(LibraryCalls, ProductsOfRowsSideBySide) {
  Product p;
  p.m = 7, p.n = 5, p.k = 3;
  const auto call = stream_->library().product(p);
  p.row_a = 3, p.row_b = 5, p.row_c = 5;
  const Doubles a = draw(21, 1), b = draw(15, 2), c(35);
  const Memory at_a = up(a, Type::f32), at_b = up(b, Type::f32);
  expect(*call, {at_a.data(), at_b.data(), nullptr}, 2, c, Type::f32, plain_product(p, a, b, c, {}),
         1);
}

TEST_P(LibraryCalls, ProductsOfTensorsThatBeginAtAnyElement) {
  for (const Type type : {Type::f32, Type::bf16}) {
    Product p;
    p.m = 7, p.n = 5, p.k = 3;
    p.a = p.b = p.c = type;
    p.alignment = static_cast<std::uint32_t>(size_of(type));
    const auto call = stream_->library().product(p);
    const Doubles a = draw(22, 1), b = draw(16, 2), c(35);
    const Memory at_a = up(a, type), at_b = up(b, type);
    const auto second = [&](const Memory& memory) {
      return static_cast<void*>(static_cast<char*>(memory.data()) + size_of(type));
    };
    Product plain = p;
    plain.row_a = 3, plain.row_b = 5, plain.row_c = 5;
    expect(*call, {second(at_a), second(at_b), nullptr}, 2, c, type,
           plain_product(plain, {a.begin() + 1, a.end()}, {b.begin() + 1, b.end()}, c, {}), 1);
    if (!gpu_->info().emulated) continue;
    // What a GPU would fail at much later.
    p.alignment = 16;
    void* const tensors[] = {second(at_a), at_b.data(), at_b.data()};
    EXPECT_THROW(stream_->library().product(p)->run(*stream_, tensors, nullptr), GpuError);
  }
}

TEST_P(LibraryCalls, RefusesFloatsMultipliedToBf16) {
  Product p;
  p.m = p.n = p.k = 8;
  p.c = Type::bf16;
  EXPECT_THROW((void)stream_->library().product(p), GpuError);
}

struct Case {
  Convolution shape;
  const char* what;
};
std::vector<Case> convolutions() {
  std::vector<Case> cases;
  const auto add = [&](const char* what, std::int64_t n, std::int64_t c, std::int64_t k,
                       std::vector<std::int64_t> in, std::vector<std::int64_t> kernel, int stride,
                       int padding) {
    Convolution shape;
    shape.n = n, shape.c = c, shape.k = k, shape.in = in, shape.kernel = kernel;
    shape.stride = stride, shape.padding = padding;
    for (std::size_t d = 0; d < in.size(); ++d)
      shape.out.push_back((in[d] + 2 * padding - kernel[d]) / stride + 1);
    cases.push_back({shape, what});
  };
  add("images", 2, 8, 16, {9, 7}, {3, 3}, 1, 1);
  add("images, stride 2", 2, 3, 8, {11, 10}, {5, 5}, 2, 2);
  add("1x1, stride 2", 3, 16, 8, {8, 8}, {1, 1}, 2, 0);
  add("1x1", 3, 16, 8, {6, 5}, {1, 1}, 1, 0);
  add("5x5 of few channels", 2, 3, 4, {7, 6}, {5, 5}, 1, 1);
  add("volumes", 2, 4, 8, {5, 6, 7}, {3, 3, 3}, 1, 1);
  add("volumes, stride 2, one channel", 1, 1, 8, {8, 8, 8}, {2, 2, 2}, 2, 0);
  return cases;
}

/// Of volumes; images are volumes of depth 1.
template <class Work>
void for_every_product(const Convolution& c, const Work& work) {
  const bool flat = c.in.size() == 2;
  const auto of = [&](const std::vector<std::int64_t>& sizes, std::size_t d) {
    return flat ? (d == 0 ? 1 : sizes[d - 1]) : sizes[d];
  };
  const auto first = [&](std::size_t d, std::int64_t o) {
    return flat && d == 0 ? 0 : o * c.stride - c.padding;
  };
  for (std::int64_t n = 0; n < c.n; ++n)
    for (std::int64_t o0 = 0; o0 < of(c.out, 0); ++o0)
      for (std::int64_t o1 = 0; o1 < of(c.out, 1); ++o1)
        for (std::int64_t o2 = 0; o2 < of(c.out, 2); ++o2)
          for (std::int64_t r0 = 0; r0 < of(c.kernel, 0); ++r0)
            for (std::int64_t r1 = 0; r1 < of(c.kernel, 1); ++r1)
              for (std::int64_t r2 = 0; r2 < of(c.kernel, 2); ++r2) {
                const std::int64_t i0 = first(0, o0) + r0, i1 = first(1, o1) + r1;
                const std::int64_t i2 = first(2, o2) + r2;
                if (i0 < 0 || i1 < 0 || i2 < 0 || i0 >= of(c.in, 0) || i1 >= of(c.in, 1) ||
                    i2 >= of(c.in, 2))
                  continue;
                const std::int64_t x =
                    ((n * of(c.in, 0) + i0) * of(c.in, 1) + i1) * of(c.in, 2) + i2;
                const std::int64_t y =
                    ((n * of(c.out, 0) + o0) * of(c.out, 1) + o1) * of(c.out, 2) + o2;
                const std::int64_t w = (r0 * of(c.kernel, 1) + r1) * of(c.kernel, 2) + r2;
                work(x, w, y);
              }
}
std::int64_t volume(const std::vector<std::int64_t>& sizes) {
  std::int64_t all = 1;
  for (const std::int64_t size : sizes)
    all *= size;
  return all;
}

TEST_P(LibraryCalls, Convolutions) {
  for (const Type type : {Type::f32, Type::bf16})
    for (Case& test : convolutions()) {
      SCOPED_TRACE(std::string(test.what) + (type == Type::bf16 ? " bf16" : ""));
      Convolution& c = test.shape;
      c.type = type;
      const std::int64_t taps = volume(c.kernel);
      const Doubles x = draw(c.n * volume(c.in) * c.c, 1), w = draw(c.k * taps * c.c, 2);
      const Doubles dy = draw(c.n * volume(c.out) * c.k, 3), bias = draw(c.k, 4);
      Doubles y(dy.size()), dx(x.size()), dw(w.size());
      for_every_product(c, [&](std::int64_t i, std::int64_t r, std::int64_t o) {
        for (std::int64_t k = 0; k < c.k; ++k)
          for (std::int64_t f = 0; f < c.c; ++f) {
            const std::int64_t from = i * c.c + f, weight = (k * taps + r) * c.c + f;
            const std::int64_t to = o * c.k + k;
            at(y, to) += at(x, from) * at(w, weight);
            at(dx, from) += at(dy, to) * at(w, weight);
            at(dw, weight) += at(dy, to) * at(x, from);
          }
      });
      const Memory at_x = up(x, type), at_w = up(w, type), at_dy = up(dy, type);
      const Memory at_bias = up(bias, type);
      const Library& library = stream_->library();

      c.pass = Convolution::Pass::forward;
      expect(*library.convolution(c), {at_x.data(), at_w.data(), nullptr}, 2, y, type, y, 2);
      for (const bool relu : {false, true}) {
        Convolution fused = c;
        fused.bias = true, fused.relu = relu;
        Doubles expected = y;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          expected[i] += bias[i % bias.size()];
          if (relu) expected[i] = std::max(expected[i], 0.0);
        }
        expect(*library.convolution(fused), {at_x.data(), at_w.data(), nullptr, at_bias.data()}, 2,
               y, type, expected, 2);
      }
      c.pass = Convolution::Pass::backward_data;
      expect(*library.convolution(c), {at_dy.data(), at_w.data(), nullptr}, 2, x, type, dx, 2);
      c.pass = Convolution::Pass::backward_weights;
      expect(*library.convolution(c), {at_x.data(), at_dy.data(), nullptr}, 2, w, Type::f32, dw,
             type == Type::bf16 ? 300 : 5);
    }
}

/// How many algorithms' names begin so; all algorithms have names of their own.
int ways_named(const Call& call, const std::string& begin) {
  std::set<std::string> names;
  int count = 0;
  for (int algorithm = 0; algorithm < call.algorithms(); ++algorithm) {
    names.insert(call.algorithm_name(algorithm));
    count += call.algorithm_name(algorithm).starts_with(begin);
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(call.algorithms())) << call.name();
  EXPECT_EQ(call.algorithm_name(call.algorithms()), "") << call.name();
  return count;
}

TEST_P(LibraryCalls, ConvolutionsAreDoneByOtherCallsToo) {
  using Pass = Convolution::Pass;
  for (const Case& test : convolutions()) {
    SCOPED_TRACE(test.what);
    Convolution c = test.shape;
    const bool product = c.kernel == std::vector<std::int64_t>{1, 1} && c.stride == 1;
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weights}) {
      c.pass = pass;
      const auto call = stream_->library().convolution(c);
      EXPECT_LE(call->algorithms(), 8);
      EXPECT_FALSE(call->algorithm_name(0).starts_with("product") ||
                   call->algorithm_name(0).starts_with("turned"));
      EXPECT_EQ(ways_named(*call, "product ") > 0, product);
      EXPECT_EQ(ways_named(*call, "turned ") > 0,
                pass == Pass::backward_data && c.stride == 1 && !product);
      if (!product) continue;
      EXPECT_THROW(call->choose(call->algorithms()), GpuError);
      EXPECT_THROW((void)call->workspace(call->algorithms()), GpuError);
    }
  }
}

TEST_P(LibraryCalls, TurnedWeightsLieInTheWorkspace) {
  Convolution c = convolutions()[0].shape;
  c.pass = Convolution::Pass::backward_data;
  const auto call = stream_->library().convolution(c);
  const int last = call->algorithms() - 1;
  ASSERT_TRUE(call->algorithm_name(last).starts_with("turned ")) << call->algorithm_name(last);
  EXPECT_GE(call->workspace(last), 16u * 3 * 3 * 8 * sizeof(float));
  call->choose(last);
  void* const nothing[] = {nullptr, nullptr, nullptr};
  EXPECT_THROW(call->run(*stream_, nothing, nullptr), GpuError);
}

// No padding makes them a convolution: it would be negative, or another one in each direction.
TEST_P(LibraryCalls, OnlyWhatAConvolutionCanDoIsTurned) {
  if (!gpu_->info().emulated) GTEST_SKIP() << "a library may refuse such shapes";
  Convolution c = convolutions()[0].shape;
  c.pass = Convolution::Pass::backward_data;
  c.padding = 3, c.out = {13, 11};
  EXPECT_EQ(ways_named(*stream_->library().convolution(c), "turned "), 0);
  c.padding = 1, c.kernel = {3, 1}, c.out = {9, 9};
  EXPECT_EQ(ways_named(*stream_->library().convolution(c), "turned "), 0);
}

struct Attention {
  Doubles o, stats, dq, dk, dv;
};
/// Rows of (sample, position, head, feature).
Attention plain_attention(const FusedAttention& f, const Doubles& q, const Doubles& k,
                          const Doubles& v, const Doubles& d_o) {
  const auto n = static_cast<std::size_t>(f.samples * f.heads * f.queries);
  Attention r{Doubles(q.size()), Doubles(n), Doubles(q.size()), Doubles(k.size()),
              Doubles(v.size())};
  for (std::int64_t s = 0; s < f.samples; ++s)
    for (std::int64_t h = 0; h < f.heads; ++h)
      for (std::int64_t i = 0; i < f.queries; ++i) {
        const auto row = [&](const FusedAttention::Strides& t, std::int64_t position) {
          return s * t.sample + h * t.head + position * t.position;
        };
        const std::int64_t seen = f.causal ? std::min(i + 1, f.keys) : f.keys;
        Doubles p(static_cast<std::size_t>(seen));
        double sum = 0, along = 0;
        for (std::int64_t j = 0; j < seen; ++j) {
          double score = 0;
          for (std::int64_t d = 0; d < f.width; ++d)
            score += at(q, row(f.q, i) + d) * at(k, row(f.k, j) + d);
          sum += at(p, j) = std::exp(f.scale * score);
        }
        at(r.stats, (s * f.heads + h) * f.queries + i) = std::log(sum);
        for (std::int64_t j = 0; j < seen; ++j) {
          at(p, j) /= sum;
          for (std::int64_t d = 0; d < f.width; ++d)
            at(r.o, row(f.o, i) + d) += at(p, j) * at(v, row(f.v, j) + d);
        }
        for (std::int64_t d = 0; d < f.width; ++d)
          along += at(r.o, row(f.o, i) + d) * at(d_o, row(f.o, i) + d);
        for (std::int64_t j = 0; j < seen; ++j) {
          double gradient = 0;
          for (std::int64_t d = 0; d < f.width; ++d) {
            gradient += at(d_o, row(f.o, i) + d) * at(v, row(f.v, j) + d);
            at(r.dv, row(f.v, j) + d) += at(p, j) * at(d_o, row(f.o, i) + d);
          }
          gradient = f.scale * at(p, j) * (gradient - along);
          for (std::int64_t d = 0; d < f.width; ++d) {
            at(r.dq, row(f.q, i) + d) += gradient * at(k, row(f.k, j) + d);
            at(r.dk, row(f.k, j) + d) += gradient * at(q, row(f.q, i) + d);
          }
        }
      }
  return r;
}

TEST_P(LibraryCalls, AttentionAndItsGradients) {
  for (const bool causal : {false, true})
    for (const std::int64_t keys : {40, 64}) {
      SCOPED_TRACE(testing::Message() << "causal " << causal << ", keys " << keys);
      FusedAttention f;
      f.samples = 2, f.heads = 3, f.queries = keys == 40 ? 40 : 24, f.keys = keys, f.width = 16;
      const std::int64_t row = f.heads * f.width;
      f.q = f.o = {f.queries * row, row, f.width};
      f.k = f.v = {f.keys * row, row, f.width};
      f.scale = 0.25f, f.causal = causal;
      const Doubles q = draw(f.samples * f.q.sample, 1), k = draw(f.samples * f.k.sample, 2);
      const Doubles v = draw(f.samples * f.v.sample, 3), d_o = draw(f.samples * f.o.sample, 4);
      const Attention r = plain_attention(f, q, k, v, d_o);
      const Type bf16 = Type::bf16, f32 = Type::f32;
      const Memory at_q = up(q, bf16), at_k = up(k, bf16), at_v = up(v, bf16), at_o = up(r.o, bf16);
      const Memory at_d = up(d_o, bf16), stats = up(r.stats, f32);
      const Memory spare_q = up(q, bf16), spare_k = up(k, bf16), spare_v = up(v, bf16);
      const auto forward = stream_->library().attention(f);
      if (!forward) GTEST_SKIP() << "this GPU's library has no fused attention";
      const Memory spare(*gpu_, stats.bytes(), "a test");
      std::vector<void*> tensors{at_q.data(), at_k.data(), at_v.data(), nullptr, spare.data()};
      expect(*forward, tensors, 3, q, bf16, r.o, 1);
      tensors[3] = spare_q.data();
      expect(*forward, tensors, 4, r.stats, f32, r.stats, 100);

      f.backward = true;
      const auto backward = stream_->library().attention(f);
      ASSERT_TRUE(backward);
      tensors = {at_q.data(),  at_k.data(),    at_v.data(),    at_o.data(),   at_d.data(),
                 stats.data(), spare_q.data(), spare_k.data(), spare_v.data()};
      expect(*backward, tensors, 6, q, bf16, r.dq, 1);
      expect(*backward, tensors, 7, k, bf16, r.dk, 1);
      expect(*backward, tensors, 8, v, bf16, r.dv, 2);
    }
}

TEST_P(LibraryCalls, NoFusedAttentionOfOddOrWideHeads) {
  FusedAttention f;
  f.samples = f.heads = 1, f.queries = f.keys = 8, f.width = 20;
  EXPECT_EQ(stream_->library().attention(f), nullptr);
  f.width = 136;
  EXPECT_EQ(stream_->library().attention(f), nullptr);
}

TEST_P(LibraryCalls, AreCaptured) {
  Product p;
  p.m = p.n = p.k = 8;
  const auto call = stream_->library().product(p);
  Doubles one(64);
  for (std::size_t i = 0; i < 8; ++i)
    one[i * 9] = 1;
  const Doubles a = draw(64, 1), zeros(64);
  const Memory at_a = up(a, Type::f32), at_b = up(one, Type::f32), c = up(zeros, Type::f32);
  const Memory workspace(*gpu_, call->workspace(0), "a test's workspace");
  const std::vector<void*> tensors{at_a.data(), at_b.data(), c.data()};
  // Libraries load what they need in the first run, which a capture could not hold.
  call->run(*stream_, tensors, workspace.data());
  stream_->zero(c.data(), c.bytes());
  stream_->wait();
  stream_->begin_capture();
  call->run(*stream_, tensors, workspace.data());
  const auto graph = stream_->end_capture();
  EXPECT_EQ(down(c, Type::f32), zeros);
  stream_->launch(*graph);
  EXPECT_EQ(down(c, Type::f32), a);
}

THALWEG_ON_MACHINES(LibraryCalls);

}  // namespace
}  // namespace thalweg::engine::gpu
