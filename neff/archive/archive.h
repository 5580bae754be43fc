/*
 * NEFF-style archives: a 1024-byte header, then an uncompressed tar. FORMAT.md is the
 * specification.
 *
 * Writing is deterministic: same program, same bytes. Reading maps the file; constants are used in
 * place.
 */
#ifndef NEFF_ARCHIVE_H
#define NEFF_ARCHIVE_H

#include "neff/base/file.h"
#include "neff/isa/program.h"

enum {
    NEFF_HEADER_SIZE = 1024,
    NEFF_PKG_VERSION = 0x58434331, /* "1CCX": not one of AWS's package versions */
    NEFF_ALIGN = 4096,             /* of the weights member in the file */
    NEFF_SLOT_ALIGN = 64,          /* of each constant in it */
};
#define NEFF_FEATURE_XCC (UINT64_C(1) << 62) /* open instruction encoding, not for AWS hardware */

/* Little-endian on disk, natural alignment; offsets asserted in archive_write.c. */
struct neff_header {
    uint64_t pkg_version, header_size, data_size, version_major, version_minor;
    char build[128];
    uint32_t num_tpb;
    uint8_t hash[32]; /* sha256 over the sha256 of each MiB of the data after the header */
    uint8_t uuid[16]; /* version-8 uuid from the hash */
    char name[256];
    uint32_t requested_tpb;
    uint8_t tpb_per_node[64];
    uint64_t feature_bits;
    uint32_t lnc_size;
    uint8_t pad[468];
};

/* Writes PATH completely or not at all. Once: what constants are made of is given back meanwhile, so
 * that a program which has constants with makers can neither be written again nor run (p->released). */
bool neff_write(struct program *p, const char *path, struct diag *d);
/* The same bytes into an open file that may be read and written anywhere. */
bool neff_write_file(struct program *p, FILE *f, struct diag *d);
/* The same bytes in memory aligned to 64, which the caller frees. */
bool neff_write_memory(struct program *p, void **data, size_t *size, struct diag *d);

struct neff_member {
    const char *name;
    const uint8_t *data;
    size_t size;
};
struct neff_file {
    struct arena arena;
    struct mapped_file file; /* unused for archives in memory */
    const uint8_t *data;
    size_t size;
    struct neff_header header;
    int nmembers, members_cap;
    struct neff_member *members;
};

/* Reads header and member list; data stays mapped until neff_close. */
bool neff_open(struct neff_file *f, const char *path, struct diag *d);
/* The same for an open file, which need not stay so; `name` is for messages. */
bool neff_open_file(struct neff_file *f, int fd, const char *name, struct diag *d);
/* The same for bytes in memory, aligned to 64, which must outlive the archive. */
bool neff_open_memory(struct neff_file *f, const void *data, size_t size, const char *name,
                      struct diag *d);
void neff_close(struct neff_file *f);
const struct neff_member *neff_find(const struct neff_file *f, const char *name);
/* tree_hash.c: recomputes the hash; false with a message when it differs. */
bool neff_check_hash(const struct neff_file *f, struct diag *d);

/* Decodes and checks the program. It borrows from the archive, which it closes when freed if `own`;
 * then `f` must come from malloc. */
struct program *neff_program(struct neff_file *f, bool own, struct diag *d);

#endif
