/*
 * What the program uses of the runtime's tables, and the Makefile.
 */
#include "frontend/standalone/sets.h"
#include "frontend/standalone/sources.h"
#include "frontend/standalone/standalone.h"

#include "neff/base/version.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is used ---- */

static bool has_isa(const struct package *k, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = k->isa; (s = strchr(s, ' ')) && s[1]; s++)
        if (!strncmp(s + 1, name, n) && s[1 + n] == ' ')
            return true;
    return false;
}

/* Whether a set is among these whose vectors a name is of: "GEMM_16_f32_block_7x4"; others are of all. */
static bool has_lanes(const struct package *k, const char *name)
{
    static const char start[] = "GEMM_";
    const char *number = name + sizeof start - 1;
    if (strncmp(name, start, sizeof start - 1) || *number < '0' || *number > '9')
        return true;
    for (int i = 0; i < nkernel_sets; i++)
        if (kernel_sets[i].lanes == atoi(number) && has_isa(k, kernel_sets[i].name))
            return true;
    return false;
}

void write_use(const struct package *k, FILE *f)
{
    fprintf(f, "/* Made by xcc %s: what %s uses of the runtime's tables (neff/base/use.h). */\n",
            xcc_version_text, k->name);
    for (int i = 0; i < k->use->count; i++)
        if (has_lanes(k, k->use->names[i]))
            fprintf(f, "#define USE_%s 1\n", k->use->names[i]);
    static const char *const where[] = {[X86_64] = "KERNELS_X86", [AARCH64] = "defined __aarch64__"};
    for (int i = 0; i < nkernel_sets; i++) {
        const struct kernel_set *set = &kernel_sets[i];
        if (!has_isa(k, set->name))
            continue;
        if (where[set->processor])
            fprintf(f, "#if %s%s\n", where[set->processor],
                    set->recent ? " && (defined __clang__ ? __clang_major__ >= 12 : __GNUC__ >= 11)" : "");
        fprintf(f, "#define USE_ISA_%s 1\n%s", set->name, where[set->processor] ? "#endif\n" : "");
    }
    fprintf(f, "#if KERNELS_X86\n");
    if (has_isa(k, "avx512bf16") && !has_isa(k, "avx512")) /* whose kernels it has beside its own */
        fprintf(f, "#define USE_TABLE_avx512 1\n");
    fprintf(f, "#endif\n");
}

/* ---- the Makefile ---- */

/* Of loops over elements: the Makefile's name for what makes vectors of them. */
#define VECTORS "$(VECTORS)"

struct family {
    const char *name, *use;
    const char *unrolled; /* a use of it whose loops are worth -O3; or NULL */
    const char *flags;    /* otherwise */
};
/* Loops over rows ask for steps. */
static const struct family families[] = {{"rows", NULL, "TRANSPOSE_1", "-O2 -funswitch-loops"},
                                         {"functions", "FAMILY_functions", NULL, "-O2"},
                                         {"images", "FAMILY_images", NULL, "-O2"},
                                         {"products", "FAMILY_products", NULL, "-O2"},
                                         {"integers", "FAMILY_integers", NULL, "-O2"},
                                         {"exact", "FAMILY_exact", NULL, VECTORS},
                                         {"matrix_unit", "FAMILY_matrix_unit", NULL, "-O2"}};
enum { FAMILIES = sizeof families / sizeof *families };
const int kernel_families = FAMILIES;

const char *family_name(int family)
{
    return families[family].name;
}

/* Of a variant, the one whose kernels of each family it has, and another one below (kernels.def). */
static const struct {
    const char *name, *below, *of[FAMILIES];
} variants[] = {
#define KERNEL_VARIANT(name, built, base, dots, integer_dots, exact_base, unit, rate)                          \
    {#name, #base, {#base, #base, #dots, #dots, #integer_dots, #exact_base, #unit}},
#include "runtime/kernels/kernels.def"
};

/* Whether its files have only what is laid over others' (runtime/kernels/overlay.h). */
static bool is_overlay(const char *variant)
{
    return !strcmp(variant, "avx512bf16");
}

bool family_wanted(const struct package *k, int family, const char *variant)
{
    if (families[family].use && !use_has(k->use, families[family].use))
        return false;
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++)
        if (has_isa(k, variants[v].name) &&
            (!strcmp(variants[v].of[family], variant) ||
             (is_overlay(variants[v].of[family]) && !strcmp(variants[v].below, variant))))
            return true;
    return false;
}

static void write_kernel_objects(const struct package *k, enum kernel_processor processor, FILE *f)
{
    for (int s = 0; s < nkernel_sets; s++)
        for (int i = 0; i < FAMILIES; i++)
            if (kernel_sets[s].processor == processor && family_wanted(k, i, kernel_sets[s].name))
                fprintf(f, "OBJECTS += xrt/runtime/kernels/%s_%s.o\n", families[i].name, kernel_sets[s].name);
}

/* What the compiler is asked for in place of -O2. */
static const char *optimization(const struct package *k, const struct family *f)
{
    return f->unrolled && use_has(k->use, f->unrolled) ? "-O3" : f->flags;
}

static void write_kernel_rule(const struct package *k, const struct kernel_set *s, const struct family *family, FILE *f)
{
    fprintf(f,
            "xrt/runtime/kernels/%s_%s.o: xrt/runtime/kernels/family_%s.c\n"
            "\t$(CC) $(CFLAGS) $(KERNEL_OPT:-O2=%s) $(XRT_FLAGS) -DVARIANT=%s %s",
            family->name, s->name, family->name, optimization(k, family), s->name, s->flags);
    for (int i = 0; s->macros[i]; i++)
        fprintf(f, " -D%s=1", s->macros[i]);
    fprintf(f, " -c -o $@ $<\n");
}

static void write_kernel_rules(const struct package *k, FILE *f)
{
    for (int s = 0; s < nkernel_sets; s++)
        for (int i = 0; i < FAMILIES; i++)
            if (family_wanted(k, i, kernel_sets[s].name))
                write_kernel_rule(k, &kernel_sets[s], &families[i], f);
}

/* Of NAME.c that has everything. */
static void write_short_makefile(const struct package *k, FILE *f)
{
    const char *n = k->name;
    fprintf(f, "# Made by xcc %s. make: lib%s.a; link with it and -lm. Or compile %s.c yourself.\n\n", xcc_version_text,
            n, n);
    fprintf(f, "OPT = -O2\nOBJECTS = %s.o\n", n);
    write_operator_objects(k, f);
    fprintf(f, "lib%s.a: $(OBJECTS)\n\trm -f $@\n\t$(AR) rcs $@ $(OBJECTS)\n", n);
    fprintf(f, "%s.o: %s.c %s.h\n\t$(CC) $(CFLAGS) $(OPT) -fPIC -c -o $@ $<\n", n, n, n);
    write_operator_rules(k, f);
    fprintf(f, "\nclean:\n\trm -f lib%s.a $(OBJECTS)\n.PHONY: clean\n", n);
}

/* The core's units that are compiled otherwise than by -O2. */
enum unit_kind { UNITS, UNITS_ONCE, UNITS_LOOPS };

/* What runs when a context is made or bound, not in a run. */
static bool runs_once(const char *path)
{
    static const char *const starts[] = {
        "neff/isa/", "neff/plan/", "neff/core/op", "neff/core/guard", "neff/core/dim.", "runtime/exec/bind",
        "runtime/exec/bounds.", "runtime/exec/guards.", "runtime/exec/model.", "runtime/exec/quick.",
        "runtime/exec/quick_loop.", "runtime/exec/quick_window.", "runtime/exec/states.", "runtime/exec/stream.",
        "runtime/standalone/"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (!strncmp(path, starts[i], strlen(starts[i])))
            return true;
    return false;
}

static bool is_of_kind(const struct core_file *c, enum unit_kind kind)
{
    return kind == UNITS || (runs_once(c->path) ? kind == UNITS_ONCE : c->loops && kind == UNITS_LOOPS);
}

/* Their objects, in a list of the Makefile that has begun. */
static void write_units(const bool *sources, enum unit_kind kind, FILE *f)
{
    for (int i = 0; i < ncore_files; i++)
        if (sources[i] && source_is_unit(&core_files[i]) && is_of_kind(&core_files[i], kind))
            fprintf(f, " \\\n    xrt/%.*s.o", (int)strlen(core_files[i].path) - 2, core_files[i].path);
    fprintf(f, "\n");
}

static void write_unit_kinds(const bool *sources, FILE *f)
{
    fprintf(f, "ONCE =");
    write_units(sources, UNITS_ONCE, f);
    fprintf(f, "$(ONCE): OPT = -Os\nLOOPS =");
    write_units(sources, UNITS_LOOPS, f);
    fprintf(f, "$(LOOPS): OPT = " VECTORS "\n");
}

void write_makefile(const struct package *k, const bool *sources, FILE *f)
{
    const char *n = k->name;
    if (k->o->amalgamate) {
        write_short_makefile(k, f);
        return;
    }
    fprintf(f, "# Made by xcc %s. make: lib%s.a; link with it and -lm.\n", xcc_version_text, n);
    fprintf(f, "# make CC=musl-gcc, or CC=aarch64-linux-gnu-gcc LD=... for another processor. "
               "ONE_OBJECT=no where the\n# linker has no -r --gc-sections.\n\n");
    fprintf(f, "LD = $(CC) -nostdlib -r\nOBJCOPY = objcopy\nOPT = -O2\nKERNEL_OPT = $(OPT)\n"
               "CFLAGS =\nONE_OBJECT = yes\n"
               "VECTORS := -O2 $(if $(findstring clang,$(shell $(CC) --version)),,-ftree-vectorize "
               "-fvect-cost-model=dynamic)\n\n");
    fprintf(f,
            "# Behind CFLAGS: whatever those ask for, results keep their bits, and LD and OBJCOPY know the objects.\n"
            "XRT_FLAGS = -std=gnu11 -w -fno-lto -fno-fast-math -I. -Ixrt -DXRT_USE='\"%s_use.h\"' "
            "-fvisibility=hidden -ffunction-sections -fdata-sections \\\n    -ffp-contract=off -fno-math-errno "
            "-fno-asynchronous-unwind-tables -fPIC -Dmalloc=mem_malloc -Dcalloc=mem_calloc \\\n"
            "    -Drealloc=mem_realloc -Dfree=mem_free -Daligned_alloc=mem_aligned_alloc "
            "-Dposix_memalign=mem_posix_memalign\n\n",
            n);
    fprintf(f, "OBJECTS = %s.o", n);
    write_units(sources, UNITS, f);
    write_operator_objects(k, f);
    write_kernel_objects(k, ANY_PROCESSOR, f);
    fprintf(f, "ifneq ($(filter x86_64%%,$(shell $(CC) -dumpmachine)),)\nXRT_FLAGS += "
               "-DKERNELS_X86=1\n");
    write_kernel_objects(k, X86_64, f);
    fprintf(f, "else\nXRT_FLAGS += -DKERNELS_X86=0\nendif\n");
    fprintf(f, "ifneq ($(filter aarch64%%,$(shell $(CC) -dumpmachine)),)\n");
    write_kernel_objects(k, AARCH64, f);
    fprintf(f, "endif\n\n");
    fprintf(f, "lib%s.a: $(OBJECTS)\n\trm -f $@\nifeq ($(ONE_OBJECT),yes)\n", n);
    fprintf(f,
            "\t$(LD) -Wl,--gc-sections -Wl,-u,%s_init -Wl,-u,%s_run -Wl,-u,%s_error "
            "-Wl,-u,%s_context_size \\\n\t    %s%s%s%s%s%s-Wl,-u,%s_output_bytes "
            "-Wl,-u,%s_output_dims -Wl,-e,%s_init -o %s_all.o $(OBJECTS)\n",
            n, n, n, n, k->nopen ? "-Wl,-u," : "", k->nopen ? n : "", k->nopen ? "_bind " : "",
            k->o->threads ? "-Wl,-u," : "", k->o->threads ? n : "", k->o->threads ? "_threads " : "", n,
            n, n, n);
    fprintf(f,
            "\t$(OBJCOPY) --localize-hidden %s_all.o\n\t$(AR) rcs $@ %s_all.o\nelse\n"
            "\t$(AR) rcs $@ $(OBJECTS)\nendif\n\n",
            n, n);
    fprintf(f, "%s.o: %s.h %s_use.h %s\n", n, n, n, k->bin);
    fprintf(f, ".c.o:\n\t$(CC) $(CFLAGS) $(OPT) $(XRT_FLAGS) -c -o $@ $<\n");
    write_unit_kinds(sources, f);
    write_kernel_rules(k, f);
    write_operator_rules(k, f);
    fprintf(f, "\nclean:\n\trm -f lib%s.a %s_all.o $(OBJECTS)\n.PHONY: clean\n", n, n);
}
