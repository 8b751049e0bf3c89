#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Makes the files of this folder anew: ./make.sh [FOLDER OF LLVM'S PROGRAMS]
# Needs clang, LLVM, lld and clang-tools 22 (Debian: clang-22 llvm-22 lld-22 clang-tools-22).
set -eu
cd "$(dirname "$0")"
PATH="${1:-/usr/lib/llvm-22/bin}:$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The SPIR-V in a file of ../: the wrapper has 72 bytes, the size of the code stands at 32.
spirv() {
    size=$(od -An -tu8 -j104 -N8 "../$1.object.syclbin" | tr -d ' ')
    start=$(LC_ALL=C grep -aboP '\x03\x02\x23\x07' "../$1.object.syclbin" | head -n1 | cut -d: -f1)
    tail -c +$((start + 1)) "../$1.object.syclbin" | head -c "$size" > "$work/$1.spv"
}
spirv export_side
spirv import_side
cp host.c double_it.c upstream.cpp registered.c "$work"
cp ../export_side.object.syclbin "$work/export_side.syclbin"
llvm-as kernels.ll -o "$work/kernels.bc"
here=$PWD
cd "$work"

linux=x86_64-unknown-linux-gnu
windows="x86_64-pc-windows-msvc -mno-incremental-linker-compatible"
spir=triple=spir64-unknown-unknown,kind=sycl
clang="clang -O1 -fno-ident -fno-asynchronous-unwind-tables"

# Native code, PTX, bitcode.
$clang --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -fuse-ld=lld -Wl,--build-id=none double_it.c -o double_it.hsaco
$clang --target=nvptx64-nvidia-cuda -march=sm_75 -Xclang -target-feature -Xclang +ptx63 -S double_it.c -o double_it.s
$clang --target=spirv64 -emit-llvm -c double_it.c -o double_it.bc

# OffloadBinaries.
llvm-offload-binary -o two.offload \
    --image=file=export_side.spv,$spir,arch=generic \
    --image="file=import_side.spv,$spir,compile-opts=-cl-fast-relaxed-math"
llvm-offload-binary -o mixed.offload \
    --image=file=double_it.hsaco,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip \
    --image=file=double_it.s,triple=nvptx64-nvidia-cuda,arch=sm_75,kind=cuda \
    --image=file=double_it.bc,triple=spirv64,kind=openmp
llvm-offload-binary -o nested.offload --image=file=export_side.syclbin,$spir
clang-sycl-linker --triple=spirv64 kernels.bc -o linked.offload
clang++ -fsycl -fsycl-device-only -std=c++20 -O2 -fno-ident -emit-llvm -c upstream.cpp -o upstream.bc
clang-sycl-linker --triple=spirv64-unknown-unknown upstream.bc -o upstream.offload

# Objects, executables, libraries.
embed="-Xclang -fembed-offload-object=two.offload"
$clang --target=$linux $embed -c host.c -o fat.o
$clang --target=$linux -c host.c -o plain_object_with_a_long_name.o
$clang --target=$windows $embed -c host.c -o fat.obj
$clang --target=$linux -flto $embed -c host.c -o lto.o
$clang --target=$linux -Xclang -fembed-offload-object=linked.offload -c host.c -o other.o
llvm-objcopy --weaken other.o
ld.lld -r fat.o other.o -o merged.o
rm -f library.a bsd.a thin.a
llvm-ar --format=gnu rcsD library.a plain_object_with_a_long_name.o fat.o other.o
llvm-ar --format=bsd rcsD bsd.a plain_object_with_a_long_name.o other.o
llvm-ar rcsTD thin.a other.o
llvm-lib -out:windows.lib fat.obj >/dev/null
llvm-offload-wrapper --kind=openmp --triple=$linux two.offload -o wrapped.bc
$clang --target=$linux -fPIC -c wrapped.bc -o wrapped.o
ld.lld -shared -z noseparate-code --build-id=none --hash-style=gnu -s wrapped.o -o wrapped.so
$clang --target=$windows -c host.c -o plain.obj
for section in .llvm.offloading=two.offload __CLANG_OFFLOAD_BUNDLE__sycl-spir64=import_side.spv; do
    llvm-objcopy --add-section=$section plain.obj kept.obj
    llvm-objcopy --set-section-flags=${section%=*}=contents,alloc,load,readonly,data kept.obj
    lld-link /dll /noentry /export:host /brepro /opt:noref kept.obj /out:$section.dll
done
mv .llvm.offloading=two.offload.dll kept.dll
mv __CLANG_OFFLOAD_BUNDLE__sycl-spir64=import_side.spv.dll old.dll

# What the older driver of DPC++ links: images with options and property sets, which the host code registers.
$clang --target=$linux -Os -fPIC -ffreestanding -c registered.c -o registered.o
ld.lld -shared -z noseparate-code --build-id=none --hash-style=gnu -s registered.o -o registered.so
$clang --target=$windows -Os -ffreestanding -c registered.c -o registered.obj
lld-link /dll /noentry /brepro /opt:noref registered.obj /out:registered.dll

# Bundles. This bundler knows OpenMP and HIP, DPC++'s knows SYCL as well.
bundle() { clang-offload-bundler "$@"; }
$clang --target=$linux -S host.c -o host.s
bundle --type=bc --targets=host-$linux,openmp-spirv64-unknown-unknown-,hip-amdgcn-amd-amdhsa--gfx90a \
    --input=host.c --input=export_side.spv --input=double_it.hsaco --output=binary.bundle
bundle --type=s --targets=host-$linux,openmp-nvptx64-nvidia-cuda--sm_75 \
    --input=host.s --input=double_it.s --output=text.bundle
bundle --type=o --targets=host-$linux,openmp-spirv64-unknown-unknown- \
    --input=plain_object_with_a_long_name.o --input=export_side.spv --output=bundle.o
bundle --type=bc --compress --targets=host-$linux,openmp-spirv64-unknown-unknown- \
    --input=host.c --input=export_side.spv --output=compressed.bundle
COMPRESSED_BUNDLE_FORMAT_VERSION=2 clang-offload-bundler --type=bc --compress \
    --targets=host-$linux,openmp-spirv64-unknown-unknown- \
    --input=host.c --input=export_side.spv --output=compressed2.bundle

# What the older driver of DPC++ leaves in what it links: modules one behind the other. And what
# linking fat objects into one leaves: the same, with their sizes.
cat export_side.spv import_side.spv > both.spv
old=__CLANG_OFFLOAD_BUNDLE__sycl-spir64
sizes=__CLANG_OFFLOAD_BUNDLE_SIZE__sycl-spir64
for size in $(wc -c < export_side.spv) $(wc -c < import_side.spv); do
    printf "$(printf '\\%03o\\%03o\\0\\0\\0\\0\\0\\0' $((size % 256)) $((size / 256)))"
done > sizes
llvm-objcopy --add-section=$old=both.spv plain_object_with_a_long_name.o old.o
llvm-objcopy --add-section=$old=both.spv --add-section=$sizes=sizes plain_object_with_a_long_name.o old_sizes.o
llvm-objcopy --add-section=$old=both.spv plain.obj old.obj

chmod a-x *
cp two.offload mixed.offload nested.offload linked.offload upstream.offload fat.o fat.obj merged.o library.a bsd.a thin.a \
    windows.lib wrapped.so registered.so registered.dll kept.dll old.dll binary.bundle text.bundle bundle.o compressed.bundle \
    compressed2.bundle lto.o \
    old.o old_sizes.o old.obj "$here"
