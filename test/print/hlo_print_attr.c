/* Attributes as text. */
#include "test/print/hlo_print.h"

#include <inttypes.h>
#include <string.h>

/* ---- devices ---- */

static void print_iota(FILE *f, const struct hlo_iota *i)
{
    hlo_print_ints(f, i->dims, '[', ']');
    if (i->dims.count > 1) {
        fputc('T', f);
        hlo_print_ints(f, i->perm, '(', ')');
    }
}

static void print_name(FILE *f, const char *s)
{
    fputc('\'', f);
    for (; *s; s++)
        fprintf(f,
                *s == '\'' || *s == '\\' ? "\\%c"
                : (unsigned char)*s < 32 ? "\\%03o"
                                         : "%c",
                (unsigned char)*s);
    fputc('\'', f);
}

static void print_mesh(FILE *f, const struct hlo_mesh *m)
{
    if (m->maximal) {
        fprintf(f, "maximal_mesh[device_id=%" PRId64 "]",
                m->device_ids.count ? m->device_ids.v[0] : 0);
        return;
    }
    fputs("mesh[", f);
    for (int k = 0; k < m->axis_count; k++) {
        fputs(k ? "," : "", f);
        print_name(f, m->axes[k].name);
        fprintf(f, "=%" PRId64, m->axes[k].size);
    }
    fputc(']', f);
    if (m->device_ids.count || m->iota.dims.count) {
        fputs(", device_ids=", f);
        if (m->device_ids.count) {
            hlo_print_ints(f, m->device_ids, '(', ')');
        } else {
            fputc('(', f);
            print_iota(f, &m->iota);
            fputc(')', f);
        }
    }
}

static void print_axes(FILE *f, const struct hlo_mesh *m, const struct hlo_axis_refs *a)
{
    fputc('{', f);
    for (int k = 0; k < a->count; k++) {
        fputs(k ? ", " : "", f);
        print_name(f, m->axes[a->v[k].axis].name);
        if (a->v[k].size)
            fprintf(f, ":(%" PRId64 ")%" PRId64, a->v[k].pre_size, a->v[k].size);
    }
    if (a->open)
        fputs(a->count ? ", ?" : "?", f);
    fputc('}', f);
}

static void print_lists(FILE *f, const struct hlo_lists *l)
{
    fputc('{', f);
    for (int k = 0; k < l->count; k++) {
        fputs(k ? "," : "", f);
        hlo_print_ints(f, l->v[k], '{', '}');
    }
    fputc('}', f);
}

void hlo_print_groups(FILE *f, const struct hlo_groups *g)
{
    switch (g->form) {
    case HLO_GROUPS_LIST:
        print_lists(f, &g->lists);
        break;
    case HLO_GROUPS_IOTA:
        hlo_print_ints(f, g->tile, '[', ']');
        fputs("<=", f);
        print_iota(f, &g->iota);
        break;
    case HLO_GROUPS_MESH:
        print_mesh(f, g->mesh);
        fputc(' ', f);
        print_axes(f, g->mesh, &g->axes);
        break;
    }
}

/* ---- the rest ---- */

void hlo_print_metadata(FILE *f, const struct hlo_metadata *m)
{
    const struct {
        const char *name, *text;
        int64_t number;
    } fields[] = {
        {"op_type", m->op_type, 0},
        {"op_name", m->op_name, 0},
        {"source_file", m->source_file, 0},
        {"source_line", NULL, m->source_line},
        {"source_end_line", NULL, m->source_end_line},
        {"source_column", NULL, m->source_column},
        {"source_end_column", NULL, m->source_end_column},
        {"deduplicated_name", m->deduplicated_name, 0},
        {"scheduling_name", m->scheduling_name, 0},
        {"stack_frame_id", NULL, m->stack_frame_id},
        {"size_of_generated_code_in_bytes", NULL, m->code_bytes},
        {"size_of_memory_working_set_in_bytes", NULL, m->working_set_bytes},
    };
    const char *separator = "";
    fputc('{', f);
    for (size_t k = 0; k < sizeof fields / sizeof fields[0]; k++) {
        if (!fields[k].text && !fields[k].number)
            continue;
        fprintf(f, "%s%s=", separator, fields[k].name);
        if (fields[k].text)
            hlo_print_quoted(f, fields[k].text, strlen(fields[k].text));
        else
            fprintf(f, "%" PRId64, fields[k].number);
        separator = " ";
    }
    if (m->profile_types.count) {
        fprintf(f, "%sprofile_type=", separator);
        hlo_print_ints(f, m->profile_types, '{', '}');
        separator = " ";
    }
    if (m->payload.data) {
        fprintf(f, "%smetadata_payload=", separator);
        hlo_print_text(f, &m->payload);
    }
    fputc('}', f);
}

static void print_each(FILE *f, const struct hlo_window *w, const char *name, int field)
{
    bool any = field == 0;
    for (int k = 0; k < w->rank && !any; k++) {
        const struct hlo_window_dim *d = &w->dims[k];
        const int64_t v[] = {0,
                             d->stride - 1,
                             d->pad_low | d->pad_high,
                             d->lhs_dilate - 1,
                             d->rhs_dilate - 1,
                             d->reversal};
        any = v[field] != 0;
    }
    if (!any || !w->rank)
        return;
    fprintf(f, "%s%s=", field ? " " : "", name);
    for (int k = 0; k < w->rank; k++) {
        const struct hlo_window_dim *d = &w->dims[k];
        const int64_t v[] = {d->size,       d->stride,     d->pad_low,
                             d->lhs_dilate, d->rhs_dilate, d->reversal};
        fprintf(f, "%s%" PRId64, k ? "x" : "", v[field]);
        if (field == 2)
            fprintf(f, "_%" PRId64, d->pad_high);
    }
}

static void print_window(FILE *f, const struct hlo_window *w)
{
    static const char *const names[] = {"size",       "stride",     "pad",
                                        "lhs_dilate", "rhs_dilate", "rhs_reversal"};
    fputc('{', f);
    for (int k = 0; k < 6; k++)
        print_each(f, w, names[k], k);
    fputc('}', f);
}

static void print_labels(FILE *f, const struct hlo_labels *l, const char *letters)
{
    for (int k = 0; k < l->rank; k++) {
        char c = k == l->first ? letters[0] : k == l->second ? letters[1] : '?';
        for (int j = 0; j < l->spatial_count; j++)
            if (l->spatial[j] == k)
                c = (char)('0' + j);
        fputc(c, f);
    }
}

static void print_accuracy(FILE *f, const struct hlo_accuracy *a)
{
    if (a->mode == HLO_ACCURACY_TOLERANCE)
        fprintf(f, "{tolerance={atol=%.17g,rtol=%.17g,ulps=%" PRId64 "}}", a->atol, a->rtol,
                a->ulps);
    else
        fprintf(f, "{mode=%s}", hlo_enum_name(HLO_SET_ACCURACY, a->mode));
}

static void print_enum(FILE *f, enum hlo_enum_set set, int64_t value)
{
    const char *name = hlo_enum_name(set, value);
    fputs(name ? name : "?", f);
}

static void print_typed_literal(FILE *f, const struct hlo_literal *l)
{
    hlo_print_shape(f, l->shape, true);
    fputc(' ', f);
    hlo_print_literal(f, l);
}

static void print_bools(FILE *f, const struct hlo_ints *v)
{
    fputc('{', f);
    for (int k = 0; k < v->count; k++)
        fprintf(f, "%s%s", k ? "," : "", v->v[k] ? "true" : "false");
    fputc('}', f);
}

static void print_enums(FILE *f, enum hlo_enum_set set, const struct hlo_ints *v)
{
    fputc('{', f);
    for (int k = 0; k < v->count; k++) {
        fputs(k ? "," : "", f);
        print_enum(f, set, v->v[k]);
    }
    fputc('}', f);
}

static void print_computations(FILE *f, const struct hlo_computations *v)
{
    fputc('{', f);
    for (int k = 0; k < v->count; k++)
        fprintf(f, "%s%%%s", k ? ", " : "", v->v[k]->name);
    fputc('}', f);
}

static void print_instructions(FILE *f, const struct hlo_instructions *v)
{
    fputc('{', f);
    for (int k = 0; k < v->count; k++)
        fprintf(f, "%s%%%s", k ? ", " : "", v->v[k]->name);
    fputc('}', f);
}

static void print_shapes(FILE *f, const struct hlo_shapes *v)
{
    fputc('{', f);
    for (int k = 0; k < v->count; k++) {
        fputs(k ? ", " : "", f);
        hlo_print_shape(f, v->v[k], true);
    }
    fputc('}', f);
}

static void print_dim_labels(FILE *f, const struct hlo_dim_labels *v)
{
    print_labels(f, &v->input, "bf");
    fputc('_', f);
    print_labels(f, &v->kernel, "io");
    fputs("->", f);
    print_labels(f, &v->output, "bf");
}

static void print_slices(FILE *f, const struct hlo_slices *v)
{
    fputc('{', f);
    for (int k = 0; k < v->count; k++) {
        const struct hlo_slice *s = &v->v[k];
        fprintf(f, "%s[%" PRId64 ":%" PRId64, k ? ", " : "", s->start, s->limit);
        if (s->stride != 1)
            fprintf(f, ":%" PRId64, s->stride);
        fputc(']', f);
    }
    fputc('}', f);
}

static void print_paddings(FILE *f, const struct hlo_paddings *v)
{
    for (int k = 0; k < v->count; k++) {
        const struct hlo_padding *d = &v->v[k];
        fprintf(f, "%s%" PRId64 "_%" PRId64, k ? "x" : "", d->low, d->high);
        if (d->interior)
            fprintf(f, "_%" PRId64, d->interior);
    }
}

/* ---- kinds ---- */

#define IN(member)  &a->member
#define OWN(member) a->member
#define REF(member) a->member
#define KIND(id, member, stored, type, parse, print, standard)                                     \
    static void print_##id(FILE *f, const struct hlo_attr_info *info, const struct hlo_attr *a)    \
    {                                                                                              \
        const type *v = stored(member);                                                            \
        print;                                                                                     \
    }
#include "frontend/hlo/syntax/hlo_kinds.def"

static void (*const printers[HLO_KIND_COUNT])(FILE *f, const struct hlo_attr_info *info,
                                              const struct hlo_attr *a) = {
#define KIND(id, ...) [HLO_KIND_##id] = print_##id,
#include "frontend/hlo/syntax/hlo_kinds.def"
};

void hlo_print_attr(FILE *f, const struct hlo_attr *a)
{
    const struct hlo_attr_info *info = hlo_attr_info(a->id);
    fprintf(f, ", %s=", info->name);
    if (printers[info->kind])
        printers[info->kind](f, info, a);
}
