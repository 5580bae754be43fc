/*
 * Runs a library of `xcc --standalone` on .npy files, for standalone_models.sh: compiled with
 * -DNAME=model -DHEADER='"model.h"'; -DRUNS=1: where time says nothing.
 *
 *     run OUT INPUT.npy...       writes OUT_0.bin, OUT_1.bin... ; prints the median time in us
 *
 * The sizes of open dimensions follow from the first inputs that have them: -DDIMS="input,dim," ...
 * for each symbol.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include HEADER

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define CALL(f)     JOIN(NAME, f)

#ifndef RUNS
#define RUNS 21
#endif
enum { MAX_TENSORS = 64 };

struct array {
    char *data;
    size_t bytes;
    int rank;
    int64_t dims[12];
};

static struct array read_npy(const char *path)
{
    struct array a = {0};
    FILE *f = fopen(path, "rb");
    unsigned char start[10];
    if (!f || fread(start, 1, 10, f) != 10)
        exit(2);
    size_t n = start[8] | (size_t)start[9] << 8;
    char *header = calloc(n + 1, 1);
    if (fread(header, 1, n, f) != n)
        exit(2);
    for (char *s = strchr(strstr(header, "'shape'"), '(') + 1; *s != ')';) {
        if (*s >= '0' && *s <= '9')
            a.dims[a.rank++] = strtoll(s, &s, 10);
        else
            s++;
    }
    long at = ftell(f);
    fseek(f, 0, SEEK_END);
    a.bytes = (size_t)(ftell(f) - at);
    fseek(f, at, SEEK_SET);
    a.data = aligned_alloc(64, (a.bytes + 127) / 64 * 64);
    if (fread(a.data, 1, a.bytes, f) != a.bytes)
        exit(2);
    free(header);
    fclose(f);
    return a;
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct array in[MAX_TENSORS];
    const void *inputs[MAX_TENSORS];
    void *outputs[MAX_TENSORS];
    double us[RUNS];
    int n = argc - 2;
    for (int i = 0; i < n; i++) {
        in[i] = read_npy(argv[i + 2]);
        inputs[i] = in[i].data;
    }
    size_t size = CALL(_context_size)();
#ifdef DIMS
    static const int from[][2] = {DIMS}, limits[] = {LIMITS}; /* up to which that size does */
    int64_t symbols[MAX_TENSORS], over = 1;
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        symbols[i] = in[from[i][0]].dims[from[i][1]];
        over *= symbols[i] > limits[i] ? (symbols[i] + limits[i] - 1) / limits[i] : 1;
    }
    size *= over;
#endif
    void *memory = malloc(size);
    struct NAME *m = CALL(_init)(memory, size);
    if (!m)
        return fprintf(stderr, "init: %s\n", CALL(_error)(m)), 1;
#ifdef DIMS
    if (CALL(_bind)(m, symbols))
        return fprintf(stderr, "bind: %s\n", CALL(_error)(m)), 1;
#endif
    static const size_t room[] = {ROOM};
    for (int i = 0; i < OUTPUTS; i++)
        outputs[i] = aligned_alloc(64, ((room[i] ? room[i] : CALL(_output_bytes)(m, i)) + 127) / 64 * 64);
    for (int r = 0; r < RUNS; r++) {
        double start = now_us();
        if (CALL(_run)(m, inputs, outputs))
            return fprintf(stderr, "run: %s\n", CALL(_error)(m)), 1;
        us[r] = now_us() - start;
    }
    for (int i = 0; i < OUTPUTS; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s_%d.bin", argv[1], i);
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(outputs[i], 1, CALL(_output_bytes)(m, i), f) != CALL(_output_bytes)(m, i))
            return 2;
        fclose(f);
    }
    qsort(us, RUNS, sizeof *us, compare);
    printf("%.1f\n", us[RUNS / 2]);
    return 0;
}
