// SPDX-License-Identifier: MIT OR Apache-2.0
// What the file says of kernels of all forms; patterns.rs has the dimensions and the types.
#include <syclbin/kernel.hpp>
#include <sycl/sycl.hpp>
using namespace sycl;
namespace properties_of = sycl::ext::oneapi::experimental;

struct Flat {
  int *to;
  void operator()(nd_item<2> item) const { to[item.get_global_linear_id()] = 1; }
};
struct Generic {
  int *to;
  template <typename T> void operator()(T item) const { to[item.get_linear_id()] = 2; }
};

void all(queue &q, int *to) {
  q.parallel_for(nd_range<2>({8, 8}, {4, 4}), Flat{to});
  q.parallel_for(range<3>(4, 4, 4), Generic{to});
  q.parallel_for<class GenericLambda>(range<2>(4, 4), [=](auto i) { to[i.get_linear_id()] = 3; });
  q.parallel_for<class ItemLambda>(range<2>(4, 4), [=](item<2> i) { to[i.get_linear_id()] = 4; });
  q.parallel_for<class IntLambda>(range<1>(4), [=](int i) { to[i] = 5; });
  q.parallel_for<class SizeLambda>(range<1>(4), [=](size_t i) { to[i] = 6; });
  q.single_task<class Task>([=] { to[0] = 7; });
  q.single_task<class TaskWithHandler>([=](kernel_handler h) { to[0] = 8; });
  q.submit([&](handler &h) {
    h.parallel_for_work_group<class Groups>(range<2>(2, 2), range<2>(2, 2), [=](group<2> g) {
      g.parallel_for_work_item([&](h_item<2> i) { to[i.get_global().get_linear_id()] = 9; });
    });
  });
  q.submit([&](handler &h) {
    stream out(1024, 256, h);
    h.single_task<class Streamed>([=] { out << to[0]; });
  });
}
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((properties_of::nd_range_kernel<2>))
void function(int *to) {
  auto item = ext::oneapi::this_work_item::get_nd_item<2>();
  to[item.get_global_linear_id()] = 10;
}
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((properties_of::single_task_kernel))
void property_task(int *to) { to[0] = 14; }
#define CUBE SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((properties_of::nd_range_kernel<3>))
CUBE void property_cube(int *to) { to[0] = 15; }
SYCLBIN_PROPERTY(single_task_kernel) void task(int *to) { to[0] = 11; }
SYCLBIN_KERNEL(3) void macro(int *to) { to[0] = 12; }
template <typename T> SYCLBIN_PROPERTY(nd_range_kernel<2>) void instance(T *to) { to[0] = 13; }
template void instance<int>(int *);

// Objects without members are not arguments, whether their classes have names or not.
struct AddTwo {
  int operator()(int a) const { return a + 2; }
};
template <typename Op> void apply(queue &q, int *to, Op op) {
  q.parallel_for<class Apply>(range<1>(4), [=](id<1> i) { to[i] = op(to[i]); });
}
template <typename Op> void apply_lambda(queue &q, int *to, Op op) {
  q.parallel_for<class ApplyLambda>(range<1>(4), [=](id<1> i) { to[i] = op(to[i]); });
}
void operations(queue &q, int *to) {
  apply(q, to, AddTwo{});
  apply_lambda(q, to, [](int a) { return a * 3; });
}

// Types whose names come from typedefs and members.
typedef struct {
  struct {
    int x, y;
  } at;
  union {
    float number;
    int bits;
  } value;
} Point;
typedef enum { Small, Large } Size;
typedef union {
  float number;
  int bits;
} Word;
void points(queue &q, Point point, Size size, Word *words, int *to) {
  q.single_task<class Points>([=] { to[0] = point.at.x + point.at.y * 10 + size + words[0].bits; });
}
void unions(queue &q, Word word, int *to) {
  q.single_task<class Unions>([=] { to[0] = word.bits; });
}
int main() {}
