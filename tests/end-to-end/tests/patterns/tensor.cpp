// SPDX-License-Identifier: MIT OR Apache-2.0
// Operations of a small tensor library: templates with functions as arguments, generic lambdas in helper functions,
// namespaces and overloads. names.rs calls them.
#include <cstdint>
#include <sycl/sycl.hpp>
#include <type_traits>

struct Context { sycl::queue *stream; };
struct Tensor { void *data; long count; int type; };

static float op_add(const float a, const float b) { return a + b; }
static float op_mul(const float a, const float b) { return a * b; }
static float op_repeat(const float, const float b) { return b; }

// A class template with a function as argument, whose operator launches.
template <float (*op)(const float, const float)> struct BinaryBroadcast {
  template <typename A, typename B, typename C>
  void operator()(sycl::queue &q, const A *a, const B *b, C *c, long n, long nb) {
    q.parallel_for(sycl::range<1>(n), [=](sycl::id<1> i) { c[i] = (C)op((float)a[i], (float)b[i % nb]); });
  }
};

// A function template with a function as argument.
template <float (*op)(float, float), typename T>
static void binary(sycl::queue &q, const T *a, const T *b, T *c, size_t n) {
  q.submit([&](sycl::handler &h) {
    h.parallel_for(sycl::range<1>(n), [=](sycl::id<1> i) { c[i] = op(a[i], b[i]); });
  });
}

// A helper that takes a generic lambda, as for all unary operations.
template <typename Launch> static void dispatch_unary(Context &ctx, Tensor *dst, Launch launch) {
  switch (dst->type) {
  case 0: launch((const float *)dst->data, (float *)dst->data, (int)dst->count, ctx.stream); break;
  case 1: launch((const sycl::half *)dst->data, (sycl::half *)dst->data, (int)dst->count, ctx.stream); break;
  }
}
static void op_sgn(Context &ctx, Tensor *dst) {
  dispatch_unary(ctx, dst, [](const auto *x, auto *y, int n, sycl::queue *stream) {
    stream->parallel_for(sycl::nd_range<1>(n, 64), [=](sycl::nd_item<1> item) {
      const int i = item.get_global_linear_id();
      if (i < n) y[i] = x[i] > 0 ? 1.0f : x[i] < 0 ? -1.0f : 0.0f;
    });
  });
}
static void op_neg(Context &ctx, Tensor *dst) {
  dispatch_unary(ctx, dst, [](const auto *x, auto *y, int n, sycl::queue *stream) {
    stream->parallel_for(sycl::nd_range<1>(n, 64), [=](auto item) {
      const int i = item.get_global_linear_id();
      if (i < n) y[i] = -x[i];
    });
  });
}

// A helper that launches what it is given.
template <typename F> static void for_each(sycl::queue &q, size_t n, F f) {
  q.parallel_for(sycl::range<1>(n), [=](sycl::id<1> i) { f(i); });
}
static void scale(sycl::queue &q, float *x, float by, size_t n) { for_each(q, n, [=](size_t i) { x[i] *= by; }); }
static void shift(sycl::queue &q, float *x, float by, size_t n) { for_each(q, n, [=](size_t i) { x[i] += by; }); }

// Quantized blocks, each with a namespace and the same functions.
namespace q4 {
struct Block { sycl::half d; uint8_t quants[16]; };
template <typename T> void dequantize(const Block *x, T *y, long n, sycl::queue &q) {
  q.parallel_for(sycl::range<1>(n), [=](sycl::id<1> i) {
    const Block &b = x[i / 32];
    y[i] = (float)b.d * ((b.quants[i % 16] >> (i % 32 < 16 ? 0 : 4) & 15) - 8);
  });
}
template <int rows, typename T> void dot(sycl::queue &q, const Block *x, const T *y, float *out, int n) {
  q.parallel_for(sycl::range<1>(rows), [=](sycl::id<1> i) {
    float sum = 0;
    for (int k = 0; k < n; k++) sum += (float)x[i * n + k].d * (float)y[k];
    out[i] = sum;
  });
}
} // namespace q4
namespace q8 {
struct Block { sycl::half d; int8_t quants[32]; };
template <typename T> void dequantize(const Block *x, T *y, long n, sycl::queue &q) {
  q.parallel_for(sycl::range<1>(n), [=](sycl::id<1> i) { y[i] = (float)x[i / 32].d * x[i / 32].quants[i % 32]; });
}
} // namespace q8

// A block as template argument, with a function of its own namespace.
template <typename Block, float (*get)(const Block &)> struct Scales {
  static void store(sycl::queue &q, const Block *x, float *y, size_t n) {
    q.parallel_for(sycl::range<1>(n), [=](sycl::id<1> i) { y[i] = get(x[i]); });
  }
};
namespace q4 { inline float get(const Block &b) { return (float)b.d * 4; } }
namespace q8 { inline float get(const Block &b) { return (float)b.d * 8; } }

// A switch over sizes by constants.
template <bool has_mask, int columns, int block, typename T>
static void soft_max(const float *x, const T *mask, float *y, int n, sycl::queue *stream) {
  stream->submit([&](sycl::handler &h) {
    h.parallel_for(sycl::range<1>(n), [=](sycl::id<1> i) {
      float m = has_mask ? (float)mask[i] : 0.0f;
      y[i] = x[i] + m + columns + block;
    });
  });
}
enum class Mode { normal, neox };
template <Mode mode, typename T> static void rope(const T *x, T *y, int n, sycl::queue *stream) {
  stream->parallel_for(sycl::range<1>(n), [=](sycl::id<1> i) { y[i] = x[mode == Mode::neox ? n - 1 - i : i]; });
}
static void switch_sizes(sycl::queue &q, int *out) {
  auto launch = [&](auto size, auto fast) {
    q.parallel_for(sycl::range<1>(1), [=](sycl::id<1>) { out[0] = size.value + fast.value; });
  };
  launch(std::integral_constant<int, 32>{}, std::true_type{});
  launch(std::integral_constant<int, 64>{}, std::false_type{});
}

// Overloads, and two of their lambdas.
static void copy(sycl::queue &q, const float *x, float *y, size_t n) {
  q.parallel_for(sycl::range<1>(n), [=](sycl::id<1> i) { y[i] = x[i]; });
  q.parallel_for(sycl::range<1>(n), [=](sycl::id<1> i) { y[i] += 1; });
}
static void copy(sycl::queue &q, const sycl::half *x, float *y, size_t n) {
  q.parallel_for(sycl::range<1>(n), [=](sycl::id<1> i) { y[i] = x[i]; });
}
// Named kernels in functions.
namespace get_rows { void run(sycl::queue &q, int *p) { q.parallel_for<class K>(sycl::range<1>(64), [=](sycl::id<1> i) { p[i] = 1; }); } }
namespace set_rows { void run(sycl::queue &q, int *p) { q.parallel_for<class K>(sycl::range<1>(64), [=](sycl::id<1> i) { p[i] = 2; }); } }
template <typename T, int n> class Named;
template <typename T> void named(sycl::queue &q, T *p) {
  q.parallel_for<Named<T, 4>>(sycl::range<1>(64), [=](sycl::id<1> i) { p[i] = 3; });
  q.parallel_for<class Inner>(sycl::range<1>(64), [=](sycl::id<1> i) { p[i] = 4; });
}
// Functors, one with a function object as member.
namespace detail { struct Times { int by; int operator()(int x) const { return x * by; } }; }
template <typename F, int... sizes> struct Map {
  F f; int *p;
  void operator()(sycl::id<1> i) const { p[i] = f(p[i]) + (0 + ... + sizes); }
};
template <typename... T> void fill_all(sycl::queue &q, T *...p) {
  q.parallel_for(sycl::range<1>(64), [=](sycl::id<1> i) { ((p[i] = T(7)), ...); });
}
template <auto member> void store(sycl::queue &q, const Tensor *t, long *out) {
  q.single_task([=] { out[0] = (long)(t->*member); });
}
template <typename T> struct is_ok { static constexpr bool value = sizeof(T) > 1; };
template <typename T> std::enable_if_t<is_ok<T>::value> guarded(sycl::queue &q, T *p) {
  q.single_task([=] { p[0] = 9; });
}
template <typename T> auto returns(sycl::queue &q, T *p) -> decltype(q.single_task([] {})) {
  return q.single_task([=] { p[0] = 10; });
}
struct Solver {
  float *x;
  template <class G> void step(sycl::queue &q, G g) { float *p = x; q.parallel_for(sycl::range<1>(4), [=](sycl::id<1> i) { p[i] = g(p[i]); }); }
  void run(sycl::queue &q) { step(q, [](float v) { return v * 2; }); step(q, [](float v) { return v * 3; }); }
};

int main() {
  sycl::queue q;
  float *f = nullptr; sycl::half *h = nullptr; int *p = nullptr; Context ctx{&q}; Tensor t{};
  BinaryBroadcast<op_add>{}(q, f, f, f, 1, 1);
  BinaryBroadcast<op_mul>{}(q, h, f, h, 1, 1);
  BinaryBroadcast<op_repeat>{}(q, f, f, f, 1, 1);
  binary<op_add>(q, f, f, f, 1); binary<&op_mul>(q, h, h, h, 1);
  op_sgn(ctx, &t); op_neg(ctx, &t);
  scale(q, f, 2, 1); shift(q, f, 2, 1);
  q4::dequantize((q4::Block *)nullptr, f, 1, q); q4::dequantize((q4::Block *)nullptr, h, 1, q);
  q4::dot<4>(q, (q4::Block *)nullptr, f, f, 1);
  q8::dequantize((q8::Block *)nullptr, f, 1, q);
  Scales<q4::Block, q4::get>::store(q, nullptr, f, 1); Scales<q8::Block, q8::get>::store(q, nullptr, f, 1);
  soft_max<true, 32, 64>(f, h, f, 1, &q); soft_max<false, 0, 0>(f, f, f, 1, &q);
  rope<Mode::normal>(f, f, 1, &q); rope<Mode::neox>(h, h, 1, &q);
  switch_sizes(q, p); copy(q, f, f, 1); copy(q, h, f, 1);
  get_rows::run(q, p); set_rows::run(q, p); named(q, p); named(q, f);
  q.parallel_for(sycl::range<1>(1), Map<detail::Times, 1, 2, 3>{{2}, p});
  q.parallel_for(sycl::range<1>(1), Map<detail::Times>{{2}, p});
  fill_all(q, p, f); fill_all(q, p);
  store<&Tensor::count>(q, &t, nullptr); store<&Tensor::type>(q, &t, nullptr);
  guarded(q, p); returns(q, p);
  Solver{f}.run(q);
  q.single_task([=] { p[0] = 1; });
  q.single_task([=] { p[0] = 2; });
}
