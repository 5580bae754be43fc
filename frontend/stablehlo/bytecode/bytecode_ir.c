/*
 * The operations of MLIR bytecode. Values are numbered in order of definition; a region that is
 * not isolated goes on counting where its parent's reservation ends. Operands may be defined later.
 */
#include "frontend/stablehlo/bytecode/bytecode.h"

#include <string.h>

enum {
    IR = 4,
    ATTRIBUTES = 1,
    RESULTS = 2,
    OPERANDS = 4,
    SUCCESSORS = 8,
    REGIONS = 16,
    ORDERS = 32,
    PROPERTIES = 64
};

struct bytecode_scope { /* values that are in sight: those of one isolated operation */
    struct mlir_value **v;
    int count, capacity;
    struct bytecode_scope *outer;
};

struct ir {
    struct bc_reader *r;
    struct bytecode_scope *scope;
    int64_t values; /* made so far; a file cannot have more than it has bytes */
};

static bool too_deep(struct bc_reader *r, struct bc_cursor *c)
{
    return ++r->depth > MLIR_MAX_NESTING &&
           !bc_fail(r, c, "regions nested deeper than %d", MLIR_MAX_NESTING);
}

/* ---- values ---- */

static bool reserve(struct ir *ir, struct bc_cursor *c, uint64_t n)
{
    struct bytecode_scope *s = ir->scope;
    if (n > ir->r->size || (ir->values += (int64_t)n) > (int64_t)ir->r->size + 64)
        return bc_fail(ir->r, c, "%llu values in a region", (unsigned long long)n);
    while (s->count + (int)n > s->capacity) {
        int more = s->capacity ? 2 * s->capacity : 64;
        struct mlir_value **w = ARENA_ARRAY(ir->r->arena, struct mlir_value *, more);
        if (s->count)
            memcpy(w, s->v, sizeof *w * (size_t)s->count);
        s->v = w;
        s->capacity = more;
    }
    if (n)
        memset(s->v + s->count, 0, sizeof *s->v * (size_t)n);
    s->count += (int)n;
    return true;
}

static struct mlir_value *value_at(struct ir *ir, struct bc_cursor *c, uint64_t k)
{
    struct bytecode_scope *s = ir->scope;
    if (k >= (uint64_t)s->count) {
        bc_fail(ir->r, c, "value %llu of %d", (unsigned long long)k, s->count);
        return NULL;
    }
    if (!s->v[k])
        s->v[k] = arena_alloc(ir->r->arena, sizeof **s->v);
    return s->v[k];
}

/* ---- operations ---- */

static void skip_orders(struct bc_cursor *c, bool indexed)
{
    int n = indexed ? bc_count(c) : 1;
    for (int k = 0; k < n && !c->bad; k++) {
        if (indexed)
            bc_varint(c);
        uint64_t v = bc_varint(c);
        for (uint64_t j = 0; j < v >> 1 && !c->bad; j++)
            bc_varint(c);
    }
}

/* How many operands or results belong to each group: all in turn, or those that are not 0 and where. */
static const struct mlir_attr *segment_sizes(struct bc_reader *r, struct bc_cursor *c, int count)
{
    struct mlir_attr *a = mlir_attr_new(r->arena, MA_INTS);
    a->type = mlir_scalar(r->arena, DT_I32);
    a->count = count;
    a->ints = ARENA_ARRAY(r->arena, int64_t, count);
    uint64_t k = bc_varint(c), n = k >> 1;
    uint64_t bits = k & 1 ? bc_varint(c) : 0;
    if (n > (uint64_t)count || bits > 8 || (!(k & 1) && n && n < (uint64_t)count))
        return NULL;
    for (uint64_t j = 0; j < n; j++) {
        uint64_t v = bc_varint(c), at = k & 1 ? v & ((1u << bits) - 1) : j;
        if (c->bad || at >= (uint64_t)count || v >> bits > INT32_MAX)
            return NULL;
        a->ints[at] = (int64_t)(v >> bits);
    }
    return a;
}

static const struct mlir_attr *property(struct bc_reader *r, uint64_t k)
{
    return k < (uint64_t)r->attr_count ? bc_attr_at(r, k) : NULL;
}

/* One set of names against the bytes: whether they are used up exactly. */
static bool match_properties(struct bc_reader *r, struct bc_cursor c, const char *names, size_t n,
                             struct mlir_op *op)
{
    struct mlir_dict d = op->attrs;
    for (const char *s = names, *end = names + n; s < end;) {
        const char *e = memchr(s, ' ', (size_t)(end - s));
        e = e ? e : end;
        const char *sizes = memchr(s, '*', (size_t)(e - s));
        bool optional = e[-1] == '?';
        size_t length = (size_t)((sizes ? sizes : e) - s) - optional;
        const struct mlir_attr *v = NULL;
        uint64_t k = sizes ? 0 : bc_varint(&c);
        bool given = sizes || !optional || (k & 1);
        if (c.bad || (!given && k))
            return false;
        if (given && !(v = sizes ? segment_sizes(r, &c, sizes[1] - '0') : property(r, optional ? k >> 1 : k)))
            return false;
        if (v)
            mlir_dict_set(r->arena, &d, arena_strndup(r->arena, s, length), v);
        for (s = e; s < end && *s == ' ';)
            s++;
    }
    if (c.bad || c.p != c.end)
        return false;
    op->attrs = d;
    return true;
}

static bool read_properties(struct bc_reader *r, struct bc_cursor *c, const struct bc_op_name *name,
                            struct mlir_op *op)
{
    uint64_t k = bc_varint(c);
    if (c->bad || k >= (uint64_t)r->property_count)
        return bc_fail(r, c, "the properties of '%s' are missing", op->name);
    struct bc_cursor p = r->properties[k];
    if (!name->registered) { /* a dictionary */
        const struct mlir_attr *a = bc_attr(r, &p);
        for (int j = 0; a && a->kind == MA_DICT && j < a->count; j++)
            mlir_dict_set(r->arena, &op->attrs, a->keys[j], a->items[j]);
        return a != NULL;
    }
    const char *names = bc_property_names(op->name);
    if (!names)
        return p.p == p.end || strncmp(op->name, "stablehlo.", 10) ||
               bc_fail(r, &p, "properties of '%s', which has none", op->name);
    for (;;) {
        size_t n = strcspn(names, "|");
        if (match_properties(r, p, names, n, op))
            return true;
        if (diag_failed(r->d) || !names[n])
            break;
        names += n + 1;
    }
    return diag_failed(r->d)
               ? false
               : bc_fail(r, &p, "the properties of '%s' are not those that are known", op->name);
}

static bool read_attributes(struct bc_reader *r, struct bc_cursor *c, struct mlir_op *op)
{
    const struct mlir_attr *a = bc_attr(r, c);
    if (!a || a->kind != MA_DICT)
        return a ? bc_fail(r, c, "the attributes of '%s' are not a dictionary", op->name) : false;
    for (int k = 0; k < a->count; k++)
        mlir_dict_set(r->arena, &op->attrs, a->keys[k], a->items[k]);
    return true;
}

static bool read_block(struct ir *ir, struct bc_cursor *c, struct mlir_block *b, int *next);

static bool read_region(struct ir *ir, struct bc_cursor *c, struct mlir_op *op, int k)
{
    struct bc_reader *r = ir->r;
    int before = ir->scope->count, next = before;
    uint64_t blocks = bc_varint(c);
    if (!blocks)
        return !c->bad || bc_fail(r, c, "a region is truncated");
    if (blocks > 1)
        return bc_fail(r, c,
                       "a region of '%s' has %llu blocks; control flow between blocks is not "
                       "StableHLO",
                       op->name, (unsigned long long)blocks);
    if (too_deep(r, c) || !reserve(ir, c, bc_varint(c)))
        return false;
    op->regions[k].block = arena_alloc(r->arena, sizeof *op->regions[k].block);
    op->regions[k].block_count = 1;
    if (!read_block(ir, c, op->regions[k].block, &next))
        return false;
    for (int j = before; j < ir->scope->count; j++)
        if (ir->scope->v[j] && !ir->scope->v[j]->def && !ir->scope->v[j]->block)
            return bc_fail(r, c, "a value of '%s' is used, but not defined", op->name);
    ir->scope->count = before;
    r->depth--;
    return true;
}

/* From version 2 on, the regions of an isolated operation are a section of their own. */
static bool read_regions(struct ir *ir, struct bc_cursor *c, struct mlir_op *op)
{
    struct bc_reader *r = ir->r;
    uint64_t v = bc_varint(c), n = v >> 1;
    struct bytecode_scope own = {.outer = ir->scope}, *outer = ir->scope;
    struct bc_cursor inner, *from = c;
    if (c->bad || n > (uint64_t)(c->end - c->p) || n > 4096)
        return bc_fail(r, c, "%llu regions", (unsigned long long)n);
    op->region_count = (int)n;
    op->regions = ARENA_ARRAY(r->arena, struct mlir_region, n + 1);
    if (v & 1)
        ir->scope = &own;
    if ((v & 1) && r->version >= 2) {
        uint64_t id = c->p < c->end ? *c->p++ : 0xff, size = bc_varint(c), align = 1;
        if (id & 0x80)
            align = bc_varint(c);
        while (align > 1 && c->p < c->end && (uint64_t)(c->p - r->data) % align)
            c->p++;
        if ((id & 0x7f) != IR || c->bad || !align || size > (uint64_t)(c->end - c->p))
            return bc_fail(r, c, "the regions of '%s' are truncated", op->name);
        inner = (struct bc_cursor){c->p, c->p + size, false};
        c->p += size;
        from = &inner;
    }
    for (int k = 0; k < op->region_count; k++)
        if (!read_region(ir, from, op, k))
            return false;
    ir->scope = outer;
    return true;
}

static bool read_results(struct ir *ir, struct bc_cursor *c, struct mlir_op *op, int *next)
{
    int n = bc_count(c);
    op->results = ARENA_ARRAY(ir->r->arena, struct mlir_value *, n + 1);
    for (; op->result_count < n; op->result_count++) {
        const struct mlir_type *t = bc_type(ir->r, c);
        struct mlir_value *v = t ? value_at(ir, c, (uint64_t)(*next)++) : NULL;
        if (!v)
            return diag_failed(ir->r->d) ? false : bc_fail(ir->r, c, "results are truncated");
        if (v->def || v->block)
            return bc_fail(ir->r, c, "a value is defined twice");
        v->type = t;
        v->def = op;
        v->index = op->result_count;
        op->results[op->result_count] = v;
    }
    return true;
}

static bool read_operands(struct ir *ir, struct bc_cursor *c, struct mlir_op *op)
{
    int n = bc_count(c);
    op->operands = ARENA_ARRAY(ir->r->arena, struct mlir_value *, n + 1);
    for (; op->operand_count < n; op->operand_count++)
        if (!(op->operands[op->operand_count] = value_at(ir, c, bc_varint(c))))
            return false;
    return true;
}

static struct mlir_op *read_op(struct ir *ir, struct bc_cursor *c, int *next)
{
    struct bc_reader *r = ir->r;
    uint64_t name = bc_varint(c);
    uint8_t mask = c->p < c->end ? *c->p++ : 0;
    if (c->bad || name >= (uint64_t)r->op_name_count) {
        bc_fail(r, c, "operation %llu of %d", (unsigned long long)name, r->op_name_count);
        return NULL;
    }
    struct mlir_op *op = mlir_op_new(r->arena, r->op_names[name].name);
    const struct mlir_loc *l = bc_loc(r, c);
    if (!l)
        return NULL;
    op->loc = l->kind == ML_UNKNOWN ? NULL : l;
    if ((mask & ATTRIBUTES) && !read_attributes(r, c, op))
        return NULL;
    if ((mask & PROPERTIES) && !read_properties(r, c, &r->op_names[name], op))
        return NULL;
    if ((mask & RESULTS) && !read_results(ir, c, op, next))
        return NULL;
    if ((mask & OPERANDS) && !read_operands(ir, c, op))
        return NULL;
    if (mask & SUCCESSORS) {
        bc_fail(r, c, "'%s' has successor blocks, which StableHLO does not have", op->name);
        return NULL;
    }
    if (mask & ORDERS)
        skip_orders(c, op->result_count > 1);
    if (c->bad) {
        bc_fail(r, c, "operation '%s' is truncated", op->name);
        return NULL;
    }
    return !(mask & REGIONS) || read_regions(ir, c, op) ? op : NULL;
}

static bool read_args(struct ir *ir, struct bc_cursor *c, struct mlir_block *b, int *next)
{
    struct bc_reader *r = ir->r;
    b->arg_count = bc_count(c);
    b->args = ARENA_ARRAY(r->arena, struct mlir_value *, b->arg_count + 1);
    for (int k = 0; k < b->arg_count; k++) {
        struct bc_cursor type = *c;
        uint64_t v = bc_varint(c);
        bool located = true;
        if (r->version >= 4) { /* (type << 1) | has a location */
            located = v & 1;
            v >>= 1;
        }
        if (c->bad || v >= (uint64_t)r->type_count)
            return bc_fail(r, &type, "the type of an argument is missing");
        struct mlir_value *a = value_at(ir, c, (uint64_t)(*next)++);
        uint8_t index[10] = {0};
        index[0] = 0; /* by number: as a 9-byte varint */
        memcpy(index + 1, &v, 8);
        struct bc_cursor number = {index, index + 9, false};
        if (!a || !(a->type = bc_type(r, &number)))
            return false;
        a->block = b;
        a->index = k;
        b->args[k] = a;
        const struct mlir_loc *l = located ? bc_loc(r, c) : NULL;
        if (located && !l)
            return false;
        a->loc = l && l->kind != ML_UNKNOWN ? l : NULL;
    }
    return true;
}

static bool read_block(struct ir *ir, struct bc_cursor *c, struct mlir_block *b, int *next)
{
    struct bc_reader *r = ir->r;
    uint64_t v = bc_varint(c);
    if (v & 1) {
        if (!read_args(ir, c, b, next))
            return false;
        if (r->version >= 3) {
            uint8_t orders = c->p < c->end ? *c->p++ : 0;
            if (orders)
                skip_orders(c, b->arg_count > 1);
        }
    }
    for (uint64_t k = 0; k < v >> 1; k++) {
        if (c->p >= c->end || c->bad)
            return bc_fail(r, c, "a block is truncated");
        struct mlir_op *op = read_op(ir, c, next);
        if (!op)
            return false;
        mlir_append(r->arena, b, op);
    }
    return !c->bad || bc_fail(r, c, "a block is truncated");
}

struct mlir_op *bc_read_ir(struct bc_reader *r)
{
    struct bytecode_scope top = {0};
    struct ir ir = {r, &top, 0};
    struct mlir_block *b = arena_alloc(r->arena, sizeof *b);
    int next = 0;
    if (!read_block(&ir, &r->section[IR], b, &next))
        return NULL;
    if (b->op_count != 1 || !mlir_is(b->ops[0], "builtin.module")) {
        bc_fail(r, NULL, "%d operations at the top, expected one builtin.module", b->op_count);
        return NULL;
    }
    b->ops[0]->parent = NULL;
    return b->ops[0];
}
