// Compiler attributes of the functions that take four taps at a time: they target CPUs with the features that
// HasQuadPasses requires.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_TARGET_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_TARGET_H_

#include "hwy/detect_compiler_arch.h"

#if HWY_ARCH_X86_64
#include <immintrin.h>

// These functions use intrinsics. Debian's Highway release has no multiply-and-add of bytes (VNNI). By default it also
// does not compile for these CPUs.
#define PENSTOCK_QUAD __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")))
#endif

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_TARGET_H_
