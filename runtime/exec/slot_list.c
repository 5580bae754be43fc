/* Lists of slots, and of other numbers, in an arena. */
#include "runtime/exec/state.h"

void slot_list_append(struct arena *a, struct slot_list *l, int slot)
{
    if ((l->count & (l->count - 1)) == 0) {
        int32_t *grown = ARENA_ARRAY(a, int32_t, l->count ? l->count * 2 : 1);
        arena_move_(grown, l->slots, sizeof *grown * (size_t)l->count);
        l->slots = grown;
    }
    l->slots[l->count++] = slot;
}

void slot_list_add(struct arena *a, struct slot_list *l, int slot)
{
    for (int i = 0; i < l->count; i++)
        if (l->slots[i] == slot)
            return;
    slot_list_append(a, l, slot);
}
