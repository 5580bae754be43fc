/*
 * Instructions, access patterns, kernels: the language of tile programs.
 */
#ifndef NEFF_ISA_H
#define NEFF_ISA_H

#include "neff/core/op.h"

#include <stddef.h>

enum engine { ENGINE_PE, ENGINE_ACT, ENGINE_POOL, ENGINE_DVE, ENGINE_SP, ENGINE_COUNT };
extern const char *const engine_names[ENGINE_COUNT]; /* "pe", "act", "pool", "dve", "sp" */

enum opcode {
#define INSN(id, ...) INSN_##id,
#include "neff/isa/isa.def"
    INSN_COUNT
};

enum {
    MAX_AP_RANK = 6,
    MAX_APS = 7,
    MAX_IMMS = 10,
    MAX_FLOATS = 3,
    MAX_FUNCS = 3,
    MAX_GRID = 4,
    MAX_VARS = 10
};

/*
 * Places of operands by their names in isa.def, as constants: n->ap[AP(activation, bias)],
 * n->imm[IMM(iota, base)], n->flt[FLT(activation, factor)], n->func[FUNC(activation, f)]. The
 * structs only count.
 */
#define AP(insn, name)   ((int)offsetof(struct insn##_aps, name) - 1)
#define IMM(insn, name)  ((int)offsetof(struct insn##_imms, name) - 1)
#define FLT(insn, name)  ((int)offsetof(struct insn##_flts, name) - 1)
#define FUNC(insn, name) ((int)offsetof(struct insn##_funcs, name) - 1)

#define OPERAND(name, access, optional, reach) char name;
#define CONSTANT(name, role)                   char name;
#define VARYING(name, role)                    char name;
#define FLOAT(name)                            char name;
#define FUNCTION(name)                         char name;
#define INSN(id, engine, also, targets, cost, shape, operands, immediates, floats, functions, doc) \
    struct id##_aps {                                                                              \
        char before;                                                                               \
        operands                                                                                   \
    };                                                                                             \
    struct id##_imms {                                                                             \
        char before;                                                                               \
        immediates                                                                                 \
    };                                                                                             \
    struct id##_flts {                                                                             \
        char before;                                                                               \
        floats                                                                                     \
    };                                                                                             \
    struct id##_funcs {                                                                            \
        char before;                                                                               \
        functions                                                                                  \
    };                                                                                             \
    _Static_assert(sizeof(struct id##_aps) <= 1 + MAX_APS, "isa.h: MAX_APS");                      \
    _Static_assert(sizeof(struct id##_imms) <= 1 + MAX_IMMS, "isa.h: MAX_IMMS");                   \
    _Static_assert(sizeof(struct id##_flts) <= 1 + MAX_FLOATS, "isa.h: MAX_FLOATS");               \
    _Static_assert(sizeof(struct id##_funcs) <= 1 + MAX_FUNCS, "isa.h: MAX_FUNCS");
#include "neff/isa/isa.def"

/* How an operand goes with its instruction's shape, see isa.def. */
enum operand_reach {
    REACH_PLAIN,
    REACH_PACKED,
    REACH_REDUCED,
    REACH_PER_ROW,
    REACH_EXCHANGED,
    REACH_INDIRECT
};
/* How the operands of an instruction go together. */
enum insn_shape { SHAPE_ELEMENTWISE, SHAPE_ROWWISE, SHAPE_PLANEWISE, SHAPE_OWN };
enum imm_role { ROLE_VALUE, ROLE_AXES, ROLE_PACKING, ROLE_ACCUMULATE, ROLE_KEEPS, ROLE_STRIDE, ROLE_LIMIT };
enum cost_kind {
    COST_ELEMENTS,
    COST_PRODUCT,
    COST_WINDOWS,
    COST_BLOCKS,
    COST_RECURRENT,
    COST_TRANSPOSE,
    COST_DMA,
    COST_CONTROL
};

/* A row of isa.def. */
struct insn_info {
    const char *name, *doc;
    uint8_t engine;   /* the usual one */
    uint8_t engines;  /* bit (1 << engine) of each that has it */
    uint32_t targets; /* bit of each row of machine.def */
    uint8_t shape;    /* enum insn_shape */
    uint8_t naps, nimms, nfloats, nfuncs;
    struct insn_cost {
        uint8_t kind; /* enum cost_kind */
        float start, min, rate;
    } cost;
    struct operand_info {
        const char *name;
        char access; /* 'r', 'w', 'u' */
        bool optional;
        uint8_t reach; /* enum operand_reach */
    } ap[MAX_APS];
    struct imm_info {
        const char *name;
        bool varies;  /* may depend on grid and loop variables */
        uint8_t role; /* enum imm_role */
    } imm[MAX_IMMS];
    struct float_info {
        const char *name;
        float standard; /* where text and xcc.h leave it out */
    } flt[MAX_FLOATS];
    const char *func[MAX_FUNCS];
};
extern const struct insn_info *const insn_infos[INSN_COUNT];
static inline const struct insn_info *insn_info(enum opcode op)
{
    return insn_infos[op];
}
enum opcode insn_from_name(const char *name); /* INSN_COUNT when unknown */
/* The immediate with that role; -1: the instruction has none. */
int insn_role(const struct insn_info *info, enum imm_role role);

/* base + sum of coef * value of variable over the terms. Variables: program ids 0..ngrid-1, then
 * loop variables. Copies share their terms, which never change: affine_set makes others. */
struct affine_term {
    int32_t var;
    dim_t coef; /* not 0 */
};
struct affine {
    dim_t base;
    int32_t nterms;
    const struct affine_term *terms; /* by rising variable */
};
dim_t affine_coef(const struct affine *a, int var); /* 0 for variables that do not occur */
void affine_set(struct affine *a, struct arena *arena, int var, dim_t coef);
bool affine_equal(const struct affine *a, const struct affine *b);

enum memory { MEM_NONE, MEM_HBM, MEM_SBUF, MEM_PSUM };

/* Edges of tiles: the count in force is min(count, limit - value of variable `var` * factor). */
struct ap_clip {
    int32_t var;
    dim_t factor, limit;
};
struct ap_dim {
    dim_t step; /* elements */
    dim_t count;
    const struct ap_clip *clip; /* NULL: none; shared by copies, like terms */
};

/* Which elements an instruction touches. */
struct ap {
    uint8_t mem;                    /* enum memory; MEM_NONE: an absent optional operand */
    uint8_t dtype;                  /* how elements are stored */
    uint8_t rank;                   /* 1..MAX_AP_RANK */
    int32_t tensor;                 /* HBM: slot of the program; SBUF, PSUM: tile of the kernel */
    struct affine offset;           /* elements from the tensor's start */
    struct ap_dim dim[MAX_AP_RANK]; /* outermost first */
};

bool ap_equal(const struct ap *a, const struct ap *b);
/* The same elements counted from their tensors' starts, in the same order. */
bool ap_places_equal(const struct ap *a, const struct ap *b);
bool ap_clip_equal(const struct ap_clip *a, const struct ap_clip *b); /* or both NULL */

enum { MAX_SYNC = 4 };
struct sync { /* wait until semaphore >= value */
    int16_t semaphore;
    struct affine value;
};

struct insn {
    uint8_t op;         /* enum opcode */
    uint8_t engine;     /* mostly the row's; copies and fills may be moved to another */
    uint8_t nwaits;     /* at most MAX_SYNC */
    int16_t signal[2];  /* semaphores to increment after completion, -1 unused */
    int32_t node;       /* index in program.nodes, for reports; -1 none */
    struct ap *ap;      /* insn_info.naps of them */
    struct affine *imm; /* insn_info.nimms of them; most are constants */
    struct sync *wait;
    float flt[MAX_FLOATS];
    uint16_t func[MAX_FUNCS]; /* enum op */
};

/* A queue moves its bytes. */
static inline bool insn_is_transfer(const struct insn *n)
{
    return insn_info(n->op)->cost.kind == COST_DMA;
}
/* Its floats as they are where nothing gives them: FLOAT 0, FACTOR 1. */
void insn_standard_floats(struct insn *n);
/* The pattern of all elements that an operand may touch: an indirect one has a dim more, outermost,
 * for the index. Its rank is at most MAX_AP_RANK - 1 (program_check). */
struct ap insn_touched(const struct insn *n, int operand);

/* On-chip memory of a kernel instance: partitions x elements, row-major in its own memory. */
struct tile {
    uint8_t mem; /* MEM_SBUF or MEM_PSUM */
    uint8_t dtype;
    dim_t partitions, elements; /* elements per partition */
    int64_t address;            /* strict targets: byte offset in each partition; -1 not placed */
    bool fixed;                 /* while scheduling: the author gave the address */
    bool partial;               /* while building: what of it nothing writes is of no interest to its readers */
    const char *name;           /* the author's, for messages, or NULL; not in archives */
};

/*
 * A kernel: an SPMD grid of identical tile programs. Instances are independent of each other: no
 * instance reads what another one writes. `insns` is one legal order of all engines' streams; the
 * archive stores them by engine.
 */
struct kernel {
    const char *name;
    int ngrid, nvars;     /* nvars = ngrid + depth of loops */
    dim_t grid[MAX_GRID]; /* grid[0] varies slowest */
    int ninsns, insns_cap;
    struct insn *insns;
    int ntiles, tiles_cap;
    struct tile *tiles;
    int nsemaphores;
    bool own_sync; /* while scheduling: the author wrote the semaphores; not in archives */
    bool scheduled; /* while compiling: ordered, placed and synchronised; not in archives */
    bool traced;    /* while scheduling: its author's loads and stores, not those of lowering; not in archives */
    bool tight;     /* while scheduling: tiles filled part by part live no longer than they must; not in archives */
    bool straight;  /* while compiling: many instructions without loops, one instance (backend/schedule/chain.h) */
    dim_t flops,
        bytes; /* of the whole grid: useful arithmetic, compulsory HBM traffic; for reports */
};

#endif
