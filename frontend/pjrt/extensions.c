/*
 * The extensions Layouts and Shardings: arrays are row-major and on one device.
 */
#include "frontend/pjrt/plugin.h"

#include <string.h>

/* A layout is its text: the dimensions, the fastest varying first. It is the same for all arrays of a
 * rank. */
struct pjrt_order {
    size_t size;
    const char *text;
};
#define ORDER(text) {sizeof text - 1, text}
static const struct pjrt_order orders[] = {
    ORDER("{}"),
    ORDER("{0}"),
    ORDER("{1,0}"),
    ORDER("{2,1,0}"),
    ORDER("{3,2,1,0}"),
    ORDER("{4,3,2,1,0}"),
    ORDER("{5,4,3,2,1,0}"),
    ORDER("{6,5,4,3,2,1,0}"),
    ORDER("{7,6,5,4,3,2,1,0}"),
    ORDER("{8,7,6,5,4,3,2,1,0}"),
    ORDER("{9,8,7,6,5,4,3,2,1,0}"),
    ORDER("{10,9,8,7,6,5,4,3,2,1,0}"),
    ORDER("{11,10,9,8,7,6,5,4,3,2,1,0}"),
};
_Static_assert(sizeof orders / sizeof orders[0] == XRT_MAX_RANK + 1, "a row for each rank");

const struct pjrt_order *order_of(size_t rank)
{
    return &orders[rank];
}

struct pjrt_error *pjrt_Layouts_MemoryLayout_Destroy(struct args_Layouts_MemoryLayout_Destroy *a)
{
    return NULL;
}

ANSWER(Layouts_MemoryLayout_Serialize, a->serialized_bytes = a->layout->text,
       a->serialized_bytes_size = a->layout->size, a->serialized_layout = NULL,
       a->serialized_layout_deleter = nothing_to_free)

static struct pjrt_error *give_order(size_t rank, const struct pjrt_order **out)
{
    if (rank > XRT_MAX_RANK)
        return pjrt_fail(PJRT_UNIMPLEMENTED, "an array has %zu dimensions, xcc takes %d", rank,
                         XRT_MAX_RANK);
    *out = order_of(rank);
    return NULL;
}

struct pjrt_error *
pjrt_Layouts_PJRT_Client_GetDefaultLayout(struct args_Layouts_PJRT_Client_GetDefaultLayout *a)
{
    return give_order(a->num_dims, &a->layout);
}

struct pjrt_error *
pjrt_Layouts_PJRT_Topology_GetDefaultLayout(struct args_Layouts_PJRT_Topology_GetDefaultLayout *a)
{
    return give_order(a->num_dims, &a->layout);
}

struct pjrt_error *
pjrt_Layouts_PJRT_Buffer_MemoryLayout(struct args_Layouts_PJRT_Buffer_MemoryLayout *a)
{
    return give_order((size_t)a->buffer->rank, &a->layout);
}

ANSWER(Layouts_PJRT_Executable_GetOutputLayouts, a->num_outputs = (size_t)a->executable->noutputs,
       a->layouts = a->executable->orders + a->executable->ninputs)
ANSWER(Layouts_PJRT_Executable_GetParameterLayouts, a->num_parameters = (size_t)a->executable->ninputs,
       a->layouts = a->executable->orders)

/* None: everything is on the one device. */
ANSWER(Shardings_PJRT_Executable_ParameterShardings, a->num_parameters = (size_t)a->executable->ninputs,
       a->shardings = NULL, a->sharding_sizes = NULL)
ANSWER(Shardings_PJRT_Executable_OutputShardings, a->num_outputs = (size_t)a->executable->noutputs,
       a->shardings = NULL, a->sharding_sizes = NULL)
