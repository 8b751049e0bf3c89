#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Compiles the sources with syclbin-clang and debug information, which names files by their paths: run it where those say nothing.
# `BLESS=1 cargo test -p syclbin described` writes NAME.txt.
set -eu
cd "$(dirname "$0")"
for name in described functors; do
  syclbin-clang -g -fstandalone-debug -O0 -fsycl-device-code-split=off -fsyclbin=object \
    -I ../../../syclbin-build/include -o "$name.syclbin" "$name.cpp"
done
