/*
 * Routines that LAPACK computes, through its C interface LAPACKE (Debian: liblapacke). The library
 * is loaded when the first of them runs: programs without them need none. Functions are declared
 * here as the interface's documentation has them; pointers stand for arrays of any element type.
 */
#include "runtime/ops/common/complex_number.h"
#include "runtime/ops/linalg/linalg.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { COLUMN_MAJOR = 102 };

static void *library;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load_library(void)
{
    static const char *const names[] = {"liblapacke.so.3", "liblapacke.so"};
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
}

static char letter(const struct linalg_call *c)
{
    return c->dtype == DT_F32 ? 's' : c->dtype == DT_F64 ? 'd' : c->dtype == DT_C64 ? 'c' : 'z';
}

static bool is_complex(const struct linalg_call *c)
{
    return dtype_is_complex(c->dtype);
}

/* The function LAPACKE_<letter><name>; NULL after a failure. */
static void *routine(const struct linalg_call *c, const char *name)
{
    char full[40];
    pthread_once(&once, load_library);
    if (!library) {
        fail(c->w->d, "needs LAPACK, which is not installed: install the package liblapacke");
        return NULL;
    }
    snprintf(full, sizeof full, "LAPACKE_%c%s", letter(c), name);
    void *f = dlsym(library, full);
    if (!f)
        fail(c->w->d, "the LAPACK library has no %s", full);
    return f;
}

/* What LAPACK returns; memory that it could not get is ours to report. */
static bool finish(struct linalg_call *c, int result, int status)
{
    if (status <= -1010)
        return fail_memory(c->w->d, "out of memory in LAPACK");
    if (result >= 0)
        *(int32_t *)c->out[result] = status;
    return true;
}

/* LAPACK wants leading dimensions of 1 and more, and nothing of matrices without elements. */
static bool is_empty(const struct linalg_call *c)
{
    return c->m == 0 || c->n == 0;
}

bool library_syevd(struct linalg_call *c)
{
    typedef int (*fn)(int, char, char, int, void *, int, void *);
    int n = (int)c->n;
    fn f = routine(c, is_complex(c) ? "heevd" : "syevd");
    if (!f)
        return false;
    linalg_overwrite(c, 0, 0);
    return is_empty(c) ||
           finish(c, 2,
                  f(COLUMN_MAJOR, (char)linalg_job(c, "job", 'V'), (char)linalg_job(c, "uplo", 'L'),
                    n, c->out[0], n, c->out[1]));
}

bool library_sytrd(struct linalg_call *c)
{
    typedef int (*fn)(int, char, int, void *, int, void *, void *, void *);
    int n = (int)c->n;
    fn f = routine(c, is_complex(c) ? "hetrd" : "sytrd");
    if (!f)
        return false;
    linalg_overwrite(c, 0, 0);
    return is_empty(c) || finish(c, 4,
                                 f(COLUMN_MAJOR, (char)linalg_job(c, "uplo", 'L'), n, c->out[0], n,
                                   c->out[1], c->out[2], c->out[3]));
}

bool library_geqp3(struct linalg_call *c)
{
    typedef int (*fn)(int, int, int, void *, int, void *, void *);
    fn f = routine(c, "geqp3");
    if (!f)
        return false;
    linalg_overwrite(c, 0, 0);
    linalg_overwrite(c, 1, 1);
    return is_empty(c) || finish(c, -1,
                                 f(COLUMN_MAJOR, (int)c->m, (int)c->n, c->out[0], (int)c->m,
                                   c->out[1], c->out[2]));
}

/* ---- singular values ---- */

static int vector_rows(const struct linalg_call *c)
{
    return c->v ? (int)c->v : 1;
}

bool library_gesdd(struct linalg_call *c)
{
    typedef int (*fn)(int, char, int, int, void *, int, void *, void *, int, void *, int);
    fn f = routine(c, "gesdd");
    if (!f)
        return false;
    linalg_overwrite(c, 0, 0);
    return is_empty(c) ||
           finish(c, 4,
                  f(COLUMN_MAJOR, (char)linalg_job(c, "job", 'S'), (int)c->m, (int)c->n, c->out[0],
                    (int)c->m, c->out[1], c->out[2], (int)c->m, c->out[3], vector_rows(c)));
}

bool library_gesvd(struct linalg_call *c)
{
    typedef int (*fn)(int, char, char, int, int, void *, int, void *, void *, int, void *, int,
                      void *);
    char job = (char)linalg_job(c, "job", 'S');
    fn f = routine(c, "gesvd");
    double *rest = WORK(c->w, double, c->k + 1);
    if (!f || !rest)
        return false;
    linalg_overwrite(c, 0, 0);
    return is_empty(c) ||
           finish(c, 4,
                  f(COLUMN_MAJOR, job, job, (int)c->m, (int)c->n, c->out[0], (int)c->m, c->out[1],
                    c->out[2], (int)c->m, c->out[3], vector_rows(c), rest));
}

/* ---- eigenvalues of any matrix ---- */

/* Real LAPACK gives a conjugate pair of vectors as real and imaginary part, columns j and j + 1. */
static void unpack(const struct linalg_call *c, const void *packed, void *to)
{
    const double *wi = c->out[1], *v = packed;
    const float *wi_f = c->out[1], *v_f = packed;
    bool wide = c->dtype == DT_F64;
    int64_t n = c->n;
    double complex *y = to;
    float complex *y_f = to;
    for (int64_t j = 0; j < n; j++) {
        bool pair = (wide ? wi[j] != 0 : wi_f[j] != 0) && j + 1 < n;
        for (int64_t i = 0; i < n; i++) {
            int64_t re = i + j * n, im = i + (j + 1) * n;
            double complex x = wide ? CMPLX(v[re], pair ? v[im] : 0) : CMPLX(v_f[re], pair ? v_f[im] : 0);
            for (int k = 0; k <= pair; k++, x = conj(x)) {
                if (wide)
                    y[re + k * n] = x;
                else
                    y_f[re + k * n] = (float complex)x;
            }
        }
        j += pair;
    }
}

bool library_geev(struct linalg_call *c)
{
    typedef int (*fn)(int, char, char, int, void *, int, void *, void *, void *, int, void *, int);
    int n = (int)c->n;
    fn f = routine(c, "geev");
    void *a = work_take(c->w, c->in_count[0] + 1, sizeof(double)),
         *left = work_take(c->w, c->in_count[0] + 1, sizeof(double)),
         *right = work_take(c->w, c->in_count[0] + 1, sizeof(double));
    if (!f || !a || !left || !right)
        return false;
    if (is_empty(c))
        return true;
    char jobs[2] = {(char)linalg_job(c, "left_job", 'N'), (char)linalg_job(c, "job", 'N')};
    memcpy(a, c->in[0], (size_t)c->in_count[0] * c->in_size[0]);
    int status = f(COLUMN_MAJOR, jobs[0], jobs[1], n, a, n, c->out[0], c->out[1], left, n, right, n);
    if (jobs[0] == 'V')
        unpack(c, left, c->out[2]);
    if (jobs[1] == 'V')
        unpack(c, right, c->out[3]);
    return finish(c, 4, status);
}

bool library_geev_complex(struct linalg_call *c)
{
    typedef int (*fn)(int, char, char, int, void *, int, void *, void *, int, void *, int);
    int n = (int)c->n;
    fn f = routine(c, "geev");
    void *a = work_take(c->w, c->in_count[0] + 1, sizeof(double complex));
    if (!f || !a)
        return false;
    memcpy(a, c->in[0], (size_t)c->in_count[0] * c->in_size[0]);
    return is_empty(c) || finish(c, 3,
                                 f(COLUMN_MAJOR, (char)linalg_job(c, "left_job", 'N'),
                                   (char)linalg_job(c, "job", 'N'), n, a, n, c->out[0], c->out[1],
                                   n, c->out[2], n));
}

bool library_gees(struct linalg_call *c)
{
    typedef int (*fn)(int, char, char, void *, int, void *, int, void *, void *, void *, void *,
                      int);
    int n = (int)c->n;
    fn f = routine(c, "gees");
    if (!f)
        return false;
    linalg_overwrite(c, 0, 0);
    return is_empty(c) || finish(c, 5,
                                 f(COLUMN_MAJOR, (char)linalg_job(c, "job", 'V'), 'N', NULL, n,
                                   c->out[0], n, c->out[4], c->out[2], c->out[3], c->out[1], n));
}

bool library_gees_complex(struct linalg_call *c)
{
    typedef int (*fn)(int, char, char, void *, int, void *, int, void *, void *, void *, int);
    int n = (int)c->n;
    fn f = routine(c, "gees");
    if (!f)
        return false;
    linalg_overwrite(c, 0, 0);
    return is_empty(c) || finish(c, 4,
                                 f(COLUMN_MAJOR, (char)linalg_job(c, "job", 'V'), 'N', NULL, n,
                                   c->out[0], n, c->out[3], c->out[2], c->out[1], n));
}
