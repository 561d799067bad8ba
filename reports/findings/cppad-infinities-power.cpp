// A finding of refgrad: infinities/power, wrong first derivative.
// The gradient of `power(x1, x2)` with respect to `x1` at x1 = inf, x2 = 0.028 is 0; cppad 20250000.2 gives nan.
// Violated (SHOULD): power: where an operand is infinite, value and gradient are their limits, if formulas reach them.
// Found on cppad 20250000.2, Linux x86_64.

// g++ -DNDEBUG
#include <cppad/cppad.hpp>
#include <cmath>
#include <functional>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

using Tensor = CppAD::AD<double>;
using Pullback = std::function<std::vector<double>(double)>;

inline double value(const Tensor& x) { return CppAD::Value(x); }
inline double value(double x) { return x; }

template <class Function>
std::pair<Tensor, Pullback> vjp(Function function, const std::vector<Tensor>& primals) {
  std::vector<Tensor> x(primals), y(1);
  CppAD::Independent(x);
  try {
    y[0] = function(x);
  } catch (...) {
    Tensor::abort_recording();
    throw;
  }
  auto recorded = std::make_shared<CppAD::ADFun<double>>(x, y);
  recorded->check_for_nan(false);
  std::vector<double> at;
  for (auto& primal : primals) at.push_back(CppAD::Value(primal));
  double output = recorded->Forward(0, at)[0];
  return {Tensor(output), [recorded](double seed) { return recorded->Reverse(1, std::vector<double>{seed}); }};
}

int main() {
  std::cout.precision(17);
  Tensor x1 = Tensor(INFINITY);
  Tensor x2 = Tensor(0.028);
  Tensor a1 = pow(x1, x2);
  auto program_a1 = [&](const std::vector<Tensor>& primals) -> Tensor {
    Tensor x1 = primals[0];
    Tensor x2 = primals[1];
    Tensor a1 = pow(x1, x2);
    return a1;
  };
  auto [output_a1, pullback_of_a1] = vjp(program_a1, {x1, x2});
  auto gradient_of_x1_and_gradient_of_x2_found = pullback_of_a1(2.459);
  auto gradient_of_x1 = gradient_of_x1_and_gradient_of_x2_found[0];
  auto gradient_of_x2 = gradient_of_x1_and_gradient_of_x2_found[1];
  double got = value(gradient_of_x1);
  std::cout << got << std::endl;
  if (!(std::abs(got) < 1e-12)) {
    std::cerr << "AssertionError: the gradient of x1 is " << got << ", but it should be 0.0" << std::endl;
    return 1;
  }
}
