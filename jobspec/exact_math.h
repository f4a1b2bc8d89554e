// Elementary functions with the same bits on every machine. The C library's exp and log differ
// between its versions; these use only operations that IEEE 754 defines exactly (+ - * / sqrt, and
// scaling by powers of two) in a fixed order. They must be compiled without contraction into fused
// multiply-add (-ffp-contract=off).
#pragma once

namespace thalweg::jobspec {

/// Relative error below 4e-16 (two units in the last place) for |x| <= 700.
double exact_exp(double x);
/// x > 0 and finite. Error below 4e-16 relative to max(|log x|, 0.35).
double exact_log(double x);
/// The value below which a standard normal variable falls with probability u, 0 < u < 1. Relative
/// error below 2e-9 (P. J. Acklam's rational approximation), plenty for sampling.
double normal_quantile(double u);
/// The value below which a Beta(a, b) variable falls with probability u, 0 <= u <= 1; 0 < a, b <=
/// 10000. Bisects the regularised incomplete beta function, taken from its continued fraction
/// (DLMF 8.17.22): to the last bits of the function, not of the value.
double beta_quantile(double u, double a, double b);

}  // namespace thalweg::jobspec
