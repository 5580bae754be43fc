/*
 * Damaged model files: truncated and mutated copies of the operator suite's models are read to a
 * graph or to a message, never to a crash. The same mutations every time.
 */
#include "frontend/onnx/onnx.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { MUTATIONS = 24, EVERY = 8 };

static const char *data_folder(void)
{
    const char *given = getenv("XCC_TEST_DATA");
    return given ? given : "../shared/data";
}

static uint64_t state;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static void quiet(void *user, const char *text) {}

/* Imports the bytes from a file; what counts is that it returns, with a graph or with a message. */
static bool import_bytes(const char *path, const uint8_t *p, size_t n)
{
    struct diag d = {.warn = quiet};
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    fclose(f);
    struct graph *g = onnx_import(path, NULL, &d);
    assert_true(g ? !diag_failed(&d) : diag_failed(&d));
    if (g)
        graph_free(g);
    return g != NULL;
}

static void mutate(uint8_t *p, size_t n)
{
    static const uint8_t telling[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0x0a, 0x12, 0x3a};
    for (uint32_t k = 1 + draw(3); k > 0; k--) {
        uint32_t at = draw((uint32_t)n);
        switch (draw(4)) {
        case 0:
            p[at] ^= (uint8_t)(1u << draw(8));
            break;
        case 1:
            p[at] = telling[draw(sizeof telling)];
            break;
        case 2:
            p[at] = (uint8_t)draw(256);
            break;
        default:
            memmove(p + at, p + draw((uint32_t)n - at) + at, 1);
        }
    }
}

static void damage_model(const char *model, const char *scratch)
{
    struct mapped_file m;
    struct diag d = {0};
    if (!file_map(&m, model, &d))
        return;
    size_t n = m.size;
    uint8_t *copy = malloc(n + 1);
    assert_non_null(copy);
    for (int i = 0; n > 0 && n < 1 << 20 && i < MUTATIONS; i++) {
        memcpy(copy, m.data, n);
        size_t size = n;
        if (i % 4 == 0)
            size = draw((uint32_t)n);
        else
            mutate(copy, n);
        import_bytes(scratch, copy, size);
    }
    free(copy);
    file_unmap(&m);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void damage_folder(const char *folder, const char *scratch)
{
    struct dirent **list;
    char path[4400];
    int n = scandir(folder, &list, NULL, by_name);
    if (n < 0) {
        print_message("%s is absent: nothing damaged\n", folder);
        return;
    }
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%.4000s/%s/model.onnx", folder, list[i]->d_name);
        if (i % EVERY == 0 && list[i]->d_name[0] != '.')
            damage_model(path, scratch);
        free(list[i]);
    }
    free(list);
}

static void damaged_models(void **unused)
{
    static const char *const folders[] = {"onnx/node", "onnx/simple", "onnx/pytorch-operator"};
    char scratch[] = "/tmp/xcc-damage-XXXXXX", path[4096];
    int fd = mkstemp(scratch);
    assert_true(fd >= 0);
    close(fd);
    state = 1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", data_folder(), folders[i]);
        damage_folder(path, scratch);
    }
    unlink(scratch);
}

/* A message nested in itself: GraphProto in AttributeProto in NodeProto, a thousand times. */
static void deep_nesting(void **unused)
{
    enum { LEVELS = 1000 };
    static uint8_t bytes[LEVELS * 32];
    char scratch[] = "/tmp/xcc-damage-XXXXXX";
    int fd = mkstemp(scratch);
    assert_true(fd >= 0);
    close(fd);
    size_t at = sizeof bytes, end = sizeof bytes;
    static const uint8_t tags[] = {0x32, 0x2a, 0x0a}; /* graph g, attribute, node */
    for (int i = 0; i < LEVELS * 3; i++) {
        size_t n = end - at;
        uint8_t head[4] = {i == LEVELS * 3 - 1 ? 0x3a : tags[i % 3], (uint8_t)(n | 0x80),
                           (uint8_t)(n >> 7 | 0x80), (uint8_t)(n >> 14)};
        at -= sizeof head;
        memcpy(bytes + at, head, sizeof head);
    }
    assert_false(import_bytes(scratch, bytes + at, end - at));
    unlink(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_models),
        cmocka_unit_test(deep_nesting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
