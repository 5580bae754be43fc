#define _GNU_SOURCE
#include "runtime/kernels/generate.h"

#if XCC_XSMM
#include <libxsmm.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { CODE_BYTES = 128 << 10, PAGE = 4096, BUCKETS = 1024 };

struct generated_shape {
    int type, outs, rows, k, w_pitch, a_pitch, c_pitch, add;
};
struct made {
    struct generated_shape shape;
    void (*kernel)(void); /* NULL: the generator cannot */
    struct made *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct made *table[BUCKETS];
static unsigned char code[CODE_BYTES];

static unsigned bucket(const struct generated_shape *s)
{
    const unsigned values[] = {(unsigned)s->outs,    (unsigned)s->rows,    (unsigned)s->k,
                               (unsigned)s->w_pitch, (unsigned)s->a_pitch, (unsigned)s->c_pitch,
                               (unsigned)s->add,     (unsigned)s->type};
    unsigned h = 0;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        h = (h ^ values[i]) * 0x9E3779B1u;
    return h >> 22;
}

/* Memory that holds the code and may be executed, never both written and executed. */
static void *executable(const void *from, size_t bytes)
{
    size_t room = (bytes + PAGE - 1) / PAGE * PAGE;
    void *p = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    memcpy(p, from, bytes);
    if (mprotect(p, room, PROT_READ | PROT_EXEC) == 0)
        return p;
    munmap(p, room);
    return NULL;
}

/* Wide registers do not pay for a few elements. */
static int target(const struct generated_shape *s)
{
    enum { FEW = 16 };
    static int cpu = -1; /* asking is slow on virtual machines */
    if (cpu < 0)
        cpu = libxsmm_cpuid();
    bool few = (int64_t)s->outs * s->k <= FEW || (int64_t)s->k * s->rows <= FEW ||
               (int64_t)s->outs * s->rows <= FEW;
    return s->type == GEMM_F32 && few && cpu > LIBXSMM_X86_AVX2 ? LIBXSMM_X86_AVX2 : cpu;
}

/* libxsmm is column-major: its A (m x k) is our W, its B (k x n) our A, so m = outs, n = rows. */
static void *make(const struct generated_shape *s)
{
    libxsmm_descriptor_blob blob;
    const int flags = LIBXSMM_GEMM_FLAG_BATCH_REDUCE_ADDRESS, fetch = LIBXSMM_GEMM_PREFETCH_NONE;
    const float add = s->add ? 1.0f : 0.0f;
    libxsmm_gemm_descriptor *d =
        s->type == GEMM_F32
            ? libxsmm_sgemm_descriptor_init(&blob, s->outs, s->rows, s->k, s->w_pitch, s->a_pitch,
                                            s->c_pitch, 1.0f, add, flags, fetch)
            : libxsmm_bsgemm_descriptor_init(&blob, s->outs, s->rows, s->k, s->w_pitch, s->a_pitch,
                                             s->c_pitch, 1.0f, add,
                                             flags | LIBXSMM_GEMM_FLAG_VNNI_A, fetch);
    libxsmm_generated_code g = {
        .generated_code = code, .buffer_size = sizeof code, .code_type = 2, .arch = target(s)};
    if (!d)
        return NULL;
    libxsmm_generator_gemm_kernel(&g, d);
    return g.last_error || !g.code_size ? NULL : executable(code, g.code_size);
}

void (*gemm_generate(const struct gemm_tile *t, int k, bool add))(void)
{
    enum { MOST = 1 << 28 }; /* elements: the generator counts bytes in an int */
    if (t->a_pitch < k || t->a_pitch > MOST || t->c_pitch < t->outs || t->c_pitch > MOST)
        return NULL; /* rows that overlap, of A or C */
    struct generated_shape s = {t->type,    t->outs,         t->rows,         k,
                      t->w_pitch, (int)t->a_pitch, (int)t->c_pitch, add};
    pthread_mutex_lock(&lock);
    struct made **head = &table[bucket(&s)], *m = *head;
    while (m && memcmp(&m->shape, &s, sizeof s))
        m = m->next;
    if (!m && (m = malloc(sizeof *m))) {
        union {
            void *data;
            void (*kernel)(void);
        } made = {make(&s)};
        *m = (struct made){s, made.kernel, *head};
        *head = m;
    }
    pthread_mutex_unlock(&lock);
    return m ? m->kernel : NULL;
}
#endif
