// SPDX-License-Identifier: MIT OR Apache-2.0
// Types that differ between systems: on Windows, `long` has 32 bits and `wchar_t` has 16. Device code uses the sizes of
// Linux, wherever it is compiled.
#include <cstddef>
#include <syclbin/kernel.hpp>

struct Sizes {
  char before;
  long l;
  wchar_t w;
  unsigned long ul;
  char between;
  std::size_t s;
};

// The test passes values that need all bytes of their types.
SYCLBIN_KERNEL(1)
void twice(long l, unsigned long ul, std::size_t s, wchar_t w, Sizes by_value, const Sizes *by_pointer,
           long *numbers, Sizes *structs) {
  numbers[0] = 2 * l;
  numbers[1] = 2 * static_cast<long>(ul);
  numbers[2] = 2 * static_cast<long>(s);
  numbers[3] = 2 * static_cast<long>(w);
  const Sizes *from[] = {&by_value, by_pointer};
  for (int i = 0; i < 2; ++i) {
    structs[i].before = from[i]->before;
    structs[i].l = 2 * from[i]->l;
    structs[i].w = 2 * from[i]->w;
    structs[i].ul = 2 * from[i]->ul;
    structs[i].between = from[i]->between;
    structs[i].s = 2 * from[i]->s;
  }
}
