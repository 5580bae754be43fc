/*
 * xdump's views for people: summary, header, info, plan.
 */
#include "neff/tools/xdump.h"

#include "neff/isa/asm.h"

#include <inttypes.h>
#include <string.h>

static const char *bytes_text(struct arena *a, double n)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int u = 0;
    for (; n >= 1024 && u < 4; u++)
        n /= 1024;
    return arena_printf(a, u ? "%.1f %s" : "%.0f %s", n, units[u]);
}

static const char *flops_text(struct arena *a, double n)
{
    static const char *const units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};
    int u = 0;
    for (; n >= 1000 && u < 4; u++)
        n /= 1000;
    return arena_printf(a, "%.4g %s", n, units[u]);
}

static double known(const int64_t *values, dim_t d)
{
    int64_t v = dim_value(values, d);
    return v == DIM_NOT_BOUND || v < 0 ? 0 : (double)v;
}

/* Of each kernel, whether it is launched where bf16 is no faster than FP32: one of several ways to a result is. */
static const bool *launched_kernels(const struct dump *u)
{
    const struct program *p = u->p;
    bool *launched = ARENA_ARRAY(&u->p->arena, bool, p->nkernels + 1);
    for (int r = 0; r < p->nregions; r++)
        for (int i = 0; i < p->regions[r].nsteps; i++) {
            const struct step *s = &p->regions[r].steps[i];
            if (s->kind == STEP_LAUNCH && step_is_for(s, BF16_RATE))
                launched[s->index] = true;
        }
    return launched;
}

struct dump_totals dump_count(const struct dump *u)
{
    const struct program *p = u->p;
    struct dump_totals t = {0};
    for (int i = 0; i < p->nslots; i++)
        if (p->slots[i].kind == SLOT_CONST && u->sizes[i] >= 0)
            t.weights += u->sizes[i], t.nweights++;
    const bool *launched = launched_kernels(u);
    for (int i = 0; i < p->nkernels; i++) {
        const struct kernel *k = &p->kernels[i];
        if (launched[i]) {
            t.kernel_flops += known(u->values, k->flops);
            t.kernel_bytes += known(u->values, k->bytes);
        }
        for (int j = 0; j < k->ninsns; j++)
            t.insns[k->insns[j].op]++;
    }
    for (int i = 0; i < p->ncalls; i++) {
        t.calls[p->calls[i].op]++;
        t.call_flops += call_flops(p, &p->calls[i], u->values);
        t.call_bytes += call_bytes(p, &p->calls[i], u->values);
    }
    return t;
}

static void print_symbols(const struct dump *u)
{
    const struct dim_table *t = &u->p->dims;
    if (!t->nsymbols)
        return;
    printf("symbols     ");
    for (int i = 0; i < t->nsymbols; i++) {
        int64_t v = t->symbols[i].size ? t->symbols[i].size : 1;
        for (int k = 0; k < u->nbindings; k++)
            if (!strcmp(u->bindings[k].name, t->symbols[i].name))
                v = u->bindings[k].value;
        if (t->symbols[i].runtime)
            printf("%s%s (while running)", i ? ", " : "", t->symbols[i].name);
        else
            printf("%s%s=%" PRId64, i ? ", " : "", t->symbols[i].name, v);
    }
    printf("\n");
}

static void print_io(struct dump *u, const char *word, bool outputs)
{
    const struct program_region *r = &u->p->regions[0];
    for (int i = 0; i < (outputs ? r->nresults : r->nparams); i++) {
        int s = outputs ? r->results[i] : r->params[i];
        printf("%-11s %s %s\n", word, outputs ? u->p->output_names[i] : u->p->slots[s].name,
               type_text(&u->p->dims, &u->scratch, &u->p->slots[s].type));
        word = "";
    }
}

/* "12 tensor_tensor, 3 activation" by falling count. */
static const char *counts_text(struct arena *a, const int *counts, int n, const char *(*name)(int))
{
    const char *text = "";
    bool *done = ARENA_ARRAY(a, bool, n);
    for (;;) {
        int best = -1;
        for (int i = 0; i < n; i++)
            if (counts[i] && !done[i] && (best < 0 || counts[i] > counts[best]))
                best = i;
        if (best < 0)
            return text;
        done[best] = true;
        text = arena_printf(a, "%s%s%d %s", text, *text ? ", " : "", counts[best], name(best));
    }
}

static const char *insn_name(int i)
{
    return insn_info((enum opcode)i)->name;
}
static const char *call_name(int i)
{
    return op_name((enum op)i);
}

/* By the cost model, every engine on its own: what the busiest one needs is a lower bound. */
static void print_busy(const struct dump *u)
{
    double busy[ENGINE_COUNT] = {0};
    const struct machine *m = machine_find(u->p->target ? u->p->target : "cpu");
    const bool *launched = launched_kernels(u);
    for (int i = 0; m && i < u->p->nkernels; i++)
        if (launched[i])
            kernel_busy_ns(m, &u->p->kernels[i], u->values, busy);
    printf("engines     estimated busy in kernels:");
    for (int e = 0; e < ENGINE_COUNT; e++)
        printf("%s %s %.3g us", e ? "," : "", engine_names[e], busy[e] / 1000);
    printf("\n");
}

/* Percent. */
static double share(double part, double rest)
{
    return part + rest > 0 ? 100 * part / (part + rest) : 0;
}

void dump_summary(struct dump *u)
{
    const struct program *p = u->p;
    struct dump_totals t = dump_count(u);
    struct arena *a = &u->scratch;
    printf("%s: '%s' for %s, %s\n", u->path, p->name ? p->name : "", p->target,
           bytes_text(a, (double)u->file->size));
    print_io(u, "inputs", false);
    print_io(u, "outputs", true);
    print_symbols(u);
    printf("weights     %s in %" PRId64 " constants\n", bytes_text(a, (double)t.weights),
           t.nweights);
    printf("arena       %s, least possible %s\n", bytes_text(a, (double)u->plan.size),
           bytes_text(a, (double)u->plan.lower_bound));
    t.insns[INSN_loop] = t.insns[INSN_end] = 0;
    printf("kernels     %d: %s\n", p->nkernels, counts_text(a, t.insns, INSN_COUNT, insn_name));
    printf("calls       %d%s%s\n", p->ncalls, p->ncalls ? ": " : "",
           counts_text(a, t.calls, OP_COUNT, call_name));
    for (int i = 0; i < p->nlibraries; i++) {
        const struct program_library *l = &p->libraries[i];
        printf("%s %s for %s, %s, sha256 %s\n", i ? "           " : "code       ", l->name,
               l->architecture, l->data ? bytes_text(a, (double)l->size) : "not in the archive",
               l->hash);
    }
    printf("arithmetic  %s in kernels (%.1f%%), %s in calls\n", flops_text(a, t.kernel_flops),
           share(t.kernel_flops, t.call_flops), flops_text(a, t.call_flops));
    printf("movement    %s in kernels (%.1f%%), %s in calls\n", bytes_text(a, t.kernel_bytes),
           share(t.kernel_bytes, t.call_bytes), bytes_text(a, t.call_bytes));
    if (p->nkernels)
        print_busy(u);
    for (int i = 0; i < p->nguards; i++) {
        const struct guard *g = &p->guards[i];
        printf("%s  %-24s %s%s%s%s\n", i ? "" : "guards: sizes that the program needs\n",
               guard_text(&p->dims, a, g), g->node, *g->what ? " (" : "", g->what,
               *g->what ? ")" : "");
    }
}

static void print_hex(const char *name, const uint8_t *b, int n)
{
    printf("%-22s ", name);
    for (int i = 0; i < n; i++)
        printf("%02x", b[i]);
    printf("\n");
}

void dump_header(const struct dump *u)
{
    const struct neff_header *h = &u->file->header;
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"header_size", h->header_size},
                   {"data_size", h->data_size},
                   {"neff_version_major", h->version_major},
                   {"neff_version_minor", h->version_minor},
                   {"num_tpb", h->num_tpb},
                   {"requested_tpb_count", h->requested_tpb},
                   {"lnc_size", h->lnc_size}};
    printf("%-22s %#" PRIx64 "\n", "pkg_version", h->pkg_version);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        printf("%-22s %" PRIu64 "\n", numbers[i].name, numbers[i].value);
    printf("%-22s %#" PRIx64 "\n", "feature_bits", h->feature_bits);
    printf("%-22s %.*s\n", "neff_build_version", (int)sizeof h->build, h->build);
    printf("%-22s %.*s\n", "name", (int)sizeof h->name, h->name);
    print_hex("hash", h->hash, sizeof h->hash);
    print_hex("uuid", h->uuid, sizeof h->uuid);
    struct diag d = {0};
    printf("%-22s %s\n", "hash check",
           neff_check_hash(u->file, &d) ? "matches the contents" : d.text);
    for (int i = 0; i < u->file->nmembers; i++)
        printf("%s%-22s %zu bytes\n", i ? "" : "members\n", u->file->members[i].name,
               u->file->members[i].size);
}

void dump_info(const struct dump *u)
{
    const struct neff_member *m = neff_find(u->file, "info.json");
    fwrite(m->data, 1, m->size, stdout);
    if (!m->size || m->data[m->size - 1] != '\n')
        putchar('\n');
}

static void print_optional(int64_t v, bool has)
{
    if (has)
        printf(" %12" PRId64, v);
    else
        printf(" %12s", "-");
}

void dump_plan(struct dump *u)
{
    const struct program *p = u->p;
    int planned = 0;
    for (int i = 0; i < p->nslots; i++)
        planned += u->plan.offsets[i] >= 0;
    print_symbols(u);
    printf("arena %" PRId64 " bytes for %d slots; at least %" PRId64
           " are live at one step (%.1f%% of the arena)\n",
           u->plan.size, planned, u->plan.lower_bound,
           u->plan.size ? 100.0 * (double)u->plan.lower_bound / (double)u->plan.size : 100.0);
    printf("%6s %-8s %12s %12s %6s %6s  %s\n", "slot", "kind", "bytes", "offset", "first", "last",
           "type, name");
    for (int i = 0; i < p->nslots; i++) {
        const struct slot *s = &p->slots[i];
        printf("%6d %-8s", i, s->is_output ? "output" : slot_kind_names[s->kind]);
        print_optional(u->sizes[i], u->sizes[i] >= 0);
        print_optional(u->plan.offsets[i], u->plan.offsets[i] >= 0);
        if (u->life[i].last >= 0)
            printf(" %6d %6d", u->life[i].first, u->life[i].last);
        else
            printf(" %6s %6s", "-", "-");
        printf("  %s", type_text(&p->dims, &u->scratch, &s->type));
        if (s->kind == SLOT_VIEW)
            printf(" of %d", s->base);
        printf("%s%s\n", s->name ? " " : "", s->name ? s->name : "");
    }
}
