/* A module as canonical text. */
#include "test/print/hlo_print.h"

#include <inttypes.h>
#include <string.h>

static bool hidden(enum hlo_attr_id id, int what)
{
    if (id == HLO_ATTR_metadata)
        return !(what & HLO_PRINT_METADATA);
    if (id == HLO_ATTR_statistics || id == HLO_ATTR_origin || id == HLO_ATTR_sparsity_config ||
        id == HLO_ATTR_mode)
        return !(what & HLO_PRINT_HINTS);
    return false;
}

static void print_instruction(FILE *f, const struct hlo_instruction *i, int what)
{
    fprintf(f, "  %s%%%s = ", i == i->parent->root ? "ROOT " : "", i->name);
    hlo_print_shape(f, i->shape, true);
    fprintf(f, " %s(", hlo_op_name(i->opcode));
    if (i->opcode == HLO_OP_PARAMETER)
        fprintf(f, "%" PRId64, i->parameter);
    else if (i->opcode == HLO_OP_CONSTANT)
        hlo_print_literal(f, i->literal);
    for (int k = 0; k < i->operand_count; k++)
        fprintf(f, "%s%%%s", k ? ", " : "", i->operands[k]->name);
    fputc(')', f);
    for (int k = 0; k < i->attr_count; k++)
        if (!hidden(i->attrs[k].id, what))
            hlo_print_attr(f, &i->attrs[k]);
    fputc('\n', f);
}

static void print_computation(FILE *f, const struct hlo_module *m, const struct hlo_computation *c,
                              int what)
{
    fprintf(f, "%s%%%s (", c == m->entry ? "ENTRY " : "", c->name);
    for (int k = 0; k < c->parameter_count; k++) {
        fprintf(f, "%s%s: ", k ? ", " : "", c->parameters[k]->name);
        hlo_print_shape(f, c->parameters[k]->shape, false);
    }
    fputs(") -> ", f);
    hlo_print_shape(f, c->root->shape, false);
    fputs(" {\n", f);
    for (int k = 0; k < c->count; k++)
        print_instruction(f, c->instructions[k], what);
    fputc('}', f);
    if (c->execution_thread) {
        fputs(", execution_thread=", f);
        hlo_print_quoted(f, c->execution_thread, strlen(c->execution_thread));
    }
    fputc('\n', f);
}

static void print_bools(FILE *f, const char *name, const struct hlo_ints *v)
{
    if (!v->count)
        return;
    fprintf(f, ", %s={", name);
    for (int k = 0; k < v->count; k++)
        fprintf(f, "%s%s", k ? "," : "", v->v[k] ? "true" : "false");
    fputc('}', f);
}

static void print_donors(FILE *f, const struct hlo_aliases *a)
{
    fputs(", buffer_donor={ ", f);
    for (int k = 0; k < a->count; k++) {
        fprintf(f, "%s(%" PRId64 ", ", k ? ", " : "", a->v[k].parameter);
        hlo_print_ints(f, a->v[k].index, '{', '}');
        fputc(')', f);
    }
    fputs(" }", f);
}

static void print_header(FILE *f, const struct hlo_module *m, int what)
{
    fprintf(f, "HloModule %s", m->name);
    if (m->is_scheduled && (what & HLO_PRINT_HINTS))
        fputs(", is_scheduled=true", f);
    if (m->aliases.count) {
        fputs(", input_output_alias=", f);
        hlo_print_aliases(f, &m->aliases, true);
    }
    if (m->donors.count)
        print_donors(f, &m->donors);
    if (m->entry_result && (what & HLO_PRINT_HINTS)) {
        fputs(", entry_computation_layout={(", f);
        for (int k = 0; k < m->entry_parameters.count; k++) {
            fputs(k ? ", " : "", f);
            hlo_print_shape(f, m->entry_parameters.v[k], true);
        }
        fputs(")->", f);
        hlo_print_shape(f, m->entry_result, true);
        fputc('}', f);
    }
    if (m->frontend_attributes.count) {
        fputs(", frontend_attributes=", f);
        hlo_print_pairs(f, &m->frontend_attributes);
    }
    if (what & HLO_PRINT_HINTS) {
        if (m->passes_aliases)
            fputs(", alias_passthrough_params=true", f);
        if (m->replica_count)
            fprintf(f, ", replica_count=%" PRId64, m->replica_count);
        if (m->num_partitions)
            fprintf(f, ", num_partitions=%" PRId64, m->num_partitions);
        print_bools(f, "allow_spmd_sharding_propagation_to_parameters",
                    &m->propagate_to_parameters);
        print_bools(f, "allow_spmd_sharding_propagation_to_output", &m->propagate_to_output);
        if (m->recovery_table.data)
            fprintf(f, ", origin_recovery_table=%s", m->recovery_table.data);
        if (m->debug_attributes.data)
            fprintf(f, ", debug_attributes=%s", m->debug_attributes.data);
    }
    fputc('\n', f);
}

static void print_stack(FILE *f, const struct hlo_stack_frames *s)
{
    if (!s->file_count && !s->function_count && !s->location_count && !s->frame_count)
        return;
    fputs("\nFileNames\n", f);
    for (int k = 0; k < s->file_count; k++) {
        fprintf(f, "%d ", k + 1);
        hlo_print_quoted(f, s->files[k], strlen(s->files[k]));
        fputc('\n', f);
    }
    fputs("\nFunctionNames\n", f);
    for (int k = 0; k < s->function_count; k++) {
        fprintf(f, "%d ", k + 1);
        hlo_print_quoted(f, s->functions[k], strlen(s->functions[k]));
        fputc('\n', f);
    }
    fputs("\nFileLocations\n", f);
    for (int k = 0; k < s->location_count; k++) {
        const struct hlo_location *l = &s->locations[k];
        fprintf(f,
                "%d {file_name_id=%" PRId64 " function_name_id=%" PRId64 " line=%" PRId64
                " end_line=%" PRId64 " column=%" PRId64 " end_column=%" PRId64 "}\n",
                k + 1, l->file, l->function, l->line, l->end_line, l->column, l->end_column);
    }
    fputs("\nStackFrames\n", f);
    for (int k = 0; k < s->frame_count; k++)
        fprintf(f, "%d {file_location_id=%" PRId64 " parent_frame_id=%" PRId64 "}\n", k + 1,
                s->frames[k].location, s->frames[k].parent + 1);
}

void hlo_print(FILE *f, const struct hlo_module *m, int what)
{
    print_header(f, m, what);
    if (what & HLO_PRINT_METADATA)
        print_stack(f, &m->stack);
    for (int k = 0; k < m->count; k++) {
        fputc('\n', f);
        print_computation(f, m, m->computations[k], what);
    }
}
