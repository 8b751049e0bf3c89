#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs syclbin's tests, examples and benchmarks on the device of this machine, and writes report.json
# and report.md into the current directory. Needs glibc 2.28 or newer and the driver of the device.
#
#   ./run.sh                       the best device, 9 minutes at most
#   ./run.sh --device opencl:gpu:0 --minutes 5 --out DIR
#   ./run.sh --help
#
# Ends with 0 if all passed, with 1 if not, with 2 if there is no report.
set -u
case $0 in
*/*) here=${0%/*} ;;
*) here=. ;;
esac
here=$(CDPATH='' cd -- "$here" && pwd -P) || exit 2
if [ "$(uname -m)" != x86_64 ]; then
    echo "error: this pack is for x86_64, but this machine is $(uname -m)" >&2
    exit 2
fi
runner=$here/bin/gpu-report
if ! [ -x "$runner" ]; then
    # A copy without permissions.
    chmod +x "$here"/bin/* || exit 2
fi
exec "$runner" run --pack "$here" "$@"
