/*
 * What lowering functions see: the graph being lowered, the program being made, and the map between
 * them.
 */
#ifndef BACKEND_LOWER_H
#define BACKEND_LOWER_H

#include "backend/backend.h"

struct lowering {
    struct graph *g;
    const struct options *o;
    const struct machine *m;
    struct program *p;
    struct diag *d;
    int region;     /* program region that steps are added to */
    int32_t *slots; /* value id -> slot, -1 while it has none */
    struct value *
        *alias; /* value id -> value that stands for it (parameters of fused regions), or NULL */
    bool *is_output; /* value id: a result of the main region */
    struct value **shown; /* value id -> the output in whose memory it is made (outputs.h), or NULL */
    struct lazy_constant **lazy; /* value id of a constant -> what is made of it, see lazy_constants.h */
    struct node **left_to; /* value id: the if whose branches may overwrite it, see share.c */
    int nleft_to;
    int nvalues;     /* size of the maps: lowering makes no values */
    bool *defined;   /* dim node: depends on symbols that running defines, all by steps before */
    int ndefined;
    struct grown *grown;           /* see states.h */
    int ngrown;
    struct decision *decisions; /* value id of a node's first result: see plan.h */
    const char **refused; /* the same: why it has no tile program though an earlier plan gave it one, or NULL */
    bool *apart;          /* the same: its kernel had no room for what it was joined with */
    int places;           /* nodes that the plan has seen */
    bool again;           /* one more was refused: this program is of no use */
};

enum lowered {
    LOWERED,
    DECLINED, /* not with a tile program; the function has said why() */
    FAILED,   /* a diagnostic is set */
};
typedef enum lowered (*lower_fn)(struct lowering *l, struct node *n);

/* The value that v stands for outside fused regions. */
struct value *outer_value(struct lowering *l, struct value *v);
/* v's slot, made when it has none. */
/* Whether the value lies in memory with its last dim outermost (plan.h). */
bool is_turned(const struct lowering *l, const struct value *v);
int value_slot(struct lowering *l, struct value *v);
/* The inputs' shapes alone determine the shape: it has a place before anything runs. */
bool is_planned(const struct lowering *l, const struct type *t);
/* The one result is the first operand's bytes: another shape, or another type of elements as large. */
bool shows_operand(const struct node *n);
/* A temporary planned slot. */
int temporary_slot(struct lowering *l, const struct type *t, const char *name);
/* A constant slot; data is borrowed and must live as long as the graph (use its arena). */
int constant_slot(struct lowering *l, const struct tensor *t, const char *name);
/* Whether kernels can read or write the value: a tensor of numbers whose shape is known when the
 * step being lowered runs. */
bool has_layout(struct lowering *l, const struct value *v);
/* Whether the dim is known then: by the inputs, or by what earlier steps define. */
bool dim_is_known(struct lowering *l, dim_t d);

/* What the runtime does when the slot gets its value: symbols that stand alone in its dims get
 * theirs. */
void note_definitions(struct lowering *l, int slot);
void define_dims(struct lowering *l, const struct type *t);
/* What a region defines is its own. */
struct definitions {
    bool *defined;
    int n;
};
struct definitions enter_definitions(struct lowering *l);
void leave_definitions(struct lowering *l, struct definitions outer);
/* Whether a call makes result i at all. */
bool result_wanted(const struct node *n, int i);
/* Parameters of a fused region stand for the node's operands. */
void alias_parameters(struct lowering *l, const struct node *fused);
/* The maps, for every value of the graph. */
void make_maps(struct lowering *l);
/* The node's number in the program's node list. */
int program_node_of(struct lowering *l, const struct node *n);
/* Whether an operand or result has a constant size of 0. Such nodes have no tile program: there is
 * nothing to compute, and a tile of no elements means something else to builders. */
bool touches_nothing(const struct node *n);
enum lowered lower_node(struct lowering *l, struct node *n);
/* As one GpSimd call. */
bool lower_call(struct lowering *l, struct node *n);

#define LOWER(op, function, machines)                                                              \
    enum lowered lower_##function(struct lowering *l, struct node *n);
#include "backend/lower/lower.def"
enum lowered lower_elementwise(struct lowering *l, struct node *n);

#endif
