// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels that need more of an address than the type of their parameter says in Rust.
#include <syclbin/kernel.hpp>
#include <syclbin/vector.hpp>

static size_t own_index() { return syclbin::get_nd_item<1>().get_global_linear_id(); }

struct alignas(128) Wide { float x; };
struct alignas(4096) Page { int x[1024]; };
struct Line { alignas(64) int x; int y; };

SYCLBIN_KERNEL(1) void aligned_void(const void *from, void *to) {
  ((sycl::float4 *)to)[own_index()] = ((const sycl::float4 *)from)[own_index()] * 2.0f;
}
SYCLBIN_KERNEL(1) void aligned_wide(Wide *wide, Line *lines) {
  wide[own_index()].x += 1;
  lines[own_index()].y = 7;
}
// Whether the address is what the type says.
SYCLBIN_KERNEL(1) void aligned_pages(Page *pages) {
  volatile auto address = (unsigned long long)&pages[own_index()]; // or the compiler knows the answer
  pages[own_index()].x[1023] = int(address % 4096);
}
