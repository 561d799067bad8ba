// A finding of refgrad: infinities/multiply, wrong first derivative.
// The gradient of `multiply(x1, x2)` with respect to `x1` at x1 = inf, x2 = 0.094 is 0.231146; eigen 3.4.0-4 gives
// nan.
// Violated (SHOULD): multiply: where an operand is infinite, value and gradient are their limits, if formulas reach
// them.
// Found on eigen 3.4.0-4, Linux x86_64.

// g++ -I/usr/include/eigen3
#include <Eigen/Core>
#include <unsupported/Eigen/AutoDiff>
#include <cmath>
#include <functional>
#include <iostream>
#include <utility>
#include <vector>

using Tensor = Eigen::AutoDiffScalar<Eigen::VectorXd>;
using Pullback = std::function<std::vector<double>(double)>;

inline double value(const Tensor& x) { return x.value(); }
inline double value(double x) { return x; }

template <class Function>
std::pair<Tensor, Pullback> vjp(Function function, const std::vector<Tensor>& primals) {
  std::vector<Tensor> x;
  for (size_t i = 0; i < primals.size(); ++i) x.push_back(Tensor(primals[i].value(), primals.size(), i));
  Tensor y = function(x);
  return {Tensor(y.value()), [y, x](double seed) {
    std::vector<double> found(x.size(), 0.0);  // a constant has no derivatives
    for (int i = 0; i < y.derivatives().size(); ++i) found[i] = seed * y.derivatives()[i];
    return found;
  }};
}

int main() {
  std::cout.precision(17);
  Tensor x1 = Tensor(INFINITY);
  Tensor x2 = Tensor(0.094);
  Tensor a1 = x1 * x2;
  auto program_a1 = [&](const std::vector<Tensor>& primals) -> Tensor {
    Tensor x1 = primals[0];
    Tensor x2 = primals[1];
    Tensor a1 = x1 * x2;
    return a1;
  };
  auto [output_a1, pullback_of_a1] = vjp(program_a1, {x1, x2});
  auto gradient_of_x1_and_gradient_of_x2_found = pullback_of_a1(2.459);
  auto gradient_of_x1 = gradient_of_x1_and_gradient_of_x2_found[0];
  auto gradient_of_x2 = gradient_of_x1_and_gradient_of_x2_found[1];
  double got = value(gradient_of_x1);
  std::cout << got << std::endl;
  if (!(std::abs(got - 0.23114600000000002) <= 1e-06 * std::max(std::abs(got), std::abs(0.23114600000000002)))) {
    std::cerr << "AssertionError: the gradient of x1 is " << got << ", but it should be 0.23114600000000002" << std::endl;
    return 1;
  }
}
