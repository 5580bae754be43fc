/*
 * A fuzz target without a fuzzer: replay FILE|FOLDER... runs it once for each file, in order of
 * name. A file that takes longer than a minute or a gigabyte is a failure like a crash.
 *
 * replay --mutate N SEED FOUND FILE|FOLDER...: N runs on what mutations (mutate.h) make of the files
 * instead. What is being run lies in FOUND, and stays there after a crash; what took more than a second of the
 * processor, in FOUND.slow.N. replay --write N SEED FOUND...: they are written to FOUND.0, FOUND.1... instead of run.
 */
#include "test/fuzz/fuzz.h"
#include "test/fuzz/mutate.h"

#include "neff/base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS = 60, MAX_KILOBYTES = 1 << 20 };

static char now[4096];
static int files;

static bool replay_file(const char *path)
{
    struct mapped_file f;
    struct diag d = {0};
    struct rusage usage;
    if (!file_map(&f, path, &d)) {
        fprintf(stderr, "%s\n", d.text);
        return false;
    }
    uint8_t *copy = malloc(f.size ? f.size : 1); /* so that reading past the end is seen */
    if (!copy)
        return false;
    memcpy(copy, f.data, f.size);
    fprintf(stderr, "%s\n", path);
    alarm(SECONDS);
    LLVMFuzzerTestOneInput(copy, f.size);
    alarm(0);
    free(copy);
    file_unmap(&f);
    files++;
    getrusage(RUSAGE_SELF, &usage);
    if (usage.ru_maxrss > MAX_KILOBYTES)
        fprintf(stderr, "%s: takes %ld MB\n", path, usage.ru_maxrss >> 10);
    return usage.ru_maxrss <= MAX_KILOBYTES;
}

static bool replay(const char *path)
{
    struct stat st;
    struct dirent **list;
    if (stat(path, &st) || !S_ISDIR(st.st_mode))
        return replay_file(path);
    int n = scandir(path, &list, NULL, alphasort);
    bool ok = n >= 0;
    for (int i = 0; i < n; i++) {
        snprintf(now, sizeof now, "%.3000s/%.1000s", path, list[i]->d_name);
        if (list[i]->d_name[0] != '.')
            ok &= replay_file(now);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    return ok;
}

/* ---- mutations ---- */

enum { MAX_BYTES = 1 << 16, MAX_INPUTS = 4096, MAX_MUTATIONS = 6 };

struct input {
    uint8_t *data;
    size_t size;
};
static struct input inputs[MAX_INPUTS];
static int ninputs;

static void take(const char *path)
{
    struct mapped_file f;
    struct diag d = {0};
    if (ninputs == MAX_INPUTS || !file_map(&f, path, &d))
        return;
    if (f.size <= MAX_BYTES / 2 && (inputs[ninputs].data = malloc(f.size + 1))) {
        memcpy(inputs[ninputs].data, f.data, f.size);
        inputs[ninputs++].size = f.size;
    }
    file_unmap(&f);
}

static void take_all(const char *path)
{
    struct stat st;
    struct dirent **list;
    if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
        take(path);
        return;
    }
    int n = scandir(path, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        snprintf(now, sizeof now, "%.3000s/%.1000s", path, list[i]->d_name);
        if (list[i]->d_name[0] != '.')
            take(now);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
}

static void run_timed(uint8_t *copy, size_t size, const char *found, long n)
{
    char slow[4200];
    clock_t begin = clock();
    alarm(SECONDS);
    LLVMFuzzerTestOneInput(copy, size);
    alarm(0);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    if (seconds < 1)
        return;
    snprintf(slow, sizeof slow, "%s.slow.%ld", found, n);
    printf("%s: %.1f s\n", slow, seconds);
    rename(found, slow);
}

static bool write_bytes(const char *path, const uint8_t *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(data, 1, size, f) == size;
    return (f ? !fclose(f) : false) && ok;
}

static int mutate(long runs, uint64_t seed, const char *found, bool run)
{
    static uint8_t data[MAX_BYTES];
    char path[4200];
    for (long n = 0; n < runs && ninputs; n++) {
        const struct input *from = &inputs[(mutate_random(&seed) >> 8) % (uint64_t)ninputs];
        size_t size = from->size;
        memcpy(data, from->data, size);
        for (uint64_t times = 1 + mutate_below(&seed, 1 + mutate_below(&seed, MAX_MUTATIONS)); times > 0; times--)
            size = fuzz_mutate(data, size, sizeof data, &seed);
        uint8_t *copy = malloc(size ? size : 1);
        snprintf(path, sizeof path, run ? "%s" : "%s.%ld", found, n);
        if (!copy || !write_bytes(path, data, size))
            return fprintf(stderr, "%s: cannot write\n", path), 1;
        memcpy(copy, data, size);
        if (run)
            run_timed(copy, size, found, n);
        free(copy);
    }
    if (run)
        unlink(found);
    printf("%ld %s\n", ninputs ? runs : 0, run ? "runs" : "files");
    return !ninputs;
}

int main(int argc, char **argv)
{
    bool ok = true;
    bool run = argc > 1 && !strcmp(argv[1], "--mutate"), write = argc > 1 && !strcmp(argv[1], "--write");
    if (argc > 5 && (run || write)) {
        for (int i = 5; i < argc; i++)
            take_all(argv[i]);
        return mutate(atol(argv[2]), strtoull(argv[3], NULL, 10), argv[4], run);
    }
    for (int i = 1; i < argc; i++)
        ok &= replay(argv[i]);
    printf("%d files\n", files);
    return !ok || !files;
}
