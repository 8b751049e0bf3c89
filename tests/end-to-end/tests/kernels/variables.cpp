// SPDX-License-Identifier: MIT OR Apache-2.0
// Device globals of every kind of type, for what their signatures say.
#include <sycl/ext/oneapi/device_global/device_global.hpp>
#include <syclbin/kernel.hpp>
#include <syclbin/vector.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
namespace this_work_item = sycl::ext::oneapi::this_work_item;
using in_image = decltype(syclexp::properties(syclexp::device_image_scope));

struct Cell { float mass; unsigned short kind; int at[3]; };
enum class Mode : unsigned char { A, B };

syclexp::device_global<unsigned> count;
syclexp::device_global<Cell> cell;
syclexp::device_global<Cell[2], in_image> cells;
syclexp::device_global<sycl::half[2][3]> grid;
syclexp::device_global<float *> pointer;
syclexp::device_global<sycl::float3> three;
namespace ns { syclexp::device_global<Mode, in_image> mode; }
static syclexp::device_global<long> local;
namespace { syclexp::device_global<bool> flag; }
template <class T> syclexp::device_global<T> of_template;

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<2>))
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::work_group_size<2, 16>))
void sum(float *out) {
  size_t i = this_work_item::get_nd_item<2>().get_global_linear_id();
  out[i] = count.get() + cell.get().mass + cells[1].mass + (float)grid.get()[1][1] + *pointer.get() +
           three.get().x() + (int)ns::mode.get() + local.get() + flag.get() + of_template<int>.get();
}
