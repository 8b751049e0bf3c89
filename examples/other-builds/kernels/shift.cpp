#include "kernel.hpp"

KERNEL void shift(float *data, float distance) { data[index()] += distance; }
