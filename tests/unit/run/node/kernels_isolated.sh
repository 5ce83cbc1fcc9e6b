#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The kernel objects must define no symbol that the linker could merge with another object's (weak,
# unique): it might keep the copy that was compiled for a newer processor than this one.
# usage: kernels_isolated.sh NM ARCHIVE
nm=$1
archive=$2
"$nm" -C "$archive" | awk '
    /^[^ ]*\.o:$/ { kernels = /^(baseline|avx2|avx512)\.cpp\.o:$/; objects += kernels; next }
    kernels && / [WwVvu] / { print "shared symbol: " $0; shared = 1 }
    END {
        if (!objects) { print "no kernel object found"; exit 1 }
        exit shared
    }'
