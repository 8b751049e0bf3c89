// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernel.hpp"

KERNEL void shift(float *data, float distance) { data[index()] += distance; }
