/*
 * Random numbers: functions of a seed and a place, so that neither threads nor order matter.
 */
#include "runtime/exec/separate.h"

enum { DST = 0, SEED = 0 };
_Static_assert(AP(random, dst) == DST && AP(dropout, dst) == DST && IMM(random, seed) == SEED &&
                   IMM(dropout, seed) == SEED,
               "operands that both have");

/* 64 bits, each a function of all of seed and place (two rounds of multiply and fold). */
static uint64_t random_bits(uint64_t seed, uint64_t place)
{
    uint64_t x = seed * 0xd1342543de82ef95u + place * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
    for (int round = 0; round < 2; round++) {
        x ^= x >> 32;
        x *= 0xbf58476d1ce4e5b9u;
        x ^= x >> 29;
        x *= 0x94d049bb133111ebu;
    }
    return x ^ x >> 32;
}

/* In [0, 1), all multiples of 2^-24 there are. */
static float random_unit(uint64_t seed, uint64_t place)
{
    return (float)(random_bits(seed, place) >> 40) * 0x1p-24f;
}

bool prepare_random(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    const struct operand *dst = &i->o[DST], *src = &i->o[AP(dropout, src)];
    if (!only_numbers(b, i, insn) || !separate_rows(b, i))
        return false;
    if (i->op == INSN_dropout && src->count[src->rank - 1] != dst->count[dst->rank - 1])
        return fail(b->d, "dropout: rows of %lld elements into rows of %lld",
                    (long long)src->count[src->rank - 1], (long long)dst->count[dst->rank - 1]);
    return true;
}

/* The instruction's seed, and of the row of operand `seeds` all numbers, if it has one. */
static uint64_t row_seed(struct worker *me, const struct bound_insn *i, const struct separate_row *r,
                         int seeds)
{
    uint64_t seed = (uint64_t)number_at(me, &i->imm[SEED]);
    for (int64_t k = 0; i->o[seeds].mem && k < r->n[seeds]; k++)
        seed = random_bits(seed, (uint64_t)separate_load_integer(i, r, seeds, k));
    return seed;
}

static void random_row(struct worker *me, const struct bound_insn *i, const struct separate_row *r)
{
    const struct operand *o = &i->o[DST];
    uint64_t seed = row_seed(me, i, r, AP(random, seeds)),
             place = (uint64_t)(r->number * o->count[o->rank - 1]);
    float low = i->flt[FLT(random, low)], range = i->flt[FLT(random, high)] - low;
    for (int64_t k = 0; k < r->n[DST]; k++, place++)
        if (dtype_is_float(o->dtype))
            separate_store(me, i, r, DST, k, low + range * random_unit(seed, place));
        else
            separate_store_integer(i, r, DST, k, (int64_t)(random_bits(seed, place) >> 16));
}

void exec_random(struct worker *me, const struct bound_insn *i)
{
    run_separate(me, i, random_row);
}

static void dropout_row(struct worker *me, const struct bound_insn *i, const struct separate_row *r)
{
    enum { SRC = AP(dropout, src), PROBABILITY = AP(dropout, probability) };
    const struct operand *o = &i->o[DST];
    uint64_t seed = row_seed(me, i, r, AP(dropout, seeds)),
             place = (uint64_t)(r->number * o->count[o->rank - 1]);
    float rate =
        i->o[PROBABILITY].mem ? separate_load(i, r, PROBABILITY, 0) : i->flt[FLT(dropout, rate)];
    for (int64_t k = 0; k < r->n[DST]; k++, place++)
        separate_store(me, i, r, DST, k,
                       random_unit(seed, place) < rate ? 0 : separate_load(i, r, SRC, k));
}

void exec_dropout(struct worker *me, const struct bound_insn *i)
{
    run_separate(me, i, dropout_row);
}
