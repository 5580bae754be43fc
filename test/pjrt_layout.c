/*
 * Our declarations of PJRT against a published header (pjrt_layout.sh): it compiles only if the two agree.
 */
#include "pjrt_c_api.h"

#include "frontend/pjrt/api.h"

#define SAME(ours, theirs, text) _Static_assert((ours) == (theirs), text)

/* Every field of every call that the header has. */
#define IN(type, name)                                                                             \
    SAME(offsetof(SELF, name), offsetof(THEIRS, name), #name);                                     \
    SAME(sizeof(((SELF *)0)->name), sizeof(((THEIRS *)0)->name), #name);
#define OUT IN
#define LATE(type, name)
#define CALL(name, ...)                                                                            \
    static inline void check_##name(void)                                                          \
    {                                                                                              \
        typedef struct args_##name SELF;                                                           \
        typedef PJRT_##name##_Args THEIRS;                                                         \
        SAME(sizeof(struct args_##name) ? offsetof(PJRT_Api, PJRT_##name) : 0,                     \
             offsetof(struct pjrt_api, entry) + PJRT_ENTRY_##name * sizeof(void *), #name);        \
        __VA_ARGS__                                                                                \
    }
#define NONE(name)                                                                                 \
    SAME(offsetof(PJRT_Api, PJRT_##name),                                                          \
         offsetof(struct pjrt_api, entry) + PJRT_ENTRY_##name * sizeof(void *), #name);
#include "rows.def" /* the rows of api.def that the header knows */

SAME(offsetof(struct pjrt_named, value), offsetof(PJRT_NamedValue, string_value), "value");
SAME(offsetof(struct pjrt_named, value_size), offsetof(PJRT_NamedValue, value_size), "value_size");
SAME(PJRT_INT64_LIST, PJRT_NamedValue_kInt64List, "list");
SAME(offsetof(struct pjrt_program, format_size), offsetof(PJRT_Program, format_size), "format_size");
SAME(offsetof(struct pjrt_layout, tiled.num_tiles), offsetof(PJRT_Buffer_MemoryLayout, tiled.num_tiles), "tiles");
SAME(offsetof(struct pjrt_layout, strides.num_byte_strides),
     offsetof(PJRT_Buffer_MemoryLayout, strides.num_byte_strides), "strides");
SAME(offsetof(struct pjrt_layout, kind), offsetof(PJRT_Buffer_MemoryLayout, type), "layout");
SAME(offsetof(struct pjrt_execute_options, num_non_donatable_input_indices),
     offsetof(PJRT_ExecuteOptions, num_non_donatable_input_indices), "options");
SAME(PJRT_UNIMPLEMENTED, PJRT_Error_Code_UNIMPLEMENTED, "code");
SAME(PJRT_INVALID_ARGUMENT, PJRT_Error_Code_INVALID_ARGUMENT, "code");
SAME(PJRT_FAILED_PRECONDITION, PJRT_Error_Code_FAILED_PRECONDITION, "code");
SAME(PJRT_RESOURCE_EXHAUSTED, PJRT_Error_Code_RESOURCE_EXHAUSTED, "code");
SAME(PJRT_INTERNAL, PJRT_Error_Code_INTERNAL, "code");
SAME(PJRT_LAYOUTS, PJRT_Extension_Type_Layouts, "layouts");
SAME(PJRT_Buffer_Type_S4, 21, "types.def");
SAME(PJRT_Buffer_Type_TOKEN, 23, "types.def");
SAME(PJRT_Buffer_Type_F4E2M1FN, 29, "types.def");

int main(void)
{
    return 0;
}
