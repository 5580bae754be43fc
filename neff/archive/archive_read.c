#include "neff/archive/archive.h"

#include "neff/archive/archive_json.h"
#include "neff/isa/codec.h"
#include "neff/isa/streams.h"
#include "neff/archive/tar.h"

#include <stdlib.h>
#include <string.h>

/* What a file that is no archive seems to be, and what to do. */
static const char *advice(const struct neff_file *f, const char *name)
{
    static const char models[] = " .onnx .hlo .pb .mlir .mlirbc .xir ";
    const char *dot = strrchr(name, '.'), *found = dot && dot[1] ? strstr(models, dot) : NULL;
    if (found && found[strlen(dot)] == ' ')
        return "this is a model: compile it first, `xcc MODEL -o MODEL.neff` (--target trn1, inf2 or trn2 for xsim)";
    if (f->size >= 6 && (!memcmp(f->data, "\x93NUMPY", 6) || !memcmp(f->data, "PK\3\4", 4)))
        return "this is a NumPy file, an input or output of a model: name the archive first, `xcc MODEL -o MODEL.neff` "
               "makes it";
    return "`xcc MODEL -o MODEL.neff` makes one of a model";
}

static bool check_header(const struct neff_file *f, const char *name, struct diag *d)
{
    const struct neff_header *h = &f->header;
    if (h->pkg_version != NEFF_PKG_VERSION)
        return fail(d, "%s: not an archive of this compiler (package version %#llx, expected %#x): %s", name,
                    (unsigned long long)h->pkg_version, NEFF_PKG_VERSION, advice(f, name));
    if (h->header_size != NEFF_HEADER_SIZE)
        return fail(d, "%s: header of %llu bytes, expected %d", name,
                    (unsigned long long)h->header_size, NEFF_HEADER_SIZE);
    if (h->feature_bits != NEFF_FEATURE_XCC)
        return fail(d, "%s: features %#llx, this version supports %#llx; recompile the model", name,
                    (unsigned long long)h->feature_bits, (unsigned long long)NEFF_FEATURE_XCC);
    if (h->data_size != f->size - NEFF_HEADER_SIZE)
        return fail(d, "%s: truncated or extended: %zu bytes after the header, expected %llu", name,
                    f->size - NEFF_HEADER_SIZE, (unsigned long long)h->data_size);
    return true;
}

static bool read_members(struct neff_file *f, struct diag *d)
{
    struct tar_reader tar = {f->data + NEFF_HEADER_SIZE, f->size - NEFF_HEADER_SIZE, 0};
    struct tar_member m;
    while (tar_next(&tar, &m, d)) {
        ARENA_GROW(&f->arena, f->members, f->nmembers, f->members_cap);
        f->members[f->nmembers++] =
            (struct neff_member){arena_strdup(&f->arena, m.name), m.data, m.size};
    }
    return !diag_failed(d);
}

static bool open_bytes(struct neff_file *f, const void *data, size_t size, const char *name,
                       struct diag *d)
{
    f->data = data;
    f->size = size;
    if (size < NEFF_HEADER_SIZE)
        return fail(d, "%s: %zu bytes, expected an archive of at least %d: %s", name, size, NEFF_HEADER_SIZE,
                    advice(f, name));
    memcpy(&f->header, data, sizeof f->header);
    if (!check_header(f, name, d))
        return false;
    return read_members(f, d) || fail_in(d, "%s", name);
}

bool neff_open_memory(struct neff_file *f, const void *data, size_t size, const char *name,
                      struct diag *d)
{
    *f = (struct neff_file){0};
    if (open_bytes(f, data, size, name, d))
        return true;
    neff_close(f);
    return false;
}

static bool open_mapped(struct neff_file *f, const char *name, struct diag *d)
{
    if (open_bytes(f, f->file.data, f->file.size, name, d))
        return true;
    neff_close(f);
    return false;
}

bool neff_open(struct neff_file *f, const char *path, struct diag *d)
{
    *f = (struct neff_file){0};
    return file_map(&f->file, path, d) && open_mapped(f, path, d);
}

bool neff_open_file(struct neff_file *f, int fd, const char *name, struct diag *d)
{
    *f = (struct neff_file){0};
    return file_map_open(&f->file, fd, name, d) && open_mapped(f, name, d);
}

void neff_close(struct neff_file *f)
{
    file_unmap(&f->file);
    arena_free(&f->arena);
    *f = (struct neff_file){0};
}

const struct neff_member *neff_find(const struct neff_file *f, const char *name)
{
    for (int i = 0; i < f->nmembers; i++)
        if (!strcmp(f->members[i].name, name))
            return &f->members[i];
    return NULL;
}

/* ---- programs ---- */

static bool get(const struct neff_file *f, const char *name, struct bytes *out, struct diag *d)
{
    const struct neff_member *m = neff_find(f, name);
    if (!m)
        return fail(d, "member '%s' is missing", name);
    *out = (struct bytes){m->data, m->size};
    return true;
}

static bool bind_constant(struct program *p, int i, struct placement at, struct bytes weights,
                          struct diag *d)
{
    struct slot *s = &p->slots[i];
    int64_t dims[MAX_RANK];
    if (at.offset > weights.size || at.size > weights.size - at.offset)
        return fail(d, "constant %d lies outside weights.bin", i);
    if (!type_is_static(&s->type))
        return fail(d, "constant %d has no constant shape", i);
    for (int k = 0; k < s->type.rank; k++)
        dims[k] = s->type.dims[k];
    s->data = tensor_view(s->type.dtype, s->type.rank, dims, (void *)(weights.data + at.offset));
    if (s->type.dtype == DT_STR) {
        struct codec c =
            codec_reader("weights.bin", weights.data + at.offset, (size_t)at.size, &p->arena, d);
        struct tensor t = {0};
        code_tensor(&c, &t);
        bool same = !c.failed && t.dtype == DT_STR && t.rank == s->type.rank;
        for (int k = 0; same && k < t.rank; k++)
            same = t.dims[k] == dims[k];
        s->data = t;
        return same || fail(d, "constant %d: strings do not match its type", i);
    }
    int64_t n = 1;
    bool overflow = false;
    for (int k = 0; k < s->type.rank; k++)
        overflow |= dims[k] < 0 || __builtin_mul_overflow(n, dims[k], &n);
    if (overflow || (uint64_t)n > at.size || (uint64_t)n * dtype_bytes(s->type.dtype) != at.size)
        return fail(d, "constant %d: %llu bytes do not match its type", i,
                    (unsigned long long)at.size);
    if (at.offset % 16)
        return fail(d, "constant %d is not aligned", i);
    return true;
}

static bool bind_libraries(const struct neff_file *f, struct program *p, struct diag *d)
{
    for (int i = 0; i < p->nlibraries; i++) {
        struct program_library *l = &p->libraries[i];
        struct bytes object = {0};
        if (!l->data)
            continue;
        if (!get(f, (const char *)l->data, &object, d))
            return fail_in(d, "library '%s'", l->name);
        l->data = object.data;
        l->size = object.size;
    }
    return true;
}

static bool load(struct neff_file *f, struct program *p, struct diag *d)
{
    static const char *const bins[ENGINE_COUNT] = {"sg00/pe.bin", "sg00/act.bin", "sg00/pool.bin",
                                                   "sg00/dve.bin", "sg00/sp.bin"};
    struct bytes def, debug, info, weights, streams[ENGINE_COUNT];
    struct placement *at;
    if (!get(f, "sg00/def.json", &def, d) || !get(f, "sg00/debug.json", &debug, d) ||
        !get(f, "info.json", &info, d) || !get(f, "sg00/weights.bin", &weights, d))
        return false;
    for (int e = 0; e < ENGINE_COUNT; e++)
        if (!get(f, bins[e], &streams[e], d))
            return false;
    if (!def_json_read(p, def, &at, d) || !debug_json_read(p, debug, d))
        return false;
    if (!bind_libraries(f, p, d))
        return false;
    p->info = arena_strndup(&p->arena, (const char *)info.data, info.size);
    for (int i = 0; i < p->nslots; i++)
        if (p->slots[i].kind == SLOT_CONST && !bind_constant(p, i, at[i], weights, d))
            return false;
    if (!streams_decode(p, streams, d))
        return false;
    int named = 0;
    while (p->output_names[named])
        named++;
    if (p->nregions < 1 || p->regions[0].nresults != named)
        return fail(d, "the main program's results and the outputs' names differ in number");
    return program_check(p, d);
}

static void mark(const struct program *p, bool *slots, int s)
{
    if (s >= 0)
        slots[slot_root(p, s)] = true;
}

/* The slots that a run reads whole. Of tables from which rows are gathered, it reads a few rows. */
static void mark_whole(const struct program *p, bool *whole)
{
    for (int i = 0; i < p->nkernels; i++)
        for (int j = 0; j < p->kernels[i].ninsns; j++) {
            const struct insn *n = &p->kernels[i].insns[j];
            for (int k = 0; k < insn_info(n->op)->naps; k++)
                if (n->ap[k].mem == MEM_HBM && (n->op != INSN_dma_gather || k != 1))
                    mark(p, whole, n->ap[k].tensor);
        }
    for (int i = 0; i < p->ncalls; i++)
        for (int j = 0; j < p->calls[i].nin; j++)
            mark(p, whole, p->calls[i].in[j]);
    for (int i = 0; i < p->nregions; i++)
        for (int j = 0; j < p->regions[i].nresults; j++)
            mark(p, whole, p->regions[i].results[j]);
}

/* Constants that are read whole come into memory in large pieces, all at once when they are small:
 * a run of microseconds would wait for many times as long as it takes. */
static void advise(const struct program *p)
{
    enum { AHEAD = 16 << 20 };
    bool *whole = calloc((size_t)p->nslots + 1, sizeof *whole);
    size_t total = 0;
    if (!whole)
        return;
    mark_whole(p, whole);
    for (int s = 0; s < p->nslots; s++)
        if (p->slots[s].kind == SLOT_CONST && whole[s])
            total += tensor_bytes(&p->slots[s].data);
    const char *from = NULL, *to = NULL; /* neighbours together */
    for (int s = 0; s < p->nslots; s++) {
        const struct tensor *t = &p->slots[s].data;
        if (p->slots[s].kind != SLOT_CONST || t->dtype == DT_STR)
            continue;
        if (!whole[s])
            file_sparse(t->data, tensor_bytes(t));
        if (!whole[s] || !from) {
            file_ahead(from, (size_t)(to - from));
            from = whole[s] ? t->data : NULL;
        }
        to = whole[s] ? (const char *)t->data + tensor_bytes(t) : NULL;
        if (total > AHEAD)
            from = to = NULL;
    }
    file_ahead(from, (size_t)(to - from));
    free(whole);
}

/* Members before the weights have become the program. */
static void forget_members(const struct neff_file *f)
{
    const uint8_t *start = f->file.data, *weights = neff_find(f, "sg00/weights.bin")->data;
    if (weights > start && weights <= start + f->file.size)
        file_done(start, (size_t)(weights - start));
}

static void close_archive(void *f)
{
    neff_close(f);
    free(f);
}

struct program *neff_program(struct neff_file *f, bool own, struct diag *d)
{
    struct program *p = program_new();
    if (!p || !load(f, p, d)) {
        if (!p)
            fail_memory(d, "out of memory");
        program_free(p);
        return NULL;
    }
    if (f->file.size) {
        forget_members(f);
        advise(p);
    }
    if (own) {
        p->release = close_archive;
        p->release_arg = f;
    }
    return p;
}
