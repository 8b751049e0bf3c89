// SPDX-License-Identifier: MIT OR Apache-2.0
// How many steps numbers take to 1, if even ones are halved and odd ones become three times as much
// and one more. Neighbours take very different numbers of steps, so the work is not known before.
#include <syclbin/kernel.hpp>

// One work-item a number. The contract makes launches safe, so this is to end for all numbers: 0 counts
// as 1, and all others below 2^32 are known to get to 1, none by way of more than 2^63.
SYCLBIN_KERNEL(1)
void collatz(const unsigned *numbers, unsigned *steps) {
  size_t i = syclbin::get_nd_item<1>().get_global_id(0);
  unsigned long long number = numbers[i];
  unsigned count = 0;
  for (; number > 1; ++count)
    number = number % 2 ? 3 * number + 1 : number / 2;
  steps[i] = count;
}
