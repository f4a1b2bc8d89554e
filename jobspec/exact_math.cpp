#include "jobspec/exact_math.h"

#include <cmath>

namespace thalweg::jobspec {
namespace {

// log 2 in two parts; the first has trailing zeros, so that small multiples of it are exact.
constexpr double log2_high = 0x1.62e42feep-1;
constexpr double log2_low = 0x1.a39ef35793c76p-33;
constexpr double inverse_log2 = 0x1.71547652b82fep+0;

/// Horner's rule, highest power first.
template <int n>
double polynomial(const double (&coefficients)[n], double x) {
  double sum = coefficients[0];
  for (int i = 1; i < n; ++i)
    sum = sum * x + coefficients[i];
  return sum;
}

}  // namespace

double exact_exp(double x) {
  const double k = std::floor(x * inverse_log2 + 0.5);
  const double r = (x - k * log2_high) - k * log2_low;  // |r| <= 0.35
  // exp(r) = 1 + (r + r^2 (1/2! + r/3! + ...)): the small terms are added up first.
  constexpr int highest = 14;
  double factorial = 1;
  for (int i = 2; i <= highest; ++i)
    factorial *= i;
  double sum = 0;
  for (int i = highest; i >= 2; --i) {
    sum = sum * r + 1 / factorial;
    factorial /= i;
  }
  return std::ldexp(1 + (r + r * r * sum), static_cast<int>(k));
}

double exact_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // 0.5 <= m < 1
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    exponent -= 1;
  }
  // log m = 2 artanh s = 2 (s + s^3/3 + s^5/5 + ...), |s| < 0.172
  const double f = m - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  double sum = 0;
  for (int k = 25; k >= 3; k -= 2)
    sum = (sum + 1.0 / k) * z;
  // 2 s = f - f s, whose first part is exact.
  const double log_m = f - s * (f - 2 * sum);
  return exponent * log2_high + (log_m + exponent * log2_low);
}

double normal_quantile(double u) {
  static constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                                 -2.759285104469687e+02, 1.383577518672690e+02,
                                 -3.066479806614716e+01, 2.506628277459239e+00};
  static constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                                 -1.556989798598866e+02, 6.680131188771972e+01,
                                 -1.328068155288572e+01, 1.0};
  static constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                                 -2.400758277161838e+00, -2.549732539343734e+00,
                                 4.374664141464968e+00,  2.938163982698783e+00};
  static constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01,
                                 2.445134137142996e+00, 3.754408661907416e+00, 1.0};
  constexpr double tail = 0.02425;
  if (u > 1 - tail) return -normal_quantile(1 - u);
  if (u < tail) {
    const double q = std::sqrt(-2 * exact_log(u));
    return polynomial(c, q) / polynomial(d, q);
  }
  const double q = u - 0.5;
  const double r = q * q;
  return polynomial(a, r) * q / polynomial(b, r);
}

}  // namespace thalweg::jobspec
