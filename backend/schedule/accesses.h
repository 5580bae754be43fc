/*
 * Which instructions touch memory that another one touches too, without a look at every pair.
 *
 * Operands whose patterns are the same touch memory alike: they are one class, and what two classes have in common is
 * asked once (conflict.c). Patterns of one tensor that move alike lie in intervals, sorted by their starts; all else of
 * a tensor, and tensors that overlap, are met as a whole. So the time is that of the classes that meet, not of the
 * pairs of instructions.
 */
#ifndef BACKEND_ACCESSES_H
#define BACKEND_ACCESSES_H

#include "backend/schedule/schedule.h"

enum access_kind { ACCESS_ANY, ACCESS_WRITES, ACCESS_KINDS };

/* Instructions of one stream that touch something, in the kernel's order. */
struct access_run {
    int stream; /* engine; of transfers ENGINE_COUNT more */
    int n, cap;
    int *insns;
    int *tensors; /* that they touch: tiles, then slots */
    int *other;   /* the last one before it whose tensor is another one; -1 */
    int *next;    /* for the reader's use: see sync.c */
    int round;
};

struct access_list {
    struct access_run *runs[ACCESS_KINDS];
    int nruns[ACCESS_KINDS], cap[ACCESS_KINDS];
    bool mutual; /* what one of them writes, all touch */
};

/* The accesses of a list may touch what an operand touches: in one iteration of the loops around both, or only in
 * different ones. */
struct access_relation {
    const struct access_list *list;
    const struct access_list *alike; /* of the operand: what touches just the same */
    int except; /* but those of this tensor; -1: all */
    enum access_kind kind; /* WRITES: the operand reads only */
    bool same_iteration;
};

struct relations {
    struct access_relation *at;
    int n, cap;
};

/* Of a kernel, in the arena. Changes of the kernel's instructions are not seen. */
struct accesses;
struct accesses *find_accesses(const struct program *p, const struct kernel *k, struct arena *a);
/* Of all operands of an instruction; in the arena of find_accesses, from `out` on. An instruction conflicts with itself
 * too. */
void find_relations(struct accesses *x, int insn, struct relations *out);
/* Of one operand, with accesses of that kind. */
void operand_relations(struct accesses *x, int insn, int operand, enum access_kind kind, struct relations *out);
/* The last access before instruction `limit`, without those of one tensor; -1. */
int last_access(const struct access_run *r, int limit, int except);
/* How many are of instructions before `limit`. */
int accesses_before(const struct access_run *r, int limit);
int stream_of_insn(const struct insn *n);

#endif
