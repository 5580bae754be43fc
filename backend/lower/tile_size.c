#include "backend/lower/tile_size.h"

dim_t even_tile(dim_t count, dim_t max)
{
    if (!dim_is_const(count))
        return max;
    dim_t tiles = count > max ? (count + max - 1) / max : 1;
    return count ? (count + tiles - 1) / tiles : 1;
}

dim_t spread_tile(dim_t count, dim_t max, dim_t others, dim_t min)
{
    enum { INSTANCES = 16 };
    dim_t tile = even_tile(count, max);
    if (!dim_is_const(count) || !dim_is_const(others) || others < 1 || ceil_div(count, tile) * others >= INSTANCES)
        return tile;
    dim_t wanted = ceil_div(count, ceil_div(INSTANCES, others));
    return even_tile(count, wanted > min ? wanted : min);
}

dim_t image_rows_tile(dim_t rows, dim_t row)
{
    enum { ELEMENTS = 16384 };
    return even_tile(rows, dim_is_const(row) && row > 0 && row < ELEMENTS ? ELEMENTS / row : 1);
}

dim_t strict_free_size(const struct machine *m, int tiles, dim_t max)
{
    dim_t room = m->sbuf / 4 * 3 / 4 / (tiles > 0 ? tiles : 1);
    return room < max ? room : max;
}

int64_t strict_image_room(const struct machine *m)
{
    return m->sbuf / 11 * 6;
}

int64_t strict_weights_room(const struct machine *m)
{
    return m->sbuf / 11 * 3;
}

int64_t strict_results(const struct machine *m)
{
    return m->sbuf / 22 / 4;
}
