/*
 * The simulator against public measurements: kernels of models/kernels, scheduled as xcc does.
 * runtime/sim/MODEL.md says where the figures are from and what each kernel assumes.
 */
#include "neff_test.h"

#include "neff/base/file.h"
#include "runtime/sim/sim.h"

struct sim_outcome {
    struct sim_summary y;
    double track[TRACK_COUNT];
};

static struct sim_outcome simulate(const char *file, const char *machine)
{
    struct diag d = {0};
    struct mapped_file text;
    struct sim_outcome out = {0};
    if (!file_map(&text, file, &d))
        fail_msg("%s", d.text);
    struct program *p = program_parse((const char *)text.data, text.size, file, &d);
    const struct machine *m = machine_find(machine);
    if (!p)
        fail_msg("%s: %s", file, d.text);
    struct sim_options o = {.machine = m, .cores = 1, .max_records = 1 << 20};
    o.values = sim_bind(p, NULL, 0, NULL, &p->arena, &d);
    struct sim *s = sim_run(p, &o, &d);
    if (!s)
        fail_msg("%s: %s", file, d.text);
    sim_summarise(s, &out.y);
    sim_free(s);
    program_free(p);
    file_unmap(&text);
    return out;
}

static void assert_within(const char *what, double got, double want, double share)
{
    if (got < want * (1 - share) || got > want * (1 + share))
        fail_msg("%s: %.2f, measured %.2f", what, got, want);
}

static void test_mamba(void **state)
{
    struct sim_outcome v1 = simulate("models/kernels/mamba_v1.xasm", "trn1");
    assert_within("mamba v1, us", v1.y.latency_us, 172.93, 0.05);
    assert_within("mamba v1, VectorE", v1.y.share[ENGINE_DVE], 0.9871, 0.05);
    struct sim_outcome v2 = simulate("models/kernels/mamba_v2.xasm", "trn1");
    assert_within("mamba v2, us", v2.y.latency_us, 1610, 0.05);
    assert_within("mamba v2, VectorE", v2.y.share[ENGINE_DVE], 0.9963, 0.05);
}

static void test_matmul(void **state)
{
    struct sim_outcome x = simulate("models/kernels/matmul_2048.xasm", "trn2");
    if (x.y.mfu < 0.9092 - 0.03 || x.y.mfu > 0.9092 + 0.03)
        fail_msg("MFU %.2f%%, measured 90.92%%", 100 * x.y.mfu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mamba),
        cmocka_unit_test(test_matmul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
