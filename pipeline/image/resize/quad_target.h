// How the functions that take four taps at a time are compiled: for CPUs that have what HasQuadPasses asks for.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_TARGET_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_TARGET_H_

#include "hwy/detect_compiler_arch.h"

#if HWY_ARCH_X86_64
#include <immintrin.h>

// Intrinsics in place of Highway, whose release in Debian neither multiplies bytes nor builds for such CPUs unless
// asked.
#define PENSTOCK_QUAD __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")))
#endif

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_TARGET_H_
