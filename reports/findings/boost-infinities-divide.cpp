// A finding of refgrad: infinities/divide, wrong first derivative.
// The gradient of `divide(x1, x2)` with respect to `x1` at x1 = inf, x2 = 2.623 is 0.937476; boost 1.81.0-5+deb12u1
// gives nan.
// Violated (SHOULD): divide: where an operand is infinite, value and gradient are their limits, if formulas reach
// them.
// Found on boost 1.81.0-5+deb12u1, Linux x86_64.

// g++
#include <boost/math/differentiation/autodiff.hpp>
#include <cmath>
#include <functional>
#include <iostream>
#include <utility>
#include <vector>

using Tensor = boost::math::differentiation::autodiff_fvar<double, 1>;
using Pullback = std::function<std::vector<double>(double)>;

inline double value(const Tensor& x) { return x.derivative(0); }
inline double value(double x) { return x; }

template <class Function>
std::pair<Tensor, Pullback> vjp(Function function, const std::vector<Tensor>& primals) {
  std::vector<double> slopes;
  for (size_t i = 0; i < primals.size(); ++i) {
    std::vector<Tensor> x(primals);
    x[i] = boost::math::differentiation::make_fvar<double, 1>(value(primals[i]));
    slopes.push_back(function(x).derivative(1));
  }
  return {function(primals), [slopes](double seed) {
    std::vector<double> found;
    for (double slope : slopes) found.push_back(seed * slope);
    return found;
  }};
}

int main() {
  std::cout.precision(17);
  Tensor x1 = Tensor(INFINITY);
  Tensor x2 = Tensor(2.623);
  Tensor a1 = x1 / x2;
  auto program_a1 = [&](const std::vector<Tensor>& primals) -> Tensor {
    Tensor x1 = primals[0];
    Tensor x2 = primals[1];
    Tensor a1 = x1 / x2;
    return a1;
  };
  auto [output_a1, pullback_of_a1] = vjp(program_a1, {x1, x2});
  auto gradient_of_x1_and_gradient_of_x2_found = pullback_of_a1(2.459);
  auto gradient_of_x1 = gradient_of_x1_and_gradient_of_x2_found[0];
  auto gradient_of_x2 = gradient_of_x1_and_gradient_of_x2_found[1];
  double got = value(gradient_of_x1);
  std::cout << got << std::endl;
  if (!(std::abs(got - 0.9374761723217689) <= 1e-06 * std::max(std::abs(got), std::abs(0.9374761723217689)))) {
    std::cerr << "AssertionError: the gradient of x1 is " << got << ", but it should be 0.9374761723217689" << std::endl;
    return 1;
  }
}
