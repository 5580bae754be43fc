#include "frontend/standalone/sets.h"

#include <stddef.h>

#define AVX2      "-mavx2 -mfma -mf16c"
#define AVX512    AVX2 " -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512"
#define DOTS      "-march=armv8.2-a+dotprod"
#define OF_AVX2   "avx2,fma,f16c"
#define OF_AVX512 OF_AVX2 ",avx512f,avx512bw,avx512dq,avx512vl"

const struct kernel_set kernel_sets[] = {
    {"portable", 4, ANY_PROCESSOR, "", "", {"STRICT_ISA"}, NULL, false},
    {"neon", 4, AARCH64, "", "", {NULL}, NULL, false},
    {"neondot", 4, AARCH64, DOTS, "dotprod", {"WITH_NEON_DOTS"}, "neon", true},
    {"neonbf16", 4, AARCH64, DOTS "+bf16", "dotprod,bf16", {"WITH_NEON_BF16"}, "neon neondot", true},
    {"avx2", 8, X86_64, AVX2, OF_AVX2, {"WITH_AVX2"}, NULL, false},
    {"avx512", 16, X86_64, AVX512, OF_AVX512, {"WITH_AVX2", "WITH_AVX512"}, NULL, false},
    {"avx512vnni", 16, X86_64, AVX512 " -mavx512vnni", OF_AVX512 ",avx512vnni",
     {"WITH_AVX2", "WITH_AVX512", "WITH_AVX512VNNI"}, "avx512", false},
    {"avx512bf16", 16, X86_64, AVX512 " -mavx512vnni -mavx512bf16", OF_AVX512 ",avx512vnni,avx512bf16",
     {"WITH_AVX2", "WITH_AVX512", "WITH_AVX512VNNI", "WITH_AVX512BF16"}, NULL, false},
    {"amx", 16, X86_64, AVX512 " -mavx512bf16 -mamx-tile -mamx-bf16 -mamx-int8",
     OF_AVX512 ",avx512bf16,amx-tile,amx-bf16,amx-int8",
     {"WITH_AVX2", "WITH_AVX512", "WITH_AVX512BF16"}, "avx512 avx512vnni", true},
};
const int nkernel_sets = sizeof kernel_sets / sizeof *kernel_sets;
