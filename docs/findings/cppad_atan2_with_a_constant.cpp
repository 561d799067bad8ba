// A finding of refgrad: operators/arctan2, wrong first derivative.
// The gradient of `arctan2(a, b)` with respect to `a` at a = 1.0, b = 1.0 is 0.5; cppad 20250000.2 gives 0.
// Violated (MUST): arctan2: value and gradient are right, for any shape, attribute and seed.
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
  Tensor a = Tensor(1.0);
  Tensor b = Tensor(1.0);
  Tensor c = atan2(a, b);
  auto program_c = [&](const std::vector<Tensor>& primals) -> Tensor {
    Tensor a = primals[0];
    Tensor c = atan2(a, b);
    return c;
  };
  auto [output_c, pullback_of_c] = vjp(program_c, {a});
  auto gradient_of_a_found = pullback_of_c(1.0);
  auto gradient_of_a = gradient_of_a_found[0];
  double got = value(gradient_of_a);
  std::cout << got << std::endl;
  if (!(std::abs(got - 0.5) <= 0.001 * std::max(std::abs(got), std::abs(0.5)))) {
    std::cerr << "AssertionError: the gradient of a is " << got << ", but it should be 0.5" << std::endl;
    return 1;
  }
}
