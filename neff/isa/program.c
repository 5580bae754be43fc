#include "neff/isa/program.h"

#include <stdlib.h>
#include <string.h>

struct program *program_new(void)
{
    struct program *p = calloc(1, sizeof *p);
    if (p)
        dim_table_init(&p->dims, &p->arena);
    return p;
}

void program_free(struct program *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->nslots; i++)
        if (p->slots[i].maker)
            tensor_free(&p->slots[i].data);
    if (p->release)
        p->release(p->release_arg);
    arena_free(&p->arena);
    free(p);
}

bool constant_make(const struct slot *s, struct tensor *out, struct diag *d)
{
    const struct tensor *t = &s->data;
    if (!tensor_alloc_dirty(out, t->dtype, t->rank, t->dims, d))
        return false;
    size_t piece = tensor_bytes(out) / (size_t)s->maker->pieces;
    for (int64_t i = 0; i < s->maker->pieces; i++)
        if (!s->maker->make(s->maker, i, (char *)out->data + (size_t)i * piece))
            return fail_memory(d, "out of memory: a constant of %zu bytes", tensor_bytes(out));
    return true;
}

bool program_make_constants(struct program *p, struct diag *d)
{
    for (int i = 0; i < p->nslots; i++) {
        struct tensor made = {.kind = VK_NONE};
        struct slot *s = &p->slots[i];
        if (!s->maker || s->data.data)
            continue;
        if (p->released)
            return fail(d, "the program has been written: its constants cannot be made again");
        if (!constant_make(s, &made, d)) {
            tensor_free(&made);
            return false;
        }
        s->data = made;
    }
    return true;
}

int program_add_slot(struct program *p, struct slot s)
{
    ARENA_GROW(&p->arena, p->slots, p->nslots, p->slots_cap);
    p->slots[p->nslots] = s;
    return p->nslots++;
}

int program_add_region(struct program *p)
{
    ARENA_GROW(&p->arena, p->regions, p->nregions, p->regions_cap);
    p->regions[p->nregions] = (struct program_region){0};
    return p->nregions++;
}

static int32_t *slot_list(struct arena *a, int n, const int *slots)
{
    int32_t *list = ARENA_ARRAY(a, int32_t, n + 1);
    for (int i = 0; i < n; i++)
        list[i] = slots[i];
    return list;
}

void program_set_io(struct program *p, int ninputs, const int *inputs, int noutputs,
                    const int *outputs)
{
    struct program_region *r = &p->regions[0];
    r->nparams = ninputs, r->nresults = noutputs;
    r->params = slot_list(&p->arena, ninputs, inputs);
    r->results = slot_list(&p->arena, noutputs, outputs);
    p->output_names = ARENA_ARRAY(&p->arena, const char *, noutputs + 1);
    for (int i = 0; i < noutputs; i++) {
        p->slots[outputs[i]].is_output = true;
        p->output_names[i] = p->slots[outputs[i]].name;
    }
}

void program_add_step(struct program *p, int region, enum step_kind kind, int index)
{
    struct program_region *r = &p->regions[region];
    ARENA_GROW(&p->arena, r->steps, r->nsteps, r->steps_cap);
    r->steps[r->nsteps++] = (struct step){.kind = (uint8_t)kind, .index = index};
}

void program_add_guard(struct program *p, const struct guard *g)
{
    ARENA_GROW(&p->arena, p->guards, p->nguards, p->guards_cap);
    p->guards[p->nguards] = *g;
    p->guards[p->nguards].node = arena_strdup(&p->arena, g->node ? g->node : "");
    p->guards[p->nguards++].what = arena_strdup(&p->arena, g->what ? g->what : "");
}

int program_add_state(struct program *p, struct program_state s)
{
    ARENA_GROW(&p->arena, p->states, p->nstates, p->states_cap);
    p->states[p->nstates] = s;
    return p->nstates++;
}

const struct program_state *state_of_slot(const struct program *p, int slot, int *end)
{
    for (int i = 0; i < p->nstates; i++)
        if (p->states[i].input == slot || p->states[i].output == slot) {
            *end = p->states[i].output == slot;
            return &p->states[i];
        }
    return NULL;
}

int program_add_node(struct program *p, const char *name, const char *source)
{
    ARENA_GROW(&p->arena, p->nodes, p->nnodes, p->nodes_cap);
    p->nodes[p->nnodes] = (struct program_node){arena_strdup(&p->arena, name ? name : ""),
                                                arena_strdup(&p->arena, source ? source : "")};
    return p->nnodes++;
}

struct insn *kernel_add(struct program *p, struct kernel *k, enum opcode op)
{
    ARENA_GROW(&p->arena, k->insns, k->ninsns, k->insns_cap);
    struct insn *i = &k->insns[k->ninsns++];
    const struct insn_info *info = insn_info(op);
    *i = (struct insn){.op = (uint8_t)op, .engine = info->engine, .node = -1};
    i->ap = ARENA_ARRAY(&p->arena, struct ap, info->naps);
    i->imm = ARENA_ARRAY(&p->arena, struct affine, info->nimms);
    i->signal[0] = i->signal[1] = -1;
    return i;
}

void kernel_remove(struct kernel *k, int insn)
{
    k->ninsns--;
    memmove(&k->insns[insn], &k->insns[insn + 1], sizeof *k->insns * (size_t)(k->ninsns - insn));
}
