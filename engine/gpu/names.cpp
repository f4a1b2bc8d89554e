#include "engine/gpu/names.h"

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

void refuse_types(const Product& p) {
  if (p.a != p.b || (p.a == Type::f32 && p.c != Type::f32))
    throw GpuError(name_of(p) + ": floats are multiplied to floats, bf16 to bf16 or floats");
}

Product with_rows(Product p) {
  if (p.row_a == 0) p.row_a = p.transpose_a ? p.m : p.k;
  if (p.row_b == 0) p.row_b = p.transpose_b ? p.k : p.n;
  if (p.row_c == 0) p.row_c = p.n;
  return p;
}

}  // namespace thalweg::engine::gpu
