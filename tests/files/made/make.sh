#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Makes entries.ptx with LLVM 22.1.8. The tests that read the SYCLBIN files write them, with BLESS=1.
set -eu
cd "$(dirname "$0")"
clang-22 --target=nvptx64-nvidia-cuda -O2 -nogpulib -S -emit-llvm -o - entries.cpp |
  llc-22 -mcpu=sm_75 -mattr=+ptx63 -o entries.ptx
