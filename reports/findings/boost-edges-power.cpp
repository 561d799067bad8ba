// A finding of refgrad: edges/power, missing.
// The gradient of `power(a, b)` with respect to `a` at a = 0.0, b = 2.0 is 0; boost 1.81.0-5+deb12u1 gives nan.
// Violated (MUST): power: at its edges the gradient is an element of the subdifferential.
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
  Tensor a = Tensor(0.0);
  Tensor b = Tensor(2.0);
  Tensor c = pow(a, b);
  auto program_c = [&](const std::vector<Tensor>& primals) -> Tensor {
    Tensor a = primals[0];
    Tensor c = pow(a, b);
    return c;
  };
  auto [output_c, pullback_of_c] = vjp(program_c, {a});
  auto gradient_of_a_found = pullback_of_c(1.0);
  auto gradient_of_a = gradient_of_a_found[0];
  double got = value(gradient_of_a);
  std::cout << got << std::endl;
  if (!(std::abs(got) < 1e-12)) {
    std::cerr << "AssertionError: the gradient of a is " << got << ", but it should be 0.0" << std::endl;
    return 1;
  }
}
