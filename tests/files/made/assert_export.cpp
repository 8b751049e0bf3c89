// A function with an assert, for assert_import.cpp.
#include <cassert>
#include <syclbin/kernel.hpp>
SYCL_EXTERNAL int twice(int x) {
  assert(x < 100);
  return 2 * x;
}
