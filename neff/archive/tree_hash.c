#include "neff/archive/tree_hash.h"

#include "neff/archive/archive.h"

#include <nettle/sha2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, MAX_THREADS = 8 };

_Static_assert(TREE_HASH_SIZE == SHA256_DIGEST_SIZE, "digest size");

struct hash_job {
    const uint8_t *data; /* or NULL, then the file */
    int fd;
    uint64_t offset;
    size_t size, nchunks;
    uint8_t (*digests)[SHA256_DIGEST_SIZE];
    atomic_size_t next;
    atomic_bool failed;
};

static bool read_chunk(const struct hash_job *j, uint64_t from, uint8_t *buffer, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(j->fd, buffer + done, n - done, (off_t)(j->offset + from + done));
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static void *hash_chunks(void *arg)
{
    struct hash_job *j = arg;
    uint8_t *buffer = j->data ? NULL : malloc(CHUNK);
    for (size_t i; (i = atomic_fetch_add(&j->next, 1)) < j->nchunks;) {
        uint64_t from = (uint64_t)i * CHUNK;
        size_t n = j->size - from < CHUNK ? (size_t)(j->size - from) : CHUNK;
        struct sha256_ctx c;
        if (!j->data && (!buffer || !read_chunk(j, from, buffer, n))) {
            atomic_store(&j->failed, true);
            break;
        }
        sha256_init(&c);
        sha256_update(&c, n, j->data ? j->data + from : buffer);
        sha256_digest(&c, SHA256_DIGEST_SIZE, j->digests[i]);
    }
    free(buffer);
    return NULL;
}

static bool run(struct hash_job *j, uint8_t out[TREE_HASH_SIZE])
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t threads[MAX_THREADS];
    int n = 0, want = cores > MAX_THREADS ? MAX_THREADS : (int)cores;
    j->nchunks = (j->size + CHUNK - 1) / CHUNK;
    j->digests = malloc((j->nchunks ? j->nchunks : 1) * sizeof *j->digests);
    if (!j->digests)
        return false;
    while (n < want - 1 && (size_t)n + 1 < j->nchunks &&
           pthread_create(&threads[n], NULL, hash_chunks, j) == 0)
        n++;
    hash_chunks(j);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    struct sha256_ctx all;
    sha256_init(&all);
    sha256_update(&all, j->nchunks * sizeof *j->digests, j->digests[0]);
    sha256_digest(&all, SHA256_DIGEST_SIZE, out);
    free(j->digests);
    return !atomic_load(&j->failed);
}

void tree_hash_memory(const uint8_t *data, size_t size, uint8_t out[TREE_HASH_SIZE])
{
    struct hash_job j = {.data = data, .size = size};
    run(&j, out);
}

bool tree_hash_file(int fd, uint64_t offset, size_t size, uint8_t out[TREE_HASH_SIZE])
{
    struct hash_job j = {.fd = fd, .offset = offset, .size = size};
    return run(&j, out);
}

bool neff_check_hash(const struct neff_file *f, struct diag *d)
{
    uint8_t digest[32];
    tree_hash_memory(f->data + NEFF_HEADER_SIZE, f->size - NEFF_HEADER_SIZE, digest);
    return !memcmp(digest, f->header.hash, 32) ||
           fail(d, "the archive's contents differ from its hash: it is damaged");
}
