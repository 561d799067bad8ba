// A finding of refgrad: infinities/cosh, wrong value.
// `cosh(x1)` at x1 = inf is inf; boost 1.81.0-5+deb12u1 gives nan.
// Violated (SHOULD): cosh: where an operand is infinite, value and gradient are their limits, if formulas reach them.
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
  Tensor a1 = cosh(x1);
  auto program_a1 = [&](const std::vector<Tensor>& primals) -> Tensor {
    Tensor x1 = primals[0];
    Tensor a1 = cosh(x1);
    return a1;
  };
  auto [output_a1, pullback_of_a1] = vjp(program_a1, {x1});
  auto gradient_of_x1_found = pullback_of_a1(1.0);
  auto gradient_of_x1 = gradient_of_x1_found[0];
  double got = value(a1);
  std::cout << got << std::endl;
  if (!(got == INFINITY)) {
    std::cerr << "AssertionError: the value of a1 is " << got << ", but it should be inf" << std::endl;
    return 1;
  }
}
