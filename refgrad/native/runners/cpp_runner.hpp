// Compiled with each template, after an adapter's setup: how a call takes its arguments and returns its results.

#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <cxxabi.h>
using Function = std::function<Tensor(const std::vector<Tensor>&)>;
extern "C" typedef void* (*Called)(void**, int);

inline Function from_outside(Called called) {
  return [called](const std::vector<Tensor>& primals) -> Tensor {
    std::vector<void*> given;
    for (auto& primal : primals) given.push_back(new Tensor(primal));
    void* result = called(given.data(), static_cast<int>(given.size()));
    if (!result) throw std::runtime_error("outside");
    return *static_cast<Tensor*>(result);
  };
}

constexpr int ONE = -1, FAILED = -2;

struct Out { int kind; double number; void* held; };
inline Out out(double number) { return {0, number, nullptr}; }
inline Out out(int number) { return {0, static_cast<double>(number), nullptr}; }
inline Out out(bool truth) { return {1, truth ? 1.0 : 0.0, nullptr}; }
inline Out out(std::nullptr_t) { return {4, 0, nullptr}; }
inline Out out(const Tensor& tensor) { return {2, 0, new Tensor(tensor)}; }
inline Out out(const Pullback& pullback) { return {3, 0, new Pullback(pullback)}; }
inline int outs(Out* all, const std::pair<Tensor, Pullback>& both) {
  all[0] = out(both.first);
  all[1] = out(both.second);
  return 2;
}
inline int outs(Out* all, const std::vector<double>& many) {
  for (size_t i = 0; i < many.size(); ++i) all[i] = out(many[i]);
  return static_cast<int>(many.size());
}
template <class T> int outs(Out* all, const T& one) {
  all[0] = out(one);
  return ONE;
}

// The right operand of a comma after each expression. An expression without a result gets one in this way. For all
// others, the operands live until the result is read: libraries return expressions that refer to their operands.
struct Behind {};
template <class T> T&& operator,(T&& found, Behind) { return std::forward<T>(found); }
inline int outs(Out*, Behind) { return 0; }

template <class F> int guarded(char* type, char* message, F f) {
  try {
    return f();
  } catch (const std::exception& error) {
    int status;
    char* name = abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status);
    std::strncpy(type, name ? name : "exception", 199);
    std::strncpy(message, error.what(), 1999);
  } catch (...) {
    std::strncpy(type, "unknown", 199);
  }
  return FAILED;
}
