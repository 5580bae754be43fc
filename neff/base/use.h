/*
 * Tables for one program: a build that defines XRT_USE, the name of a file in quotes, keeps of each
 * table (executors, operators, kernels, conversions) the rows that this file lists,
 *
 *     #define USE_INSN_nc_matmul 1
 *
 * and the linker drops what no row names. `xcc --standalone` writes such files. Without XRT_USE
 * every row stays.
 *
 *     WHEN_USED(EXEC_iota, [INSN_iota] = {exec_iota, prepare_numbers}, )
 */
#ifndef NEFF_BASE_USE_H
#define NEFF_BASE_USE_H

#ifdef XRT_USE
#include XRT_USE

/* 1 where USE_name is defined as 1, else 0: the place of 1 is "0," and moves what follows. */
#define USE_PLACE_1            0,
#define USED_SECOND(a, b, ...) b
#define USED_TEST(...)         USED_SECOND(__VA_ARGS__, 0, 0)
#define USED_PLACE(value)      USED_TEST(USE_PLACE_##value 1)
#define USED_VALUE(value)      USED_PLACE(value)
#define USED(name)             USED_VALUE(USE_##name)

#define WHEN_USED_0(...)
#define WHEN_USED_1(...)        __VA_ARGS__
#define WHEN_USED_AS(used, ...) WHEN_USED_IS(used, __VA_ARGS__)
#define WHEN_USED_IS(used, ...) WHEN_USED_##used(__VA_ARGS__)
#define WHEN_USED(name, ...)    WHEN_USED_AS(USED(name), __VA_ARGS__)
#else
#define USED(name)           1
#define WHEN_USED(name, ...) __VA_ARGS__
#endif

#endif
