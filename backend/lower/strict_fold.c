/*
 * Images of few channels: rows of the window lie over partitions, each with all channels, so that a product contracts a
 * column of the window at once. Partition (i, channel) holds rows i, i + stride, ... of the padded image: those that
 * row i of the window meets. Further partitions hold the same from the next column of the window on, as many of them as
 * save more time of products than they take of transfers: partition (shift, i, channel).
 */
#include "backend/lower/strict_image.h"

#include "backend/lower/product.h"
#include "neff/isa/cost.h"

enum { PARTS = 4 }; /* of the rows, loaded one after the other: products begin when the first is there */

/* The times of transfers and products in ns, with rows over partitions or without. */
struct fold_times {
    double transfers, products;
};

/* 0 folds: rows of the image over none. */
static struct fold_times times_of(const struct machine *machine, const struct strict_image *m, int64_t folds,
                                  int64_t shifts)
{
    const struct timing *t = machine_timing(machine);
    double piece = piece_ns(t, (double)m->w * (double)dtype_bytes(m->x->type.dtype));
    double rows = (double)m->channels * (double)(folds ? folds * shifts * m->oh : m->h);
    double taps = (double)(folds ? ceil_div(m->kw, shifts) : m->kw * m->kh);
    double cycles = (m->x->type.dtype == DT_F32 ? 4 : 1) * (double)(m->oh * m->ow); /* a column a cycle; FP32 in four */
    return (struct fold_times){rows * piece / t->dma_engines, taps * cycles / machine->pe_ghz};
}

static double longer(struct fold_times t)
{
    return t.transfers > t.products ? t.transfers : t.products;
}

/* How many shifts take the least time; 0: rows over no partitions. */
static int64_t best_shifts(const struct machine *machine, const struct strict_image *m)
{
    int64_t best = 0;
    for (int64_t shifts = 1; shifts <= m->kw && shifts * m->channels * m->kh <= machine->partitions; shifts++)
        if (longer(times_of(machine, m, m->kh, shifts)) < longer(times_of(machine, m, best ? m->kh : 0, best)))
            best = shifts;
    return best;
}

int64_t image_fold_products(const struct strict_image *m)
{
    return ceil_div(m->kw, m->shifts);
}

int64_t image_fold_partitions(const struct strict_image *m, int64_t product)
{
    int64_t left = m->kw - product * m->shifts;
    return (left < m->shifts ? left : m->shifts) * m->folds * m->fold_channels;
}

bool image_fold(const struct machine *machine, struct strict_image *m, int64_t results)
{
    int64_t room = strict_image_room(machine) / (int64_t)dtype_bytes(m->x->type.dtype);
    if (m->kh < 2 || m->channels * m->kh > machine->partitions || m->ow > results || m->step_w != 1)
        return false;
    int64_t shifts = best_shifts(machine, m);
    int64_t reach = (m->ow - 1) * m->sw + (m->kw - 1) * m->dw + 1, cols = ceil_div(reach, m->sw) * m->sw;
    int64_t pitch = cols / m->sw, band = even_tile(m->oh, 1 + (results - m->ow) / pitch), bands = ceil_div(m->oh, band);
    if (shifts == 0 || band * bands * cols > room)
        return false;
    m->folds = m->kh, m->fold_channels = m->channels, m->shifts = shifts;
    m->width = m->ow, m->widths = 1, m->band = band, m->bands = bands;
    m->rows = band * bands, m->cols = cols, m->plane = m->rows * cols;
    m->along = m->sw, m->pitch = pitch;
    m->chunk = m->channels * m->folds * shifts, m->chunks = 1, m->fh = m->fw = 1;
    m->resident = true;
    return true;
}

/* Rows [from, to) of partition i's that lie in the image, of rows [first, end). */
static void rows_inside(const struct strict_image *m, int64_t i, int64_t first, int64_t end, int64_t *from, int64_t *to)
{
    int64_t rows;
    image_inside(m->h, m->top, m->sh, i * m->dh, end, from, &rows);
    *to = *from + rows;
    *from = *from > first ? *from : first;
}

static void fill(struct kernel_builder *k, const struct strict_image *m, int64_t row, int64_t rows, int64_t column,
                 int64_t columns)
{
    struct ap a = {
        .mem = MEM_SBUF, .dtype = m->x->type.dtype, .tensor = m->tile, .offset.base = row * m->cols + column};
    ap_push(&a, m->plane, m->chunk), ap_push(&a, m->cols, rows), ap_push(&a, 1, columns);
    if (rows > 0 && columns > 0)
        emit_memset(k, (struct memset){.dst = a, .value = m->fill});
}

/* Columns [from, to) of a shift's partitions that lie in the image. */
static void columns_inside(const struct strict_image *m, int64_t shift, int64_t *from, int64_t *to)
{
    int64_t columns;
    image_inside(m->w, m->left - shift * m->dw, 1, 0, m->cols, from, &columns);
    *to = *from + columns;
}

/* What some partition has of the padding: the first and the last rows, and columns at both sides. */
static void fill_borders(struct kernel_builder *k, const struct strict_image *m)
{
    int64_t top = 0, bottom = m->rows, left = 0, right = m->cols;
    for (int64_t i = 0; i < m->folds; i++) {
        int64_t from, to;
        rows_inside(m, i, 0, m->rows, &from, &to);
        top = from > top ? from : top, bottom = to < bottom ? to : bottom;
    }
    for (int64_t shift = 0; shift < m->shifts; shift++) {
        int64_t from, to;
        columns_inside(m, shift, &from, &to);
        left = from > left ? from : left, right = to < right ? to : right;
    }
    bottom = bottom > top ? bottom : top, right = right > left ? right : left;
    fill(k, m, 0, top, 0, m->cols), fill(k, m, bottom, m->rows - bottom, 0, m->cols);
    fill(k, m, top, bottom - top, 0, left), fill(k, m, top, bottom - top, right, m->cols - right);
}

static void load_rows(struct kernel_builder *k, const struct strict_image *m, struct ap from, int64_t shift, int64_t i,
                      int64_t first, int64_t end)
{
    struct dim_table *t = &k->p->dims;
    int64_t row, to_row, column, to_column;
    rows_inside(m, i, first, end, &row, &to_row);
    columns_inside(m, shift, &column, &to_column);
    if (row >= to_row || column >= to_column)
        return;
    struct ap to = {.mem = MEM_SBUF, .dtype = from.dtype, .tensor = m->tile};
    to.offset.base = (shift * m->folds + i) * m->fold_channels * m->plane + row * m->cols + column;
    int64_t image_row = row * m->sh + i * m->dh - m->top, image_column = column + shift * m->dw - m->left;
    from.offset.base = dim_add(t, from.offset.base, dim_mul(t, m->step_h, image_row));
    from.offset.base = dim_add(t, from.offset.base, dim_mul(t, m->step_w, image_column));
    ap_push(&to, m->plane, m->fold_channels), ap_push(&from, m->step_c, m->fold_channels);
    ap_push(&to, m->cols, to_row - row), ap_push(&from, dim_mul(t, m->step_h, m->sh), to_row - row);
    ap_push(&to, 1, to_column - column), ap_push(&from, m->step_w, to_column - column);
    emit_dma_copy(k, (struct dma_copy){.dst = to, .src = from});
}

void image_load_folded(struct kernel_builder *k, const struct strict_image *m, int var_n)
{
    struct ap from = ap_slot(k->p, m->slot);
    int64_t part = ceil_div(m->bands, PARTS) * m->band;
    ap_move(k->p, &from, var_n, m->step_n);
    fill_borders(k, m);
    for (int64_t row = 0; row < m->rows; row += part)
        for (int64_t shift = 0; shift < m->shifts; shift++)
            for (int64_t i = 0; i < m->folds; i++)
                load_rows(k, m, from, shift, i, row, row + part < m->rows ? row + part : m->rows);
}
