/* Modules from protos: wrappers, computations, instructions. */
#include "frontend/hlo/syntax/proto.h"
#include "frontend/hlo/syntax/check.h"
#include "frontend/wire.h"

#include "hlo.pb-c.h"

#include <string.h>

/* ---- instructions ---- */

static bool find_opcode(struct proto_reader *r, const char *name, enum hlo_opcode *op,
                        int64_t *direction)
{
    static const struct {
        const char *name;
        int64_t direction;
    } old[] = {
        {"equal-to", HLO_DIRECTION_EQ},     {"not-equal-to", HLO_DIRECTION_NE},
        {"greater-than", HLO_DIRECTION_GT}, {"greater-than-or-equal-to", HLO_DIRECTION_GE},
        {"less-than", HLO_DIRECTION_LT},    {"less-than-or-equal-to", HLO_DIRECTION_LE},
    };
    *direction = -1;
    *op = name ? hlo_op_find(name, strlen(name)) : HLO_OP_INVALID;
    for (int k = 0; name && k < 6; k++)
        if (!strcmp(old[k].name, name)) {
            *op = HLO_OP_COMPARE;
            *direction = old[k].direction;
        }
    return *op || fail(r->d, "unknown opcode '%.100s'", name ? name : "");
}

static bool read_value(struct proto_reader *r, const Hlopb__HloInstructionProto *p,
                       struct hlo_instruction *i)
{
    if (i->opcode == HLO_OP_PARAMETER)
        i->parameter = p->parameter_number;
    if (i->opcode != HLO_OP_CONSTANT)
        return true;
    if (p->literal) {
        if (!proto_literal(r->arena, p->literal, &i->literal, r->d))
            return false;
        return hlo_shape_compatible(i->literal->shape, i->shape) ||
               fail(r->d, "constant of shape %s has a literal of shape %s",
                    hlo_shape_text(&r->scratch, i->shape),
                    hlo_shape_text(&r->scratch, i->literal->shape));
    }
    struct hlo_literal *l = ARENA_NEW(r->arena, struct hlo_literal);
    int64_t n;
    if (i->shape->type == HLO_TUPLE || !hlo_is_array(i->shape))
        return fail(r->d, "constant of shape %s without a literal",
                    hlo_shape_text(&r->scratch, i->shape));
    l->shape = i->shape;
    l->elided = !hlo_shape_count(i->shape, &n) || n;
    i->literal = l;
    return true;
}

static bool fill_instruction(struct proto_reader *r, const Hlopb__HloInstructionProto *p,
                             struct hlo_instruction *i)
{
    int64_t direction;
    if (!find_opcode(r, p->opcode, &i->opcode, &direction) ||
        !proto_shape(r->arena, p->shape, &i->shape, r->d))
        return false;
    i->operand_count = (int)p->n_operand_ids;
    i->operands = ARENA_ARRAY(r->arena, struct hlo_instruction *, p->n_operand_ids);
    for (size_t k = 0; k < p->n_operand_ids; k++)
        if (!(i->operands[k] = id_map_find(&r->instructions, p->operand_ids[k])))
            return fail(r->d, "operand id %lld is not defined before",
                        (long long)p->operand_ids[k]);
    if (!read_value(r, p, i) || !proto_attrs(r, p, i))
        return false;
    if (direction >= 0) {
        struct hlo_attr *with = ARENA_ARRAY(r->arena, struct hlo_attr, i->attr_count + 1);
        int kept = 0;
        for (int k = 0; k < i->attr_count; k++)
            if (i->attrs[k].id != HLO_ATTR_direction)
                with[kept++] = i->attrs[k];
        with[kept++] = (struct hlo_attr){.id = HLO_ATTR_direction, .i = direction};
        i->attrs = with;
        i->attr_count = kept;
    }
    hlo_normalise(r->arena, i);
    return hlo_check_instruction(r->arena, i, r->d);
}

static const char *unique_name(struct proto_reader *r, uint32_t scope, const char *name,
                               void *value)
{
    int counter = 0;
    const char *n = hlo_name_clean(&r->names, name ? name : "");
    if (!hlo_name_add(&r->names, scope, n, value)) {
        n = hlo_name_fresh(&r->names, scope, n, &counter);
        hlo_name_add(&r->names, scope, n, value);
    }
    return n;
}

static bool read_instruction(struct proto_reader *r, const Hlopb__HloInstructionProto *p,
                             struct hlo_computation *c)
{
    struct hlo_instruction *i = ARENA_NEW(r->arena, struct hlo_instruction);
    i->name = unique_name(r, (uint32_t)r->module->count + 1, p->name, i);
    i->parent = c;
    bool ok = fill_instruction(r, p, i);
    if (ok && !id_map_add(&r->instructions, p->id, i))
        ok = fail(r->d, "instruction id %lld is used twice", (long long)p->id);
    if (ok) {
        hlo_append(r->arena, c, i);
        return true;
    }
    fail_in(r->d, "instruction '%s' (%.60s)", i->name, p->opcode ? p->opcode : "");
    if (p->metadata && p->metadata->source_file && *p->metadata->source_file)
        fail_in(r->d, "%.200s:%d", p->metadata->source_file, p->metadata->source_line);
    return false;
}

/* ---- computations ---- */

static bool read_computation(struct proto_reader *r, const Hlopb__HloComputationProto *p)
{
    struct hlo_computation *c = ARENA_NEW(r->arena, struct hlo_computation);
    c->name = unique_name(r, 0, p->name, c);
    if (!p->n_instructions)
        return fail(r->d, "computation '%s' has no instructions", c->name);
    id_map_init(&r->instructions, &r->scratch, p->n_instructions);
    for (size_t k = 0; k < p->n_instructions; k++)
        if (!read_instruction(r, p->instructions[k], c))
            return fail_in(r->d, "computation '%s'", c->name);
    c->root = id_map_find(&r->instructions, p->root_id);
    if (!c->root)
        return fail(r->d, "computation '%s': root id %lld is not one of its instructions", c->name,
                    (long long)p->root_id);
    if (p->execution_thread && *p->execution_thread && strcmp(p->execution_thread, "main"))
        c->execution_thread =
            hlo_intern(&r->names, p->execution_thread, strlen(p->execution_thread));
    if (!hlo_check_computation(r->arena, c, r->d))
        return fail_in(r->d, "computation '%s'", c->name);
    hlo_append_computation(r->arena, r->module, c);
    return id_map_add(&r->computations, p->id, c) ||
           fail(r->d, "computation id %lld is used twice", (long long)p->id);
}

/* ---- modules ---- */

static bool read_layout(struct proto_reader *r, const Hlopb__ProgramShapeProto *p)
{
    struct hlo_module *m = r->module;
    m->entry_parameters.count = (int)p->n_parameters;
    m->entry_parameters.v = ARENA_ARRAY(r->arena, const struct hlo_shape *, p->n_parameters);
    for (size_t k = 0; k < p->n_parameters; k++)
        if (!proto_shape(r->arena, p->parameters[k], &m->entry_parameters.v[k], r->d))
            return fail_in(r->d, "host_program_shape");
    return proto_shape(r->arena, p->result, &m->entry_result, r->d) ||
           fail_in(r->d, "host_program_shape");
}

static void read_aliases(struct proto_reader *r, const Hlopb__HloModuleProto *p)
{
    struct hlo_module *m = r->module;
    const Hlopb__HloInputOutputAliasProto *a = p->input_output_alias;
    m->aliases.count = a ? (int)a->n_entries : 0;
    m->aliases.v = ARENA_ARRAY(r->arena, struct hlo_alias, m->aliases.count);
    for (int k = 0; k < m->aliases.count; k++) {
        const Hlopb__HloInputOutputAliasProto__AliasEntryProto *e = a->entries[k];
        m->aliases.v[k] = (struct hlo_alias){
            proto_ints(r->arena, e->n_output_shape_index, e->output_shape_index),
            e->parameter_number,
            proto_ints(r->arena, e->n_parameter_shape_index, e->parameter_shape_index),
            e->kind == HLOPB__HLO_INPUT_OUTPUT_ALIAS_PROTO__KIND__MUST_ALIAS};
    }
    const Hlopb__HloBufferDonorProto *b = p->buffer_donor;
    m->donors.count = b ? (int)b->n_entries : 0;
    m->donors.v = ARENA_ARRAY(r->arena, struct hlo_alias, m->donors.count);
    for (int k = 0; k < m->donors.count; k++) {
        m->donors.v[k].parameter = b->entries[k]->parameter_number;
        m->donors.v[k].index = proto_ints(r->arena, b->entries[k]->n_parameter_shape_index,
                                          b->entries[k]->parameter_shape_index);
    }
}

static const char **strings(struct proto_reader *r, size_t n, char **v)
{
    const char **out = ARENA_ARRAY(r->arena, const char *, n);
    for (size_t k = 0; k < n; k++)
        out[k] = hlo_intern(&r->names, v[k], strlen(v[k]));
    return out;
}

static void read_stack(struct proto_reader *r, const Hlopb__StackFrameIndexProto *p)
{
    struct hlo_stack_frames *s = &r->module->stack;
    s->file_count = (int)p->n_file_names;
    s->files = strings(r, p->n_file_names, p->file_names);
    s->function_count = (int)p->n_function_names;
    s->functions = strings(r, p->n_function_names, p->function_names);
    s->location_count = (int)p->n_file_locations;
    s->locations = ARENA_ARRAY(r->arena, struct hlo_location, p->n_file_locations);
    for (size_t k = 0; k < p->n_file_locations; k++) {
        const Hlopb__StackFrameIndexProto__FileLocation *l = p->file_locations[k];
        s->locations[k] = (struct hlo_location){
            l->file_name_id, l->function_name_id, l->line, l->end_line, l->column, l->end_column};
    }
    s->frame_count = (int)p->n_stack_frames;
    s->frames = ARENA_ARRAY(r->arena, struct hlo_frame, p->n_stack_frames);
    for (size_t k = 0; k < p->n_stack_frames; k++)
        s->frames[k] = (struct hlo_frame){p->stack_frames[k]->file_location_id,
                                          p->stack_frames[k]->parent_frame_id};
}

static bool read_module(struct proto_reader *r, const Hlopb__HloModuleProto *p)
{
    struct hlo_module *m = r->module;
    m->arena = r->arena;
    m->name = hlo_name_clean(&r->names, p->name ? p->name : "");
    r->payloads = p->payloads;
    r->payload_count = p->n_payloads;
    if (!p->n_computations)
        return fail(r->d, "the module has no computations");
    id_map_init(&r->computations, &r->scratch, p->n_computations);
    for (size_t k = 0; k < p->n_computations; k++)
        if (!read_computation(r, p->computations[k]))
            return false;
    m->entry = id_map_find(&r->computations, p->entry_computation_id);
    if (!m->entry && p->entry_computation_name)
        m->entry = hlo_name_find(&r->names, 0, p->entry_computation_name,
                                 strlen(p->entry_computation_name));
    if (!m->entry)
        return fail(r->d, "entry computation '%.200s' (id %lld) is not in the module",
                    p->entry_computation_name ? p->entry_computation_name : "",
                    (long long)p->entry_computation_id);
    m->is_scheduled = p->schedule != NULL;
    if (p->host_program_shape && !read_layout(r, p->host_program_shape))
        return false;
    read_aliases(r, p);
    if (p->stack_frame_index)
        read_stack(r, p->stack_frame_index);
    if (p->frontend_attributes)
        m->frontend_attributes = proto_pairs(r, p->frontend_attributes);
    return true;
}

/* ---- wrappers ---- */

struct wire_part {
    const uint8_t *p, *end;
};

/* The content of the first field of that number that has any. */
static bool first_of(struct wire_part m, uint32_t want, struct wire_part *content)
{
    struct wire w = {.p = m.p, .end = m.end, .clip = true};
    struct wire_field f;
    for (int k = 0; k < 100000 && wire_next(&w, &f); k++)
        if (f.number == want && f.size) {
            *content = (struct wire_part){f.data, f.data + f.size};
            return true;
        }
    return false;
}

/* Computations (3) of instructions (2) whose opcode (2) is a word. */
static bool looks_like_module(struct wire_part w)
{
    struct wire_part computation, instruction, opcode;
    if (!first_of(w, 3, &computation) || !first_of(computation, 2, &instruction) ||
        !first_of(instruction, 2, &opcode) || opcode.end - opcode.p > 64)
        return false;
    for (const uint8_t *p = opcode.p; p < opcode.end; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '-'))
            return false;
    return true;
}

enum wrapper { NOT_HLO, MODULE, PROTO, SNAPSHOT, UNOPTIMIZED };

static enum wrapper wrapper_of(struct wire_part w)
{
    struct wire_part one, two, inner;
    if (looks_like_module(w))
        return MODULE;
    if (!first_of(w, 1, &one))
        return NOT_HLO;
    if (looks_like_module(one))
        return first_of(w, 2, &two) ? UNOPTIMIZED : PROTO;
    return first_of(one, 1, &inner) && looks_like_module(inner) ? SNAPSHOT : NOT_HLO;
}

bool hlo_proto_detect(const uint8_t *data, size_t size)
{
    return wrapper_of((struct wire_part){data, data + size}) != NOT_HLO;
}

static void *allocate(void *arena, size_t size)
{
    return arena_alloc(arena, size);
}
static void release(void *arena, void *p)
{
    (void)arena;
    (void)p;
}

static bool read_literals(struct hlo_file *f, size_t n, Hlopb__LiteralProto **v,
                          const struct hlo_literal ***out, int *count, struct diag *d)
{
    *out = ARENA_ARRAY(&f->arena, const struct hlo_literal *, n);
    *count = (int)n;
    for (size_t k = 0; k < n; k++)
        if (!proto_literal(&f->arena, v[k], &(*out)[k], d))
            return fail_in(d, "literal %zu", k);
    return true;
}

/* The module of a decoded message, and a snapshot's values. */
static bool unwrap(struct hlo_file *f, enum wrapper kind, void *message,
                   Hlopb__HloModuleProto **module, struct diag *d)
{
    Hlopb__HloSnapshot *s = message;
    Hlopb__HloUnoptimizedSnapshot *u = message;
    f->format = kind == SNAPSHOT      ? HLO_SNAPSHOT
                : kind == UNOPTIMIZED ? HLO_UNOPTIMIZED_SNAPSHOT
                                      : HLO_PROTO;
    switch (kind) {
    case MODULE:
        *module = message;
        return true;
    case PROTO:
        *module = ((Hlopb__HloProto *)message)->hlo_module;
        break;
    case SNAPSHOT:
        *module = s->hlo ? s->hlo->hlo_module : NULL;
        if (!read_literals(f, s->n_arguments, s->arguments, &f->arguments, &f->argument_count, d))
            return fail_in(d, "arguments");
        if (s->result && !read_literals(f, 1, &s->result, &f->results, &f->result_count, d))
            return fail_in(d, "result");
        break;
    default:
        *module = u->hlo_module;
        if (u->n_partitions &&
            !read_literals(f, u->partitions[0]->n_arguments, u->partitions[0]->arguments,
                           &f->arguments, &f->argument_count, d))
            return fail_in(d, "arguments");
    }
    return *module || fail(d, "the module is missing");
}

static const ProtobufCMessageDescriptor *const descriptors[] = {
    [MODULE] = &hlopb__hlo_module_proto__descriptor,
    [PROTO] = &hlopb__hlo_proto__descriptor,
    [SNAPSHOT] = &hlopb__hlo_snapshot__descriptor,
    [UNOPTIMIZED] = &hlopb__hlo_unoptimized_snapshot__descriptor,
};

static bool read_message(struct hlo_file *f, enum wrapper kind, const uint8_t *data, size_t size,
                         struct diag *d)
{
    const ProtobufCMessageDescriptor *m = descriptors[kind];
    struct proto_reader r = {.arena = &f->arena, .d = d};
    ProtobufCAllocator allocator = {allocate, release, &r.scratch};
    Hlopb__HloModuleProto *p = NULL;
    r.names.strings = &f->arena;
    r.module = ARENA_NEW(&f->arena, struct hlo_module);
    if (!hlo_proto_check(m, data, size, d))
        return fail_in(d, "%s", m->short_name);
    void *message = protobuf_c_message_unpack(m, &allocator, size, data);
    bool ok = message ? unwrap(f, kind, message, &p, d) && read_module(&r, p)
                      : fail(d, "%s does not decode", m->short_name);
    if (ok) {
        f->count = 1;
        f->modules = ARENA_NEW(&f->arena, struct hlo_module *);
        f->modules[0] = r.module;
    }
    arena_free(&r.scratch);
    arena_free(&r.names.table);
    return ok;
}

bool hlo_proto_read(struct hlo_file *f, const char *name, const uint8_t *data, size_t size,
                    struct diag *d)
{
    struct wire_part all = {data, data + size}, graph;
    enum wrapper kind = wrapper_of(all);
    if (kind != NOT_HLO)
        return read_message(f, kind, data, size, d) || fail_in(d, "%s", name);
    if (size > 1 && data[0] == 0x08 && first_of(all, 7, &graph))
        return fail(d, "%s: this is an ONNX model, not an HLO proto", name);
    return fail(d, "%s: not an HLO proto: no computations with instructions in it", name);
}

bool hlo_proto_read_text(struct hlo_file *f, const char *name, const char *text, size_t size,
                         struct diag *d)
{
    /* The first field's name tells the wrappers apart. */
    size_t at = 0;
    while (at < size && (text[at] == '#' || (unsigned char)text[at] <= ' '))
        if (text[at++] == '#')
            while (at < size && text[at] != '\n')
                at++;
    const char *first = text + at;
    size_t left = size - at;
    enum wrapper kind = left > 10 && !memcmp(first, "hlo_module", 10) ? PROTO
                        : left > 3 && !memcmp(first, "hlo", 3)        ? SNAPSHOT
                                                                      : MODULE;
    struct arena scratch = {0};
    const uint8_t *data;
    size_t data_size;
    bool ok = hlo_proto_encode(descriptors[kind], text, size, &scratch, &data, &data_size, d) &&
              read_message(f, kind, data, data_size, d);
    arena_free(&scratch);
    return ok || fail_in(d, "%s", name);
}
