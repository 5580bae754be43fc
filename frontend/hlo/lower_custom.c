/* custom-call: what the targets that compilers and frameworks emit mean, by name. */
#include "frontend/hlo/build.h"
#include "frontend/hlo/lower_ops.h"

#include <string.h>

static bool target_pass(struct hlo_lower *l) { return hlo_lower_pass(l); }

static bool target_kernel(struct hlo_lower *l)
{
    return HLO_ERROR(l, "%s", hlo_custom_call_reason(&l->g->arena, l->i));
}

const struct hlo_target hlo_targets[] = {
    {"Sharding", target_pass, "its operand; where it lives is for several devices"},
};
const int hlo_target_count = sizeof hlo_targets / sizeof *hlo_targets;

const struct hlo_target *hlo_target_find(const char *name)
{
    for (int k = 0; k < hlo_target_count; k++) {
        size_t n = strlen(hlo_targets[k].name);
        bool prefix = hlo_targets[k].name[n - 1] == '*';
        if (prefix ? !strncmp(hlo_targets[k].name, name, n - 1) : !strcmp(hlo_targets[k].name, name))
            return &hlo_targets[k];
    }
    return NULL;
}

const char *hlo_custom_call_reason(struct arena *a, const struct hlo_instruction *i)
{
    return arena_printf(a, "custom-call of '%s', a target that is not known", hlo_attr_text(i, HLO_ATTR_custom_call_target));
}

bool hlo_lower_custom_call(struct hlo_lower *l)
{
    const struct hlo_target *t = hlo_target_find(hlo_attr_text(l->i, HLO_ATTR_custom_call_target));
    return t ? t->lower(l) : target_kernel(l);
}
