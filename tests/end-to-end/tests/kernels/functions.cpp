// SPDX-License-Identifier: MIT OR Apache-2.0
// Unnamed lambdas in every kind of function that programs write; functions.rs calls them by their stubs.
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>
#include <vector>

namespace bench {
namespace inner {
void scale(sycl::queue &q, float *data, float factor, size_t n) {
  q.parallel_for(n, [=](auto i) { data[i] *= factor; });
}
void scale(sycl::queue &q, int *data, int factor, size_t n) {
  q.parallel_for(n, [=](sycl::id<1> i) { data[i] *= factor; });
}
void shift(sycl::queue &q, int *data, int by, size_t n) {
  q.parallel_for(n, [=](sycl::id<1> i) { data[i] += by; });
}
} // namespace inner
} // namespace bench

// Several kernels in an instance of a template.
template <class T, int N> void atomicPerf(sycl::queue &q, T *data, size_t n) {
  q.single_task([=] { data[0] = N; });
  q.single_task([=] { data[1] = N + 1; });
  q.submit([&](sycl::handler &h) {
    h.parallel_for(sycl::range<1>(n), [=](sycl::item<1> i) { data[i] += T(N); });
  });
}
template void atomicPerf<float, 3>(sycl::queue &, float *, size_t);
template void atomicPerf<int, 4>(sycl::queue &, int *, size_t);

// Member functions, a constructor, an operator, and a template in a class.
class Solver {
public:
  explicit Solver(sycl::queue &q, int *state) : state(state) {
    auto to = state;
    q.single_task([=] { to[0] = 10; });
  }
  void step(sycl::queue &q, size_t n) {
    auto to = state;
    q.submit([&](sycl::handler &h) {
      h.parallel_for(sycl::nd_range<1>(n, 2), [=](sycl::nd_item<1> i) { to[i.get_global_id(0)] += 1; });
    });
  }
  void operator()(sycl::queue &q) const {
    auto to = state;
    q.single_task([=] { to[0] = 20; });
  }
  template <class U> static void fill(sycl::queue &q, U *to, U value, size_t n) {
    q.parallel_for(n, [=](sycl::id<1> i) { to[i] = value; });
  }

private:
  int *state;
};
template void Solver::fill<short>(sycl::queue &, short *, short, size_t);

template <class T> struct Holder {
  struct Inside {
    void go(sycl::queue &q, T *to) {
      q.single_task([=] { *to = T(7); });
    }
  };
};

// Functions that only this source sees.
namespace {
void hidden(sycl::queue &q, int *to) {
  q.single_task([=] { *to = 1; });
}
} // namespace
static void own(sycl::queue &q, int *to) {
  q.single_task([=] { *to = 2; });
}

// Names that stand in functions, as older programs write them.
template <class T> void run(sycl::queue &q, T *to, size_t n) {
  q.submit([&](sycl::handler &h) {
    h.parallel_for<class vector_add>(sycl::range<1>(n), [=](sycl::id<1> i) { to[i] += to[i]; });
  });
}
void use(sycl::queue &q, int *ints, float *floats, size_t n) {
  run(q, ints, n);
  run(q, floats, n);
  q.single_task<class only_once>([=] { ints[0] = 3; });
}

struct AddOne {
  int *data;
  void operator()(sycl::id<1> i) const { data[i] += 1; }
};

int main() {
  sycl::queue q;
  int *data = sycl::malloc_shared<int>(64, q);
  auto set = [&](int k) { q.single_task([=] { data[0] = k; }); };
  set(3);
  struct Local {
    static void run(sycl::queue &q, int *to) {
      q.single_task([=] { *to = 5; });
    }
  };
  Local::run(q, data);
  q.parallel_for(64, AddOne{data});
  q.parallel_for(64, [=](int i) { data[i] = i; });
  q.parallel_for(sycl::range<2>(8, 8), [=](sycl::item<2> i) { data[i.get_linear_id()] = i[0] * 100 + i[1]; });
  hidden(q, data);
  own(q, data);
  Solver solver(q, data);
  solver.step(q, 64);
  solver(q);
  Holder<int>::Inside().go(q, data);
  use(q, data, sycl::malloc_shared<float>(64, q), 64);
  q.wait();
}
