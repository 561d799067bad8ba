// A finding of refgrad: infinities/power, wrong first derivative.
// The gradient of `power(x1, x2)` with respect to `x1` at x1 = inf, x2 = 0.028 is 0; adolc 2.7.2-6 gives nan.
// Violated (SHOULD): power: where an operand is infinite, value and gradient are their limits, if formulas reach them.
// Found on adolc 2.7.2-6, Linux x86_64.

// g++ -ladolc
#include <adolc/adolc.h>
#include <cmath>
#include <functional>
#include <iostream>
#include <utility>
#include <vector>

using Tensor = adouble;
using Pullback = std::function<std::vector<double>(double)>;

inline double value(const adouble& x) { return x.value(); }
inline double value(double x) { return x; }

template <class Function>
std::pair<Tensor, Pullback> vjp(Function function, const std::vector<Tensor>& primals) {
  static short tapes = 0;
  short tape = tapes = tapes % 30 + 1;  // it keeps the values of no more than 32
  std::vector<adouble> x(primals.size());
  double y;
  trace_on(tape);
  for (size_t i = 0; i < x.size(); ++i) x[i] <<= primals[i].value();
  adouble output = function(x);
  output >>= y;
  trace_off();
  int n = x.size();
  return {Tensor(y), [tape, n, primals](double seed) {
    std::vector<double> at(n), found(n);
    double out;
    for (int i = 0; i < n; ++i) at[i] = primals[i].value();
    ::zos_forward(tape, 1, n, 1, at.data(), &out);
    ::fos_reverse(tape, 1, n, &seed, found.data());
    return found;
  }};
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
