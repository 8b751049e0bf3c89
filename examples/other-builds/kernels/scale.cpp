// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernel.hpp"

KERNEL void scale(float *data, float factor) { data[index()] *= factor; }
