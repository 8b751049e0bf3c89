#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Makes the native code of this folder anew: ./make.sh FOLDER, the one with ptxas and fatbinary of CUDA 13.5 (wheel
# nvidia-cuda-nvcc).
set -eu
cd "$(dirname "$0")"
PATH="$1:$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for sm in 80 90; do
    ptxas -c -arch="sm_$sm" export_side.ptx -o "export_side.sm_$sm.cubin"
done
sed 's/^.version .*/.version 9.0/; s/^.target .*/.target sm_100f/' export_side.ptx > "$work/family.ptx"
ptxas -c -arch=sm_100f "$work/family.ptx" -o "$work/family.cubin"

ptx=--image3=kind=ptx,sm=75,file=export_side.ptx
sm80=--image3=kind=elf,sm=80,file=export_side.sm_80.cubin
sm90=--image3=kind=elf,sm=90,file=export_side.sm_90.cubin
fat() {
    file=$1
    shift
    fatbinary --64 --create "$file.fatbin" "$@"
}
fat plain --compress=false "$ptx" "$sm80"
fat zstd --compress-all "$sm80" "$ptx" "$sm90"
fat lz4 --compress-all --compress-mode=speed "$sm80" "$ptx"
fat several --compress-all --concat "$sm80" "$sm90"
fat family "--image3=kind=elf,sm=100f,file=$work/family.cubin"
