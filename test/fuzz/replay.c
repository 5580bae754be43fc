/*
 * A fuzz target without a fuzzer: replay FILE|FOLDER... runs it once for each file, in order of
 * name. A file that takes longer than a minute or a gigabyte is a failure like a crash.
 */
#include "test/fuzz/fuzz.h"

#include "neff/base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECONDS = 60, MOST_KILOBYTES = 1 << 20 };

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
    if (usage.ru_maxrss > MOST_KILOBYTES)
        fprintf(stderr, "%s: takes %ld MB\n", path, usage.ru_maxrss >> 10);
    return usage.ru_maxrss <= MOST_KILOBYTES;
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

int main(int argc, char **argv)
{
    bool ok = true;
    for (int i = 1; i < argc; i++)
        ok &= replay(argv[i]);
    printf("%d files\n", files);
    return !ok || !files;
}
