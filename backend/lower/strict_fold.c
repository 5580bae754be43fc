/*
 * Images of few channels: rows of the window lie over partitions, each with all channels, so that a product contracts
 * several rows of the window at once. Partition (i, channel) holds rows i, i + stride, ... of the padded image: those
 * that row i of the window meets. Further partitions hold the same from the next column of the window on: partition
 * (shift, i, channel). The image comes from HBM that often, in parts of some bands; padding is put around it on chip.
 *
 * How many rows and columns: those that save more time of products than they take of transfers.
 */
#include "backend/lower/strict_image.h"

#include "backend/lower/product.h"
#include "neff/isa/cost.h"

enum { MIN_PARTS = 8 }; /* products begin when the first is there */

/* The longer of transfers, of the image `times` over, and of so many products of each result, in ns. */
static double longer_ns(const struct machine *machine, const struct strict_image *m, double times, int64_t products)
{
    const struct timing *t = machine_timing(machine);
    double piece = piece_ns(t, (double)m->w * (double)dtype_bytes(m->x->type.dtype));
    double transfers = (double)m->channels * times * (double)m->h * piece / t->dma_engines;
    double cycles = (m->x->type.dtype == DT_F32 ? 4 : 1) * (double)(m->oh * m->ow); /* a column a cycle; FP32 in four */
    double multiplying = (double)products * cycles / machine->pe_ghz;
    return transfers > multiplying ? transfers : multiplying;
}

int64_t image_fold_partitions(const struct strict_image *m, int64_t product)
{
    int64_t columns;
    image_products(m, &columns);
    int64_t rows_left = m->kh - product / columns * m->folds, columns_left = m->kw - product % columns * m->shifts;
    int64_t shifts = columns_left < m->shifts ? columns_left : m->shifts;
    int64_t folds = rows_left < m->folds ? rows_left : m->folds; /* where that is less, there is one shift */
    return shifts * folds * m->channels;
}

/* Rows of results that bands of other rows of the window begin further down. */
static int64_t extra_rows(const struct strict_image *m, int64_t folds)
{
    return (ceil_div(m->kh, folds) - 1) * folds * m->dh / m->sh;
}

/* The plan with so many rows and columns of the window over partitions; false: it does not fit. */
static bool fold(const struct machine *machine, struct strict_image *m, int64_t results, int64_t folds, int64_t shifts)
{
    int64_t room = strict_image_room(machine) / 4 / (int64_t)dtype_bytes(m->x->type.dtype);
    bool all_rows = m->kh % folds == 0;
    if (folds * shifts * m->channels > machine->partitions || (!all_rows && shifts > 1) ||
        (folds < m->kh && folds * m->dh % m->sh != 0))
        return false;
    m->width = even_tile(m->ow, results), m->widths = ceil_div(m->ow, m->width);
    int64_t reach = (m->widths * m->width - 1) * m->sw + (m->kw - 1) * m->dw + 1;
    m->cols = ceil_div(reach, m->sw) * m->sw, m->pitch = m->cols / m->sw;
    m->band = m->widths > 1 ? 1 : even_tile(m->oh, 1 + (results - m->ow) / m->pitch);
    m->bands = ceil_div(m->oh, m->band);
    int64_t max = (room / m->cols - extra_rows(m, folds)) / m->band;
    if (max < 1)
        return false;
    int64_t some = ceil_div(m->bands, MIN_PARTS);
    m->part = even_tile(m->bands, some < max ? some : max);
    m->parts = ceil_div(m->bands, m->part);
    m->rows = m->part * m->band + extra_rows(m, folds), m->plane = m->rows * m->cols;
    m->folds = folds, m->shifts = shifts;
    m->along = m->sw;
    m->chunk = m->channels * folds * shifts, m->chunks = 1, m->fh = m->fw = 1;
    m->raw_rows = m->raw_cols = 0;
    m->resident = true, m->streamed = false;
    return true;
}

bool image_fold(const struct machine *machine, struct strict_image *m, int64_t results, int64_t blocks, bool whole)
{
    enum { PADDED = 3 }; /* the image is read and written as it is padded, and its bands overlap */
    double min = longer_ns(machine, m, whole ? 1 : PADDED, m->kh * m->kw * blocks);
    struct strict_image best;
    bool found = false;
    if (m->step_w != 1 || m->channels > machine->partitions || (whole && m->kh < 2))
        return false;
    for (int64_t folds = whole ? m->kh : 1; folds <= m->kh; folds++)
        for (int64_t shifts = 1; shifts <= m->kw; shifts++) {
            struct strict_image s = *m;
            int64_t columns;
            if (!fold(machine, &s, results, folds, shifts))
                continue;
            double rows = (double)(folds * shifts * m->oh) / (double)m->h;
            double ns = longer_ns(machine, m, rows, image_products(&s, &columns) * blocks);
            if (ns < min)
                min = ns, best = s, found = true;
        }
    if (found)
        *m = best;
    return found;
}

/* Rows [from, to) of partition i's that lie in the image, of rows [first, end). */
static void rows_inside(const struct strict_image *m, int64_t i, int64_t first, int64_t end, int64_t *from, int64_t *to)
{
    int64_t rows;
    image_inside(m->h, m->top, m->sh, i * m->dh, end, from, &rows);
    *to = *from + rows;
    *from = *from > first ? *from : first;
    *to = *to > *from ? *to : *from;
}

/* Columns [from, to) of a shift's partitions that lie in the image. */
static void columns_inside(const struct strict_image *m, int64_t shift, int64_t *from, int64_t *to)
{
    int64_t columns;
    image_inside(m->w, m->left - shift * m->dw, 1, 0, m->cols, from, &columns);
    *to = *from + columns;
}

/* What some partition has of the padding: the first and the last rows, and columns at both sides. */
static void fill_borders(struct kernel_builder *k, const struct strict_image *m, int64_t first)
{
    int64_t top = 0, bottom = m->rows, left = 0, right = m->cols, from, to;
    for (int64_t i = 0; i < m->folds; i++) {
        rows_inside(m, i, first, first + m->rows, &from, &to);
        top = from - first > top ? from - first : top, bottom = to - first < bottom ? to - first : bottom;
    }
    for (int64_t shift = 0; shift < m->shifts; shift++) {
        columns_inside(m, shift, &from, &to);
        left = from > left ? from : left, right = to < right ? to : right;
    }
    top = top < m->rows ? top : m->rows;
    bottom = bottom > top ? bottom : top, right = right > left ? right : left;
    struct image_rect sides[4];
    struct ap all = {.mem = MEM_SBUF, .dtype = m->x->type.dtype, .tensor = m->tile};
    ap_push(&all, m->plane, m->chunk);
    for (int i = 0, n = image_sides(m, 0, top, bottom - top, left, right - left, sides); i < n; i++)
        image_fill(k, m, all, sides[i]);
}

static void load_rows(struct kernel_builder *k, const struct strict_image *m, struct ap from, int64_t shift, int64_t i,
                      int64_t first)
{
    struct dim_table *t = &k->p->dims;
    int64_t row, to_row, column, to_column;
    rows_inside(m, i, first, first + m->rows, &row, &to_row);
    columns_inside(m, shift, &column, &to_column);
    if (row >= to_row || column >= to_column)
        return;
    struct ap to = {.mem = MEM_SBUF, .dtype = from.dtype, .tensor = m->tile};
    to.offset.base = (shift * m->folds + i) * m->channels * m->plane + (row - first) * m->cols + column;
    int64_t image_row = row * m->sh + i * m->dh - m->top, image_column = column + shift * m->dw - m->left;
    from.offset.base = dim_add(t, from.offset.base, dim_mul(t, m->step_h, image_row));
    from.offset.base = dim_add(t, from.offset.base, dim_mul(t, m->step_w, image_column));
    ap_push(&to, m->plane, m->channels), ap_push(&from, m->step_c, m->channels);
    ap_push(&to, m->cols, to_row - row), ap_push(&from, dim_mul(t, m->step_h, m->sh), to_row - row);
    ap_push(&to, 1, to_column - column), ap_push(&from, m->step_w, to_column - column);
    emit_dma_copy(k, (struct dma_copy){.dst = to, .src = from});
}

void image_load_folded(struct kernel_builder *k, const struct strict_image *m, int var_n, int64_t part)
{
    struct ap from = ap_slot(k->p, m->slot);
    int64_t first = part * m->part * m->band;
    ap_move(k->p, &from, var_n, m->step_n);
    fill_borders(k, m, first);
    for (int64_t shift = 0; shift < m->shifts; shift++)
        for (int64_t i = 0; i < m->folds; i++)
            load_rows(k, m, from, shift, i, first);
}
