#include "runtime/ops/common/random.h"

#include "neff/base/splitmix.h"

#include <math.h>
#include <string.h>

static uint64_t rotate(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void random_seed(struct random *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        r->s[i] = splitmix(&seed);
}

uint64_t random_bits(struct random *r)
{
    uint64_t *s = r->s, result = rotate(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

double random_unit(struct random *r)
{
    return (double)(random_bits(r) >> 11) * 0x1p-53;
}

static const struct attr *seed_of(const struct op_call *c)
{
    const struct attr *a = attr_find(c->attrs, "seed");
    return a && (a->kind == ATTR_FLOAT || a->kind == ATTR_INT) ? a : NULL;
}

struct random call_random(const struct op_call *c)
{
    const struct attr *seed = seed_of(c);
    struct random r;
    memcpy(r.s, c->env->random, sizeof r.s);
    if (seed) {
        double value = seed->kind == ATTR_INT ? (double)seed->i : seed->f;
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        random_seed(&r, bits);
    } else if (!(r.s[0] | r.s[1] | r.s[2] | r.s[3])) {
        random_seed(&r, 0);
    }
    return r;
}

void call_random_done(struct op_call *c, const struct random *r)
{
    if (!seed_of(c))
        memcpy(c->env->random, r->s, sizeof r->s);
}

/* ---- random_normal, random_uniform ---- */

static bool infer_random(struct infer *f)
{
    int dtype = (int)attr_int(f->attrs, "dtype", DT_F32);
    struct content shape = infer_content(f, 0);
    if (!dtype_is_float(dtype))
        return fail(f->d, "dtype is %s, expected a float type", dtype_name(dtype));
    if (shape.n >= 0)
        return infer_out(f, 0, dtype, (int)shape.n, shape.v);
    if (f->in[0].rank == 1 && dim_is_const(f->in[0].dims[0]) && f->in[0].dims[0] <= MAX_RANK) {
        dim_t dims[MAX_RANK];
        for (int i = 0; i < f->in[0].dims[0]; i++)
            dims[i] = infer_unknown(f, "random");
        return infer_out(f, 0, dtype, (int)f->in[0].dims[0], dims);
    }
    return infer_out(f, 0, dtype, RANK_UNKNOWN, NULL);
}

INFER_AS(random_normal, infer_random)
INFER_AS(random_uniform, infer_random)

enum { CHUNK = 256 }; /* even: normal numbers come in pairs */

static void fill(struct op_call *c, void (*draw)(struct random *r, double *x, int n), double offset,
                 double factor)
{
    struct tensor *y = c->out[0];
    struct random r = call_random(c);
    int64_t n = tensor_count(y);
    double x[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int m = n - at < CHUNK ? (int)(n - at) : CHUNK;
        draw(&r, x, m);
        for (int i = 0; i < m; i++)
            x[i] = offset + factor * x[i];
        dtype_store_f64n(y->dtype, (char *)y->data + (size_t)at * dtype_bytes(y->dtype), (size_t)m,
                         x);
    }
    call_random_done(c, &r);
}

static void units(struct random *r, double *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = random_unit(r);
}

/* Marsaglia's polar method: of a point in the unit circle come two numbers. */
static void normals(struct random *r, double *x, int n)
{
    for (int i = 0; i < n;) {
        double u = 2 * random_unit(r) - 1, v = 2 * random_unit(r) - 1, s = u * u + v * v;
        if (s >= 1 || s == 0)
            continue;
        double factor = sqrt(-2 * log(s) / s);
        x[i++] = u * factor;
        x[i++] = v * factor;
    }
}

bool eval_random_normal(struct op_call *c)
{
    fill(c, normals, attr_float(c->attrs, "mean", 0), attr_float(c->attrs, "scale", 1));
    return true;
}

bool eval_random_uniform(struct op_call *c)
{
    double low = attr_float(c->attrs, "low", 0), high = attr_float(c->attrs, "high", 1);
    fill(c, units, low, high - low);
    return true;
}
