// A finding of refgrad: operators/cosh, wrong first derivative.
// The gradient of `cosh(a)` with respect to `a` at a = 1e-20 is 1e-20; adolc 2.7.2-6 gives 0.
// Violated (MUST): cosh: value and gradient are right, for any shape, attribute and seed.
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
  Tensor a = Tensor(1e-20);
  Tensor b = cosh(a);
  auto program_b = [&](const std::vector<Tensor>& primals) -> Tensor {
    Tensor a = primals[0];
    Tensor b = cosh(a);
    return b;
  };
  auto [output_b, pullback_of_b] = vjp(program_b, {a});
  auto gradient_of_a_found = pullback_of_b(1.0);
  auto gradient_of_a = gradient_of_a_found[0];
  double got = value(gradient_of_a);
  std::cout << got << std::endl;
  if (!(std::abs(got - 1e-20) <= 0.001 * std::max(std::abs(got), std::abs(1e-20)))) {
    std::cerr << "AssertionError: the gradient of a is " << got << ", but it should be 1e-20" << std::endl;
    return 1;
  }
}
