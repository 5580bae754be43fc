#define _GNU_SOURCE
#include "neff/archive/archive.h"

#include "neff/archive/archive_json.h"
#include "neff/archive/archive_weights.h"
#include "neff/isa/streams.h"
#include "neff/archive/tar.h"
#include "neff/archive/tree_hash.h"
#include "neff/base/version.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(sizeof(struct neff_header) == NEFF_HEADER_SIZE, "header size");
_Static_assert(offsetof(struct neff_header, build) == 40, "build");
_Static_assert(offsetof(struct neff_header, num_tpb) == 168, "num_tpb");
_Static_assert(offsetof(struct neff_header, hash) == 172, "hash");
_Static_assert(offsetof(struct neff_header, uuid) == 204, "uuid");
_Static_assert(offsetof(struct neff_header, name) == 220, "name");
_Static_assert(offsetof(struct neff_header, requested_tpb) == 476, "requested_tpb");
_Static_assert(offsetof(struct neff_header, tpb_per_node) == 480, "tpb_per_node");
_Static_assert(offsetof(struct neff_header, feature_bits) == 544, "feature_bits");
_Static_assert(offsetof(struct neff_header, lnc_size) == 552, "lnc_size");

/*
 * Whole huge pages at a time: a file system with large folios then caches the archive in huge
 * pages, and those who map it read its weights with fewer page faults and TLB misses.
 */
enum { WRITE_BYTES = 2 << 20 };

struct writer {
    struct out_file out;
    uint64_t written; /* bytes after the header */
    uint8_t *block;   /* what comes next, for write(2): stdio fills 4 KB of its own first, whatever setvbuf says */
    size_t held;      /* bytes of it */
};

static bool put_block(struct writer *w, struct diag *d)
{
    for (size_t at = 0; at < w->held;) {
        ssize_t n = write(fileno(w->out.f), w->block + at, w->held - at);
        if (n < 0 && errno != EINTR)
            return fail(d, "cannot write: %s", strerror(errno));
        at += n > 0 ? (size_t)n : 0;
    }
    w->held = 0;
    return true;
}

static bool put_bytes(struct writer *w, const void *data, size_t n, struct diag *d)
{
    while (n) {
        size_t room = WRITE_BYTES - w->held, part = n < room ? n : room;
        memcpy(w->block + w->held, data, part);
        w->held += part;
        data = (const uint8_t *)data + part, n -= part;
        if (w->held == WRITE_BYTES && !put_block(w, d))
            return false;
    }
    return true;
}

static bool put(struct writer *w, const void *data, size_t n, struct diag *d)
{
    if (!put_bytes(w, data, n, d))
        return false;
    w->written += n;
    return true;
}

static bool put_zeros(struct writer *w, uint64_t n, struct diag *d)
{
    static const uint8_t zeros[4096];
    for (; n; n -= n < sizeof zeros ? n : sizeof zeros)
        if (!put(w, zeros, n < sizeof zeros ? (size_t)n : sizeof zeros, d))
            return false;
    return true;
}

static bool begin_member(struct writer *w, const char *name, uint64_t size, struct diag *d)
{
    uint8_t block[TAR_BLOCK];
    tar_header(block, name, size);
    return put(w, block, sizeof block, d);
}

static bool end_member(struct writer *w, uint64_t size, struct diag *d)
{
    return put_zeros(w, tar_padding(size), d);
}

static bool put_member(struct writer *w, const char *name, struct bytes b, struct diag *d)
{
    return begin_member(w, name, b.size, d) && put(w, b.data, b.size, d) &&
           end_member(w, b.size, d);
}

/* What writes the weights' bytes into their member. */
static bool put_piece(void *w, const void *data, size_t n, struct diag *d)
{
    return data ? put(w, data, n, d) : put_zeros(w, n, d);
}

static uint64_t aligned(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

static bool put_members(struct program *p, struct writer *w, struct arena *a, struct diag *d)
{
    static const char *const bins[ENGINE_COUNT] = {"sg00/pe.bin", "sg00/act.bin", "sg00/pool.bin",
                                                   "sg00/dve.bin", "sg00/sp.bin"};
    struct bytes streams[ENGINE_COUNT];
    if (!streams_encode(p, a, streams, d))
        return false;
    struct weights weights;
    if (!weights_place(&weights, p, a, d))
        return false;
    const char *info = p->info ? p->info : "{}";
    struct bytes small[] = {neff_json_write(p, a),
                            {(const uint8_t *)info, strlen(info)},
                            def_json_write(p, weights.at, a),
                            debug_json_write(p, a)};
    static const char *const names[] = {"neff.json", "info.json", "sg00/def.json",
                                        "sg00/debug.json"};
    for (int i = 0; i < 4; i++)
        if (!put_member(w, names[i], small[i], d))
            return false;
    for (int e = 0; e < ENGINE_COUNT; e++)
        if (!put_member(w, bins[e], streams[e], d))
            return false;
    for (int i = 0; i < p->nlibraries; i++)
        if (p->libraries[i].data &&
            !put_member(w, library_member(a, i),
                        (struct bytes){p->libraries[i].data, p->libraries[i].size}, d))
            return false;
    uint64_t before = NEFF_HEADER_SIZE + w->written + 2 * TAR_BLOCK,
             gap = aligned(before, NEFF_ALIGN) - before;
    return begin_member(w, "sg00/align", gap, d) && put_zeros(w, gap, d) &&
           begin_member(w, "sg00/weights.bin", weights.size, d) &&
           weights_write(&weights, put_piece, w, d) && end_member(w, weights.size, d) &&
           put_zeros(w, TAR_END, d);
}

static void make_uuid(uint8_t uuid[16], const uint8_t hash[32])
{
    memcpy(uuid, hash, 16);
    uuid[6] = (uuid[6] & 0x0f) | 0x80;
    uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

static bool put_header(const struct program *p, struct writer *w, struct diag *d)
{
    struct neff_header h = {
        .pkg_version = NEFF_PKG_VERSION,
        .header_size = NEFF_HEADER_SIZE,
        .data_size = w->written,
        .version_major = 2,
        .num_tpb = 1,
        .requested_tpb = 1,
        .tpb_per_node = {1},
        .feature_bits = NEFF_FEATURE_XCC,
        .lnc_size = 1,
    };
    snprintf(h.build, sizeof h.build, "xcc %s", xcc_version_text);
    snprintf(h.name, sizeof h.name, "%s", p->name ? p->name : "");
    if (!put_block(w, d))
        return false;
    if (fflush(w->out.f) != 0 ||
        !tree_hash_file(fileno(w->out.f), NEFF_HEADER_SIZE, w->written, h.hash))
        return fail(d, "cannot read back what was written: %s", strerror(errno));
    make_uuid(h.uuid, h.hash);
    if (fseek(w->out.f, 0, SEEK_SET) != 0 || fwrite(&h, sizeof h, 1, w->out.f) != 1)
        return fail(d, "cannot write: %s", strerror(errno));
    return true;
}

/* Into w->out.f, which is open for reading too. */
static bool write_all(struct program *p, struct writer *w, struct diag *d)
{
    struct arena scratch = {0};
    static const uint8_t blank[NEFF_HEADER_SIZE];
    w->block = malloc(WRITE_BYTES);
    bool ok = w->block || fail_memory(d, "out of memory");
    ok = ok && put_bytes(w, blank, sizeof blank, d) && put_members(p, w, &scratch, d) && put_header(p, w, d);
    free(w->block);
    arena_free(&scratch);
    return ok;
}

bool neff_write(struct program *p, const char *path, struct diag *d)
{
    struct writer w = {0};
    if (!out_open(&w.out, path, d))
        return false;
    if (!write_all(p, &w, d)) {
        out_abandon(&w.out);
        return fail_in(d, "%s", path);
    }
    return out_commit(&w.out, d);
}

bool neff_write_file(struct program *p, FILE *f, struct diag *d)
{
    struct writer w = {.out = {.f = f}};
    return write_all(p, &w, d) &&
           (fflush(f) == 0 || fail(d, "cannot write an archive: %s", strerror(errno)));
}

/* What the file holds, in memory of its own. */
static bool read_back(FILE *f, uint64_t size, void **data, struct diag *d)
{
    uint64_t room = aligned(size, NEFF_SLOT_ALIGN);
    *data = aligned_alloc(NEFF_SLOT_ALIGN, room);
    if (!*data)
        return fail_memory(d, "out of memory: an archive of %llu bytes", (unsigned long long)size);
    if (fflush(f) == 0 && fseek(f, 0, SEEK_SET) == 0 && fread(*data, 1, size, f) == size)
        return true;
    free(*data);
    *data = NULL;
    return fail(d, "cannot read back what was written: %s", strerror(errno));
}

bool neff_write_memory(struct program *p, void **data, size_t *size, struct diag *d)
{
    struct writer w = {0};
    int fd = memfd_create("archive", MFD_CLOEXEC);
    w.out.f = fd >= 0 ? fdopen(fd, "w+b") : NULL;
    *data = NULL, *size = 0;
    if (!w.out.f) {
        fail(d, "cannot make a file in memory: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    bool ok = write_all(p, &w, d) && read_back(w.out.f, NEFF_HEADER_SIZE + w.written, data, d);
    if (ok)
        *size = (size_t)(NEFF_HEADER_SIZE + w.written);
    fclose(w.out.f);
    return ok;
}
