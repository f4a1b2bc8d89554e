#include "tests/bench/step/operations.h"

#include <dnnl_debug.h>

namespace thalweg::engine::bench {
namespace {

using dnnl::primitive;
using dnnl::query;

dnnl::primitive_desc_base description(const cpu::Operation& operation) {
  dnnl_primitive_desc_t copy = nullptr;
  dnnl::error::wrap_c_api(
      dnnl_primitive_desc_clone(&copy, operation.primitive.get_primitive_desc()),
      "could not copy a primitive's description");
  dnnl::primitive_desc_base description;
  description.reset(copy);
  return description;
}

double count(const cpu::Desc& desc) {
  double product = 1;
  for (const auto size : cpu::dims_of(desc))
    product *= static_cast<double>(size);
  return product;
}

/// Forward, with respect to the data, or to the weights.
struct Sides {
  cpu::Desc weights, dst;
  const char* pass = "";
};

Sides sides_of(const dnnl::primitive_desc_base& d) {
  const auto has = [](const cpu::Desc& desc) { return !cpu::dims_of(desc).empty(); };
  if (const auto weights = d.query_md(query::diff_weights_md); has(weights))
    return {weights, d.query_md(query::diff_dst_md), " weights"};
  if (has(d.query_md(query::diff_src_md)))
    return {d.query_md(query::weights_md), d.query_md(query::diff_dst_md), " data"};
  return {d.query_md(query::weights_md), d.query_md(query::dst_md), ""};
}

}  // namespace

Group group_of(const cpu::Operation* operation) {
  if (operation == nullptr) return kLoss;
  if (operation->kernel) return kOwn;
  switch (operation->primitive.get_kind()) {
    case primitive::kind::convolution:
    case primitive::kind::deconvolution:
    case primitive::kind::inner_product:
    case primitive::kind::matmul:
    case primitive::kind::rnn:
      return kProducts;
    default:
      return kOther;
  }
}

std::string kind_of(const cpu::Operation* operation) {
  if (operation == nullptr) return "loss";
  if (operation->kernel) return "own";
  const std::string kind = dnnl_prim_kind2str(dnnl::convert_to_c(operation->primitive.get_kind()));
  return kind + sides_of(description(*operation)).pass;
}

std::string implementation_of(const cpu::Operation* operation) {
  if (operation == nullptr || operation->kernel) return "";
  return description(*operation).impl_info_str();
}

double flops_of(const cpu::Operation* operation) {
  if (operation == nullptr || operation->kernel) return 0;
  const auto d = description(*operation);
  switch (operation->primitive.get_kind()) {
    case primitive::kind::convolution:
    case primitive::kind::inner_product: {
      const Sides sides = sides_of(d);
      const auto outputs = static_cast<double>(cpu::dims_of(sides.weights)[0]);
      return 2 * count(sides.dst) * count(sides.weights) / outputs;
    }
    case primitive::kind::matmul:
      return 2 * count(d.query_md(query::dst_md)) *
             static_cast<double>(cpu::dims_of(d.query_md(query::src_md)).back());
    default:
      return 0;
  }
}

}  // namespace thalweg::engine::bench
