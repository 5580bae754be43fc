/*
 * Images of at most half as many channels as there are partitions: neighbouring taps of the window lie over further
 * partitions, so that a product contracts several at once. Partition (tap, channel) holds the channel's plane from the
 * tap on; engines copy it there.
 */
#include "backend/lower/strict_image.h"

#include "backend/lower/product.h"
#include "backend/tile/limits.h"
#include "neff/isa/cost.h"

int64_t image_partitions(const struct strict_image *m)
{
    return m->stack_step ? (m->stack_rows * m->stack_cols - 1) * m->stack_step + m->chunk : m->chunk;
}

int64_t image_tap_rows(const struct strict_image *m)
{
    return m->folds ? m->folds : m->stack_step ? m->stack_rows : 1;
}

int64_t image_tap_columns(const struct strict_image *m)
{
    return m->folds ? m->shifts : m->stack_step ? m->stack_cols : 1;
}

int64_t image_products(const struct strict_image *m, int64_t *columns)
{
    *columns = ceil_div(m->kw, image_tap_columns(m));
    return ceil_div(m->kh, image_tap_rows(m)) * *columns;
}

/* Of an engine's copy within SBUF. */
static double copy_ns(const struct machine *machine, const struct strict_image *m, double elements)
{
    enum { FAST = 4, START_NS = 200 }; /* elements a cycle; until others see the result */
    bool fast = machine_timing(machine)->fast_16_bit && dtype_bytes(m->x->type.dtype) == 2;
    return START_NS + (fast ? elements / FAST / machine->dve_ghz : elements / machine->act_ghz);
}

/* What products take less, and copies, clearing and weights that are zeros more, in ns. */
static double gain_of(const struct machine *machine, const struct strict_image *m, int64_t out_channels, int64_t blocks)
{
    const struct timing *t = machine_timing(machine);
    int64_t columns, taps = m->kh * m->kw, products = image_products(m, &columns);
    double copies = (double)(m->stack_rows * m->stack_cols - 1 + (m->stack_step > m->chunk));
    double run = (double)m->bands * (double)((m->band - 1) * m->pitch + m->width) * (double)m->widths;
    double cycles = m->x->type.dtype == DT_F32 ? 4 : 1; /* of a row that moves */
    double saved = (double)((taps - products) * blocks) * run * cycles / machine->pe_ghz;
    double planes = m->resident ? 1 : (double)(m->bands * m->widths);
    double zeros = (double)((products * image_partitions(m) - taps * m->chunk) * out_channels);
    return saved - copies * planes * copy_ns(machine, m, (double)m->plane) -
           zeros * (double)dtype_bytes(m->x->type.dtype) / (t->dma_engines * t->dma_engine_gbps);
}

void image_stack(const struct machine *machine, struct strict_image *m, int64_t out_channels, int64_t blocks)
{
    int64_t step = tile_start_unit(machine, m->chunk);
    struct strict_image best = *m;
    double max = 0;
    if (m->chunks > 1 || m->folds || m->by_grid || m->fh * m->fw > 1)
        return;
    for (int64_t rows = 1; rows <= m->kh; rows++)
        for (int64_t cols = 1; cols <= m->kw && rows * cols * step <= machine->partitions; cols++) {
            struct strict_image s = *m;
            s.stack_rows = rows, s.stack_cols = cols, s.stack_step = step;
            double gain = rows * cols > 1 ? gain_of(machine, &s, out_channels, blocks) : 0;
            if (gain > max)
                max = gain, best = s;
        }
    *m = best;
}

/* Elements [from, from + n) of partitions [first, first + partitions). */
static struct ap part_of_planes(const struct strict_image *m, int64_t first, int64_t partitions, int64_t from,
                                int64_t n)
{
    struct ap a = {.mem = MEM_SBUF, .dtype = m->x->type.dtype, .tensor = m->tile};
    a.offset.base = first * m->plane + from;
    ap_push(&a, m->plane, partitions), ap_push(&a, 1, n);
    return a;
}

void image_clear_stack(struct kernel_builder *k, const struct strict_image *m)
{
    struct ap all = part_of_planes(m, 0, image_partitions(m), 0, m->plane);
    emit_memset(k, (struct memset){.dst = all, .value = m->fill});
}

bool image_stack_has_gaps(const struct strict_image *m)
{
    return m->stack_step > m->chunk;
}

/* Rows [first_row, end_row) of the planes, once they are there. */
void image_fill_stack(struct kernel_builder *k, const struct strict_image *m, int64_t first_row, int64_t end_row)
{
    for (int64_t tap = 1; tap < m->stack_rows * m->stack_cols; tap++) {
        int64_t first = tap * m->stack_step;
        int64_t away = tap / m->stack_cols * m->dh * m->cols + tap % m->stack_cols * m->dw;
        int64_t from = first_row * m->cols, end = end_row * m->cols;
        from = from > away ? from : away;
        if (end > from)
            emit_tensor_copy(k,
                             (struct tensor_copy){.dst = part_of_planes(m, first, m->chunk, from - away, end - from),
                                                  .src = part_of_planes(m, 0, m->chunk, from, end - from)});
        if (end_row == m->rows && !image_stack_has_gaps(m)) /* what no product needs, but meets zeros */
            emit_memset(
                k, (struct memset){.dst = part_of_planes(m, first, m->chunk, m->plane - away, away), .value = m->fill});
    }
}
