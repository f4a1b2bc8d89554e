#include "engine/gpu/names.h"

#include <charconv>

namespace thalweg::engine::gpu {
namespace {

template <class... Numbers>
std::string by(std::int64_t first, Numbers... rest) {
  std::string text = std::to_string(first);
  ((text += "x" + std::to_string(rest)), ...);
  return text;
}
std::string by(const std::vector<std::int64_t>& sizes) {
  std::string text;
  for (const std::int64_t size : sizes)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

std::string text_of(float x) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, x).ptr};
}
std::string text_of(bool yes) {
  return yes ? "1" : "0";
}
std::string text_of(Type type) {
  return type == Type::f32 ? "f32" : "bf16";
}
std::string text_of(Products products) {
  return products == Products::fp32 ? "fp32" : "tf32";
}
std::string text_of(const std::vector<std::int64_t>& sizes) {
  return by(sizes);
}
std::string text_of(const FusedAttention::Strides& s) {
  const auto& [sample, position, head] = s;
  return by(sample, position, head);
}
template <class Number>
std::string text_of(Number number) {
  return std::to_string(number);
}

/// "kind a 1 b 2 3": fields are name, value, name, value ...; a name may be empty.
std::string key_from(std::string text) {
  return text;
}
template <class Field, class... Others>
std::string key_from(std::string text, const char* name, const Field& field,
                     const Others&... others) {
  if (*name != '\0') text += std::string(" ") + name;
  return key_from(text + " " + text_of(field), others...);
}

}  // namespace

std::string name_of(const Product& p) {
  return "product " + by(p.m, p.n, p.k) + (p.batch > 1 ? " x " + std::to_string(p.batch) : "") +
         (p.a == Type::bf16 ? " bf16" : "");
}

std::string name_of(const Convolution& c) {
  const char* const pass = c.pass == Convolution::Pass::forward         ? " forward"
                           : c.pass == Convolution::Pass::backward_data ? " backward"
                                                                        : " gradient";
  return "conv " + by(c.k) + "x" + by(c.kernel) + "x" + by(c.c) + " of " + by(c.in) + pass +
         (c.type == Type::bf16 ? " bf16" : "");
}

std::string name_of(const FusedAttention& f) {
  return "attention " + by(f.queries, f.keys, f.width) + (f.causal ? " causal" : "") +
         (f.backward ? " backward" : " forward");
}

std::string name_of(const Recurrence& r) {
  return "lstm " + by(r.width) + (r.layers > 1 ? " x " + std::to_string(r.layers) : "") + " of " +
         by(r.positions, r.features) + (r.type == Type::bf16 ? " bf16" : "");
}

// Bindings name all fields: one more does not compile until it stands in the key too.
std::string key_of(const Product& shape) {
  const Product with = with_rows(shape);
  const auto& [m, n, k, transpose_a, transpose_b, a, b, c, row_a, row_b, row_c, batch, step_a,
               step_b, step_c, alpha, alignment, accumulate, bias, relu, sums_of_a, products] =
      with;
  return key_from("product", "m", m, "n", n, "k", k, "ta", transpose_a, "tb", transpose_b, "a", a,
                  "b", b, "c", c, "rows", row_a, "", row_b, "", row_c, "batch", batch, "steps",
                  step_a, "", step_b, "", step_c, "alpha", alpha, "align", alignment, "accumulate",
                  accumulate, "bias", bias, "relu", relu, "sums", sums_of_a, "in", products);
}

std::string key_of(const Convolution& shape) {
  const auto& [pass, type, n, c, k, in, out, kernel, stride, padding, bias, relu, products] = shape;
  return key_from("conv", "pass", static_cast<int>(pass), "type", type, "n", n, "c", c, "k", k,
                  "in", in, "out", out, "kernel", kernel, "stride", stride, "padding", padding,
                  "bias", bias, "relu", relu, "in", products);
}

std::string key_of(const FusedAttention& shape) {
  const auto& [samples, heads, queries, keys, width, q, k, v, o, scale, causal, backward] = shape;
  return key_from("attention", "samples", samples, "heads", heads, "queries", queries, "keys", keys,
                  "width", width, "q", q, "k", k, "v", v, "o", o, "scale", scale, "causal", causal,
                  "backward", backward);
}

std::string key_of(const Recurrence& shape) {
  const auto& [type, samples, positions, features, width, layers, products] = shape;
  return key_from("lstm", "type", type, "samples", samples, "positions", positions, "features",
                  features, "width", width, "layers", layers, "in", products);
}

void refuse_types(const Product& p) {
  if (p.a != p.b || (p.a == Type::f32 && p.c != Type::f32))
    throw GpuError(name_of(p) + ": floats are multiplied to floats, bf16 to bf16 or floats");
  if (p.sums_of_a && (p.batch > 1 || p.bias || p.relu || p.c != Type::f32))
    throw GpuError(name_of(p) + ": sums come beside one plain product to floats");
}

const void* addend_of(const Product& p, std::span<void* const> tensors) {
  if (!p.accumulate) return nullptr;
  return tensors.size() > 4 && tensors[4] != nullptr ? tensors[4] : tensors[2];
}

Product with_rows(Product p) {
  if (p.row_a == 0) p.row_a = p.transpose_a ? p.m : p.k;
  if (p.row_b == 0) p.row_b = p.transpose_b ? p.k : p.n;
  if (p.row_c == 0) p.row_c = p.n;
  return p;
}

}  // namespace thalweg::engine::gpu
