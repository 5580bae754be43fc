/*
 * What the program uses of the runtime's tables, and the Makefile.
 */
#include "frontend/standalone/sources.h"
#include "frontend/standalone/standalone.h"

#include "neff/base/version.h"

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

static const char *const x86_sets[] = {"avx2", "avx512", "avx512vnni", "avx512bf16"};
enum { X86_SETS = sizeof x86_sets / sizeof *x86_sets };

void write_use(const struct package *k, FILE *f)
{
    fprintf(f, "/* Made by xcc %s: what %s uses of the runtime's tables (neff/base/use.h). */\n",
            xcc_version_text, k->name);
    for (int i = 0; i < k->use->count; i++)
        fprintf(f, "#define USE_%s 1\n", k->use->names[i]);
    if (has_isa(k, "portable"))
        fprintf(f, "#define USE_ISA_portable 1\n");
    if (has_isa(k, "neon"))
        fprintf(f, "#if defined __aarch64__\n#define USE_ISA_neon 1\n#endif\n");
    fprintf(f, "#if KERNELS_X86\n");
    for (int i = 0; i < X86_SETS; i++)
        if (has_isa(k, x86_sets[i]))
            fprintf(f, "#define USE_ISA_%s 1\n", x86_sets[i]);
    if (has_isa(k, "avx512bf16") && !has_isa(k, "avx512")) /* whose kernels it has beside its own */
        fprintf(f, "#define USE_TABLE_avx512 1\n");
    fprintf(f, "#endif\n");
}

/* ---- the Makefile ---- */

struct family {
    const char *name, *use;
};
static const struct family families[] = {{"rows", NULL},
                                         {"functions", "FAMILY_functions"},
                                         {"images", "FAMILY_images"},
                                         {"products", "FAMILY_products"},
                                         {"integers", "FAMILY_integers"},
                                         {"exact", "FAMILY_exact"}};
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
#define KERNEL_VARIANT(name, built, base, dots, integer_dots, exact_base, unit)                          \
    {#name, #base, {#base, #base, #dots, #dots, #integer_dots, #exact_base}},
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

static void write_kernel_objects(const struct package *k, const char *variant, FILE *f)
{
    for (int i = 0; i < FAMILIES; i++)
        if (family_wanted(k, i, variant))
            fprintf(f, "OBJECTS += xrt/runtime/kernels/%s_%s.o\n", families[i].name, variant);
}

static void write_kernel_rules(const struct package *k, const char *variant, const char *flags,
                               FILE *f)
{
    for (int i = 0; i < FAMILIES; i++)
        if (family_wanted(k, i, variant))
            fprintf(f,
                    "xrt/runtime/kernels/%s_%s.o: xrt/runtime/kernels/family_%s.c\n"
                    "\t$(CC) $(CFLAGS) $(KERNEL_OPT) $(XRT_FLAGS) -DVARIANT=%s %s -c -o $@ $<\n",
                    families[i].name, variant, families[i].name, variant, flags);
}

#define AVX2   "-mavx2 -mfma -mf16c"
#define AVX512 AVX2 " -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512"
static const char *const flags_of[X86_SETS] = {AVX2, AVX512, AVX512 " -mavx512vnni",
                                               AVX512 " -mavx512vnni -mavx512bf16"};

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
    fprintf(f, "LD = $(CC) -nostdlib -r\nOBJCOPY = objcopy\nOPT = -O2\nKERNEL_OPT = -O3\n"
               "CFLAGS = -w\nONE_OBJECT = yes\n\n");
    fprintf(f,
            "XRT_FLAGS = -std=gnu11 -I. -Ixrt -DXRT_USE='\"%s_use.h\"' -fvisibility=hidden "
            "-ffunction-sections -fdata-sections \\\n    -ffp-contract=off -fno-math-errno "
            "-fno-asynchronous-unwind-tables -fPIC -Dmalloc=mem_malloc -Dcalloc=mem_calloc \\\n"
            "    -Drealloc=mem_realloc -Dfree=mem_free -Daligned_alloc=mem_aligned_alloc "
            "-Dposix_memalign=mem_posix_memalign\n\n",
            n);
    fprintf(f, "OBJECTS = %s.o", n);
    for (int i = 0; i < ncore_files; i++)
        if (sources[i] && source_is_unit(&core_files[i]))
            fprintf(f, " \\\n    xrt/%.*s.o", (int)strlen(core_files[i].path) - 2,
                    core_files[i].path);
    fprintf(f, "\n");
    write_operator_objects(k, f);
    write_kernel_objects(k, "portable", f);
    fprintf(f, "ifneq ($(filter x86_64%%,$(shell $(CC) -dumpmachine)),)\nXRT_FLAGS += "
               "-DKERNELS_X86=1\n");
    for (int i = 0; i < X86_SETS; i++)
        write_kernel_objects(k, x86_sets[i], f);
    fprintf(f, "else\nXRT_FLAGS += -DKERNELS_X86=0\nendif\n");
    fprintf(f, "ifneq ($(filter aarch64%%,$(shell $(CC) -dumpmachine)),)\n");
    write_kernel_objects(k, "neon", f);
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
    write_kernel_rules(k, "portable", "-DSTRICT_ISA=1", f);
    write_kernel_rules(k, "neon", "", f);
    for (int i = 0; i < X86_SETS; i++)
        write_kernel_rules(k, x86_sets[i], flags_of[i], f);
    write_operator_rules(k, f);
    fprintf(f, "\nclean:\n\trm -f lib%s.a %s_all.o $(OBJECTS)\n.PHONY: clean\n", n, n);
}
