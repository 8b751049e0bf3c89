#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# A compiler that records its command line in $FAKE_CLANG_RECORD, then does what $FAKE_CLANG says.
# There: $out, $depfile and $source are clang's, $debug is empty or 1, and $made is the file that an
# independent compiler made of a source of that name. Asked what it is (`--version`, `-###`), it does
# what $FAKE_CLANG_PROBE says, where $question is `version` or `option`, if that is set.
for argument; do
    case $argument in
    --version) question=version ;;
    -###) question=option ;;
    esac
done
if [ -n "$question" ]; then
    [ -z "$FAKE_CLANG_PROBE" ] || eval "$FAKE_CLANG_PROBE"
    [ "$question" = option ] || echo "fake clang version 1"
    exit 0
fi
for argument; do
    [ "$argument" = -g ] && debug=-debug
    last=$argument
done
name=$(basename "$last" .cpp)
if [ -n "$FAKE_CLANG_RECORD" ]; then
    printf '%s\n' "$@" >"$FAKE_CLANG_RECORD/$name$debug"
fi
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=$2 && shift ;;
    -MF) depfile=$2 && shift ;;
    *) source=$1 ;;
    esac
    shift
done
made=$FAKE_CLANG_MADE/$name.object.syclbin
eval "$FAKE_CLANG"
