// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel that calls virtual functions, which DPC++ compiles to a module of their own; virtual_functions.rs calls it.
#include <new>
#include <sycl/ext/oneapi/experimental/virtual_functions.hpp>
#include <syclbin/kernel.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;

struct Shape {
  SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(syclexp::indirectly_callable)
  virtual float area(float side) const = 0;
};
struct Square : Shape {
  SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(syclexp::indirectly_callable)
  float area(float side) const override { return side * side; }
};
struct Strip : Shape {
  SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(syclexp::indirectly_callable)
  float area(float side) const override { return side * 3; }
};

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(syclexp::assume_indirect_calls)
void areas(float *sides) {
  size_t i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  alignas(Shape) char memory[sizeof(Shape)];
  Shape *shape = i % 2 == 0 ? static_cast<Shape *>(new (memory) Square) : new (memory) Strip;
  sides[i] = shape->area(sides[i]);
}
