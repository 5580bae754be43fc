/*
 * Files: read whole by mmap, written whole or not at all.
 */
#ifndef NEFF_BASE_FILE_H
#define NEFF_BASE_FILE_H

#include "neff/base/diag.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct mapped_file {
    const uint8_t *data; /* never NULL after success, even for an empty file */
    size_t size;
};

/* Maps PATH read-only. Fails on directories and on files that cannot be read. */
bool file_map(struct mapped_file *f, const char *path, struct diag *d);
/* The same for an open file, which stays open and may be closed; `path` is for messages. */
bool file_map_open(struct mapped_file *f, int fd, const char *path, struct diag *d);
void file_unmap(struct mapped_file *f);
/* For programs: files that are mapped while this is on are inputs, which out_open refuses to replace. */
void file_note_inputs(bool on);
bool file_is_input(const char *path);
/* From now on, in this thread, file_map(PATH) gives these bytes, which are copied; NULL: no more.
 */
bool file_lend(const char *path, const void *data, size_t size, struct diag *d);
/* Of these bytes of a mapped file only some here and there are read: no more come into memory. */
void file_sparse(const void *p, size_t bytes);
/* All of these bytes of a mapped file will be read soon: they are put in place at once. */
void file_ahead(const void *p, size_t bytes);
/* These bytes of a mapped file have been read: whole pages of them leave the process's memory. */
void file_done(const void *p, size_t bytes);

/*
 * Output that appears under its name only when complete and on the disk: written to PATH.tmpXXXXXX
 * beside it, then renamed. Any failure (disk full included) removes the temporary file and leaves
 * PATH as it was; what a killed process has left is removed by the next one that writes PATH. The
 * mode of an existing file is kept, and symbolic links to it. Devices, pipes and /dev/stdout, which
 * `-` means too, get the bytes when all are there.
 */
struct out_file {
    FILE *f; /* may be read and written anywhere */
    char *path, *temporary;
    int direct; /* descriptor of a destination that is not renamed to, plus 1; 0: none */
};
bool out_open(struct out_file *o, const char *path, struct diag *d);
bool out_commit(struct out_file *o, struct diag *d); /* flush, check, rename, close */
void out_abandon(struct out_file *o); /* remove the temporary file; safe after commit */

/* For programs, at their start: signals that end the process remove its temporary files first. */
void out_clean_when_interrupted(void);
/* At a program's end: its exit status, or 1 with a message where what it printed did not get to standard output. */
int out_printed(const char *program, int status);
void out_remove_temporaries(void); /* for a signal handler, or before the process ends */
/* Whether both names lead to one regular file. */
bool file_same(const char *a, const char *b);

/* Whether a name ends so: with ".npz". */
bool name_ends_with(const char *name, const char *end);

bool file_write_all(const char *path, const void *data, size_t size, struct diag *d);

#endif
