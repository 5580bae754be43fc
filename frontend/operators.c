/*
 * What is supported, as a table in Markdown, made from the tables of schemas, lowerings, core
 * operators and tile programs. frontend/onnx/OPERATORS.md is this text; a test compares them.
 */
#include "frontend/driver.h"
#include "frontend/onnx/importer.h"
#include "neff/core/signature.h"
#include "neff/isa/machine.h"
#include "runtime/ops/common/elementwise.h"

#include <stdio.h>
#include <string.h>

/* What runs the operator on machines whose engines address memory (cpu), or on the strict ones. */
static const char *engines(enum op op, bool strict)
{
    enum { NONE, ALL, DIRECT };
    static const char tiles[OP_COUNT] = {
#define LOWER(op, function, machines) [OP_##op] = machines,
#include "backend/lower/lower.def"
    };
    if (op_infos[op].flags & (OPF_REGIONS | OPF_TERMINATOR))
        return "control";
    int computed =
        OPF_ENGINE_FLOAT | (strict ? 0 : OPF_ENGINE_INTEGER); /* strict targets: floats */
    if (tiles[op] == ALL || (tiles[op] == DIRECT && !strict) || (op_infos[op].flags & computed))
        return "tiles";
    return "GpSimd";
}

/* A signature, with commas between the operands. */
static void print_types(const char *signature)
{
    if (!*signature)
        printf("-");
    for (; *signature; signature++)
        if (*signature == '|')
            printf(" or ");
        else
            printf(*signature == ' ' ? ", " : "%c", *signature);
    printf(" |");
}

static int newest(const char *domain)
{
    if (!*domain)
        return NEWEST_OPSET;
    return !strcmp(domain, "ai.onnx.ml") ? NEWEST_ML : 1;
}

/* `1-28`, or with gaps `1-9, 13-28`; operators that the standard removed end early. */
static bool print_versions(const struct schema *s, bool print)
{
    int last = newest(s->domain), from = 0;
    bool any = false;
    for (int v = s->since; v <= last + 1; v++) {
        bool known = v <= last && lowering_find(s->domain, s->op, v).lower;
        if (known && !from)
            from = v;
        if (known || !from)
            continue;
        if (print)
            printf(from == v - 1 ? "%s%d" : "%s%d-%d", any ? ", " : " ", from, v - 1);
        any = true;
        from = 0;
    }
    return any;
}

static void print_onnx(void)
{
    printf("| domain | operator | versions | types of the inputs | core operator | cpu, chips |\n"
           "| --- | --- | --- | --- | --- | --- |\n");
    for (int i = 0; i < nschemas; i++) {
        const struct schema *s = &schemas[i];
        struct onnx_lowering l = lowering_find(s->domain, s->op, newest(s->domain));
        if (!print_versions(s, false))
            continue;
        bool same = l.lower == lower_same;
        printf("| %s | %s |", *s->domain ? s->domain : "ai.onnx", s->op);
        print_versions(s, true);
        printf(" |");
        printf(" ");
        print_types(s->types);
        printf(" %s | %s | %s |\n", same ? op_name(l.op) : "composed",
               same ? engines(l.op, false) : "its parts", same ? engines(l.op, true) : "its parts");
    }
}

static void print_sets(void)
{
    const struct type_set_info *set;
    printf("| set | types |\n| --- | --- |\n");
    for (int i = 0; (set = type_set_info(i)); i++) {
        printf("| %s | ", set->name);
        print_types(set->members);
        printf("\n");
    }
}

static void print_cell(const char *text) /* a bar would end the cell */
{
    for (; *text; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
}

static void print_core(void)
{
    char kinds[EW_TYPES];
    printf("| operator | types of the operands | cpu | chips | meaning |\n"
           "| --- | --- | --- | --- | --- |\n");
    for (int i = 0; i < OP_COUNT; i++) {
        enum op op = (enum op)i;
        printf("| %s | ", op_infos[i].name);
        print_types(ew_row(op) ? ew_types(op, kinds) : op_types(op));
        printf(" %s | %s | ", engines(op, false), engines(op, true));
        print_cell(op_infos[i].doc);
        printf(" |\n");
    }
}

void print_operators(void)
{
    printf(
        "# Operators\n\n"
        "Made by `xcc --list-operators`.\n\n"
        "Engines: *tiles* has a tile program for the Tensor, Vector and Scalar engines (shapes "
        "and element types\n"
        "that it does not cover run on GpSimd; `--explain` tells), *GpSimd* runs the plain "
        "routine, *control* is\n"
        "the program's own control flow, *its parts* is what the core operators that it is "
        "composed of have.\n"
        "Chips are");
    for (int i = 0, n = 0; i < nmachines; i++)
        if (machines[i].strict)
            printf("%s %s", n++ ? "," : "", machines[i].name);
    printf(
        " (`--target`).\n\n"
        "The types of the inputs are those that any version of the operator admits, one entry "
        "an input; `T=` gives a\n"
        "name to the type, `T` is the same type again, `...` means any number of inputs alike, `-` "
        "that there are none or\n"
        "that they may be anything. An elementwise core operator has one entry: its operands are "
        "of one type. The named sets:\n\n");
    print_sets();
    printf("\n"
           "## ONNX\n\n");
    print_onnx();
    printf("\n## Core\n\n");
    print_core();
}
