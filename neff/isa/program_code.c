#include "neff/isa/program_code.h"

#include "neff/isa/codec.h"
#include "neff/isa/streams.h"

static void code_dim(struct codec *c, dim_t *d)
{
    bool symbolic = !dim_is_const(*d);
    int64_t v = symbolic ? dim_index(*d) : *d;
    code_bool(c, &symbolic);
    code_i64(c, &v);
    *d = symbolic ? INT64_MIN + v : v;
}

static void code_dims(struct codec *c, struct dim_table *t)
{
    code_int(c, &t->nsymbols);
    code_int(c, &t->nnodes);
    if (!c->writing) {
        t->symbols = ARENA_ARRAY(c->arena, struct dim_symbol, t->nsymbols + 1);
        t->nodes = ARENA_ARRAY(c->arena, struct dim_node, t->nnodes + 1);
    }
    for (int i = 0; i < t->nsymbols; i++) {
        code_text(c, &t->symbols[i].name);
        code_bool(c, &t->symbols[i].runtime);
        code_i64(c, &t->symbols[i].max);
        code_i64(c, &t->symbols[i].size);
    }
    for (int i = 0; i < t->nnodes; i++) {
        code_u8(c, &t->nodes[i].op);
        code_bool(c, &t->nodes[i].runtime);
        code_dim(c, &t->nodes[i].a);
        code_dim(c, &t->nodes[i].b);
    }
}

static void code_type(struct codec *c, struct type *t)
{
    int rank = t->rank;
    code_u8(c, &t->kind);
    code_u8(c, &t->dtype);
    code_int(c, &rank);
    t->rank = (int8_t)rank;
    for (int i = 0; i < rank; i++)
        code_dim(c, &t->dims[i]);
}

static void code_constant(struct codec *c, struct slot *s, uint64_t at, const void *constants)
{
    if (s->type.dtype == DT_STR) {
        code_tensor(c, &s->data);
        return;
    }
    code_u64(c, &at);
    if (!c->writing) {
        int64_t dims[MAX_RANK];
        for (int i = 0; i < s->type.rank; i++)
            dims[i] = s->type.dims[i];
        s->data = tensor_view(s->type.dtype, s->type.rank, dims, (char *)constants + at);
    }
}

static void code_slot(struct codec *c, struct slot *s, const uint64_t *at, const void *constants)
{
    const char *name = s->kind == SLOT_INPUT || s->is_output ? s->name : NULL;
    code_u8(c, &s->kind);
    code_type(c, &s->type);
    code_text(c, &name);
    s->name = c->writing ? s->name : name;
    code_bool(c, &s->is_output);
    code_i32(c, &s->base);
    code_dim(c, &s->offset);
    if (s->kind == SLOT_CONST)
        code_constant(c, s, at ? *at : 0, constants);
}

static void code_guards(struct codec *c, struct program *p)
{
    code_int(c, &p->nguards);
    if (!c->writing)
        p->guards = ARENA_ARRAY(c->arena, struct guard, p->nguards + 1);
    for (int i = 0; i < p->nguards; i++) {
        struct guard *g = &p->guards[i];
        int dimension = g->dimension;
        code_u8(c, &g->kind);
        code_int(c, &dimension);
        g->dimension = (int8_t)dimension;
        code_i32(c, &g->region);
        code_dim(c, &g->a);
        code_dim(c, &g->b);
        code_text(c, &g->node);
        code_text(c, &g->what);
    }
}

static void code_streams(struct codec *c, struct program *p)
{
    struct bytes streams[ENGINE_COUNT] = {{0}};
    bool ok = !c->writing || streams_encode(p, c->arena, streams, c->d);
    for (int e = 0; e < ENGINE_COUNT; e++) {
        const void *data = streams[e].data;
        code_blob(c, &data, &streams[e].size);
        streams[e].data = data;
    }
    if (!ok || (!c->writing && !c->failed && !streams_decode(p, streams, c->d)))
        c->failed = true;
}

void code_whole_program(struct codec *c, struct program *p, uint64_t *at, const void *constants)
{
    code_text(c, &p->name);
    code_text(c, &p->target);
    code_dims(c, &p->dims);
    code_int(c, &p->nslots);
    code_int(c, &p->nnodes);
    if (!c->writing) {
        p->slots = ARENA_ARRAY(c->arena, struct slot, p->nslots + 1);
        p->nodes = ARENA_ARRAY(c->arena, struct program_node, p->nnodes + 1);
    }
    for (int i = 0; i < p->nslots; i++)
        code_slot(c, &p->slots[i], at ? &at[i] : NULL, constants);
    for (int i = 0; i < p->nnodes && !c->writing; i++)
        p->nodes[i] = (struct program_node){"", ""};
    code_guards(c, p);
    code_streams(c, p);
    if (c->failed || p->nregions == 0)
        return;
    const struct program_region *r = &p->regions[0];
    if (!c->writing)
        p->output_names = ARENA_ARRAY(c->arena, const char *, r->nresults + 1);
    for (int i = 0; i < r->nresults; i++)
        code_text(c, &p->output_names[i]);
}

uint64_t *program_constants(const struct program *p, struct arena *a, uint64_t *size)
{
    uint64_t *at = ARENA_ARRAY(a, uint64_t, p->nslots + 1);
    *size = 0;
    for (int i = 0; i < p->nslots; i++) {
        const struct slot *s = &p->slots[i];
        if (s->kind != SLOT_CONST || s->type.dtype == DT_STR)
            continue;
        at[i] = *size;
        *size += (tensor_bytes(&s->data) + CONSTANT_ALIGN - 1) / CONSTANT_ALIGN * CONSTANT_ALIGN;
    }
    return at;
}
