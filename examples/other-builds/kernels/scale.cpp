#include "kernel.hpp"

KERNEL void scale(float *data, float factor) { data[index()] *= factor; }
