#include "backend/lower/strict_image.h"

#include "backend/lower/move.h"
#include "backend/lower/product.h"

#include <string.h>

enum { SHORT_ROW = 512, PART_OF_LOAD = 4096, PART_OF_CUT = 2048 }; /* bytes; of a partition */

/* Rows (or columns) of one phase for `results` rows of results. */
static int64_t extent(int64_t results, int64_t stride, int64_t phases, int64_t kernel,
                      int64_t dilation)
{
    return (results - 1) * (stride / phases) + (kernel - 1) * dilation / phases + 1;
}

static bool phase_used(int64_t kernel, int64_t dilation, int64_t phases, int64_t phase)
{
    for (int64_t i = 0; i < kernel; i++)
        if (i * dilation % phases == phase)
            return true;
    return false;
}

static int64_t last_phase(int64_t kernel, int64_t dilation, int64_t phases)
{
    int64_t last = phases - 1;
    while (!phase_used(kernel, dilation, phases, last))
        last--;
    return last;
}

/* Rows and columns that bands of an image which is not resident read. */
static int64_t needed_rows(const struct strict_image *m, int64_t rows)
{
    return (rows - 1) * m->fh + last_phase(m->kh, m->dh, m->fh) + 1;
}

static int64_t needed_cols(const struct strict_image *m, int64_t cols)
{
    return (cols - 1) * m->fw + last_phase(m->kw, m->dw, m->fw) + 1;
}

/* Of the image in HBM; false when it is the source. */
static bool padded_size(const struct strict_image *m, int64_t *h, int64_t *w)
{
    *h = needed_rows(m, extent(m->band * m->bands, m->sh, m->fh, m->kh, m->dh));
    *w = needed_cols(m, extent(m->width * m->widths, m->sw, m->fw, m->kw, m->dw));
    if (m->top == 0 && m->left == 0 && *h <= m->h && *w <= m->w) {
        *h = m->h, *w = m->w;
        return false;
    }
    *h = *h > m->h + m->top ? *h : m->h + m->top, *w = *w > m->w + m->left ? *w : m->w + m->left;
    return true;
}

/* Whether a padded image comes as it lies in HBM, in one piece, and an engine puts the padding between its rows: short
 * rows would be pieces of a transfer each. */
static bool comes_whole(const struct strict_image *m)
{
    return m->resident && m->phased && m->fh == 1 && (m->top > 0 || m->left > 0) && m->step_h == m->w &&
           m->w * (int64_t)dtype_bytes(m->x->type.dtype) < SHORT_ROW;
}

/* Plans what an engine cuts into phases; the elements of it. */
static int64_t plan_raw(struct strict_image *m)
{
    int64_t h, w;
    m->raw_rows = m->raw_cols = 0;
    if (m->step_w != 1 || (m->fw == 1 && !comes_whole(m)))
        return 0;
    padded_size(m, &h, &w);
    m->raw_rows = m->resident ? m->h : needed_rows(m, m->rows);
    m->raw_cols = m->resident ? m->w : m->widths == 1 ? w : needed_cols(m, m->cols);
    return m->raw_rows * m->raw_cols;
}

bool image_sizes_in_range(const struct strict_image *m)
{
    return m->oh >= 1 && m->ow >= 1 && m->h >= 1 && m->w >= 1 && m->sh >= 1 && m->sw >= 1 &&
           m->dh >= 1 && m->dw >= 1 && m->h <= 1 << 24 && m->w <= 1 << 24 && m->kh <= 1 << 12 &&
           m->kw <= 1 << 12 && m->sh <= 1 << 12 && m->sw <= 1 << 12 && m->dh <= 1 << 12 &&
           m->dw <= 1 << 12;
}

bool image_plan(const struct machine *machine, struct strict_image *m, int64_t results)
{
    int64_t elements = strict_image_room(machine) / (int64_t)dtype_bytes(m->x->type.dtype);
    if (!image_sizes_in_range(m))
        return false;
    m->chunk = even_tile(m->channels, machine->partitions);
    m->chunks = ceil_div(m->channels, m->chunk);
    m->fh = m->phased ? m->sh : 1, m->fw = m->phased ? m->sw : 1;
    m->width = even_tile(m->ow, results);
    m->widths = ceil_div(m->ow, m->width);
    m->cols = extent(m->width, m->sw, m->fw, m->kw, m->dw);
    int64_t max = 1 + (results - m->width) / m->cols;
    m->band = even_tile(m->oh, max);
    m->bands = ceil_div(m->oh, m->band);
    m->rows = extent(m->band * m->bands, m->sh, m->fh, m->kh, m->dh);
    m->plane = m->fh * m->fw * m->rows * m->cols;
    m->along = 1, m->pitch = m->cols;
    m->resident = !m->streamed && m->widths == 1;
    m->resident = m->resident && m->plane * (m->by_grid ? 1 : m->chunks) <= elements - plan_raw(m);
    while (!m->resident) {
        m->rows = extent(m->band, m->sh, m->fh, m->kh, m->dh);
        m->plane = m->fh * m->fw * m->rows * m->cols;
        if (m->plane + plan_raw(m) <= elements || m->band == 1)
            break;
        m->band = even_tile(m->oh, m->band / 2);
        m->bands = ceil_div(m->oh, m->band);
    }
    return m->plane + plan_raw(m) <= elements;
}

/* ---- padding in HBM ---- */

static int fill_slot(struct lowering *l, int dtype, float value)
{
    char *data = arena_alloc(&l->g->arena, 16);
    dtype_store_f64(dtype, data, 0, value);
    int64_t one = 1;
    struct tensor t = tensor_view(dtype, 1, &one, data);
    return constant_slot(l, &t, NULL);
}

/* Rows [r, r + rows) and columns [c, c + cols) of every padded plane are the fill, or the image. */
static void fill_part(struct lowering *l, const struct node *n, const struct strict_image *m,
                      const dim_t *dims, int from, const dim_t *source, const int64_t part[4])
{
    dim_t to[4];
    if (part[1] <= 0 || part[3] <= 0)
        return;
    dense_steps(&l->p->dims, 4, dims, to);
    struct move v = {.to_slot = m->slot, .from_slot = from};
    move_dim(&v, dims[0], to[0], source[0]), move_dim(&v, dims[1], to[1], source[1]);
    move_dim(&v, part[1], to[2], source[2]), move_dim(&v, part[3], to[3], source[3]);
    v.to_offset = part[0] * to[2] + part[2];
    if (move_possible(l, &v))
        emit_move(l, n, "pad", &v);
}

void image_prepare(struct lowering *l, const struct node *n, struct strict_image *m, dim_t images)
{
    m->slot = value_slot(l, m->x);
    if (m->resident)
        return;
    int64_t h, w;
    if (!padded_size(m, &h, &w))
        return;
    dim_t dims[4] = {images, m->planes, h, w}, none[4] = {0},
          image[4] = {m->step_n, m->step_c, m->step_h, m->step_w};
    struct type type = type_tensor(m->x->type.dtype, 4, dims);
    int from = m->slot, fill = fill_slot(l, m->x->type.dtype, m->fill);
    m->slot = temporary_slot(l, &type, NULL);
    int64_t bottom = h - m->top - m->h, right = w - m->left - m->w;
    fill_part(l, n, m, dims, from, image, (int64_t[]){m->top, m->h, m->left, m->w});
    fill_part(l, n, m, dims, fill, none, (int64_t[]){0, m->top, 0, w});
    fill_part(l, n, m, dims, fill, none, (int64_t[]){h - bottom, bottom, 0, w});
    fill_part(l, n, m, dims, fill, none, (int64_t[]){m->top, m->h, 0, m->left});
    fill_part(l, n, m, dims, fill, none, (int64_t[]){m->top, m->h, w - right, right});
    m->step_w = 1, m->step_h = w, m->step_c = h * w, m->step_n = m->planes * h * w;
    m->top = m->left = 0, m->h = h, m->w = w;
}

/* ---- the tile ---- */

void image_tile(struct kernel_builder *k, struct strict_image *m)
{
    m->tile = kernel_tile(k, MEM_SBUF, m->x->type.dtype, image_partitions(m),
                          m->plane * (m->resident && !m->by_grid ? m->chunks : 1));
    if (m->raw_rows)
        m->raw_tile =
            kernel_tile(k, MEM_SBUF, m->x->type.dtype, m->chunk, m->raw_rows * m->raw_cols);
}

/* The tile's chunk, with the dim over partitions. */
static struct ap chunk_start(struct kernel_builder *k, const struct strict_image *m, int var_chunk)
{
    struct ap a = {.mem = MEM_SBUF, .dtype = m->x->type.dtype, .tensor = m->tile};
    ap_push(&a, kernel_of(k)->tiles[m->tile].elements, m->chunk);
    if (var_chunk >= 0)
        ap_clip(k->p, &a, 0, var_chunk, m->chunk, m->channels);
    if (var_chunk >= 0 && m->resident && !m->by_grid)
        ap_move(k->p, &a, var_chunk, m->plane);
    return a;
}

void image_inside(int64_t size, int64_t before, int64_t phases, int64_t phase, int64_t count, int64_t *first,
                  int64_t *n)
{
    int64_t low = before - phase, high = size + before - phase; /* [low, high) in steps of 1 */
    *first = low > 0 ? ceil_div(low, phases) : 0;
    *first = *first < count ? *first : count;
    int64_t end = high > 0 ? ceil_div(high, phases) : 0;
    end = end > count ? count : end;
    *n = end > *first ? end - *first : 0;
}

/* ---- what lies outside the image ---- */

enum { FILL_START = 128 }; /* what an instruction takes besides its elements, in the time of one */

int image_sides(const struct strict_image *m, int64_t start, int64_t row, int64_t rows, int64_t column, int64_t columns,
                struct image_rect sides[4])
{
    int64_t inner = start + row * m->cols, right = column + columns;
    const struct image_rect all[] = {{start, row, m->cols},
                                     {inner + rows * m->cols, m->rows - row - rows, m->cols},
                                     {inner, rows, column},
                                     {inner + right, rows, m->cols - right}};
    int n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].rows > 0 && all[i].columns > 0)
            sides[n++] = all[i];
    return n;
}

void image_fill(struct kernel_builder *k, const struct strict_image *m, struct ap to, struct image_rect r)
{
    to.offset.base += r.start;
    ap_push(&to, m->cols, r.rows), ap_push(&to, 1, r.columns);
    emit_memset(k, (struct memset){.dst = to, .value = m->fill});
}

/* What lies around the image in each phase; how many, `room` where that is not all. */
static int around(const struct strict_image *m, struct image_rect *rects, int room)
{
    int n = 0;
    for (int64_t r = 0; r < m->fh; r++)
        for (int64_t c = 0; c < m->fw; c++) {
            int64_t row, rows, column, columns;
            if (!phase_used(m->kh, m->dh, m->fh, r) || !phase_used(m->kw, m->dw, m->fw, c))
                continue;
            if (n + 4 > room)
                return room;
            image_inside(m->h, m->top, m->fh, r, m->rows, &row, &rows);
            image_inside(m->w, m->left, m->fw, c, m->cols, &column, &columns);
            n += image_sides(m, (r * m->fw + c) * m->rows * m->cols, row, rows, column, columns, rects + n);
        }
    return n;
}

/* Of the chunk that begins at `to`; all of it where that takes less time. */
static void fill_outside(struct kernel_builder *k, const struct strict_image *m, struct ap to)
{
    enum { MAX_RECTS = 64 };
    struct image_rect rects[MAX_RECTS];
    int n = around(m, rects, MAX_RECTS);
    int64_t elements = 0;
    for (int i = 0; i < n; i++)
        elements += rects[i].rows * rects[i].columns + FILL_START;
    if (n == MAX_RECTS || elements >= m->plane) {
        ap_push(&to, 1, m->plane);
        emit_memset(k, (struct memset){.dst = to, .value = m->fill});
        return;
    }
    for (int i = 0; i < n; i++)
        image_fill(k, m, to, rects[i]);
}

struct image_part { /* of a phase, and where it comes from */
    int64_t row, rows, column, columns, source_row, source_column;
};

static void load_rows(struct kernel_builder *k, struct ap to, struct ap from,
                      const struct strict_image *m, const struct image_part *p, int64_t start)
{
    struct dim_table *t = &k->p->dims;
    to.offset.base += start + p->row * m->cols + p->column;
    dim_t columns_before = dim_mul(t, m->step_w, p->source_column);
    dim_t before = dim_add(t, dim_mul(t, m->step_h, p->source_row), columns_before);
    from.offset.base = dim_add(t, from.offset.base, before);
    struct ap_dim channels = to.dim[0], rows = {.step = m->cols, .count = p->rows};
    struct ap_dim columns = {.step = 1, .count = p->columns};
    struct ap_dim far_channels = from.dim[0], far_rows = rows, far_columns = columns;
    far_rows.step = dim_mul(t, m->step_h, m->fh), far_columns.step = dim_mul(t, m->step_w, m->fw);
    bool across = m->step_c == 1 &&
                  m->step_w != 1; /* neighbours in memory go to different partitions: a transpose */
    to.rank = from.rank = 3;
    to.dim[0] = across ? rows : channels, to.dim[1] = across ? channels : rows, to.dim[2] = columns;
    from.dim[0] = across ? far_rows : far_channels, from.dim[1] = across ? far_columns : far_rows;
    from.dim[2] = across ? far_channels : far_columns;
    if (across)
        emit_dma_transpose(k, (struct dma_transpose){.dst = to, .src = from});
    else
        emit_dma_copy(k, (struct dma_copy){.dst = to, .src = from});
}

/* The rows as they lie in HBM: (channel, row, column). */
static struct ap load_raw(struct kernel_builder *k, const struct strict_image *m, struct ap from)
{
    struct ap raw = {.mem = MEM_SBUF, .dtype = from.dtype, .tensor = m->raw_tile};
    raw.dim[raw.rank++] = from.dim[0];
    raw.dim[0].step = m->raw_rows * m->raw_cols;
    ap_push(&raw, m->raw_cols, m->raw_rows), ap_push(&from, m->step_h, m->raw_rows);
    ap_push(&raw, 1, m->raw_cols), ap_push(&from, 1, m->raw_cols);
    emit_dma_copy(k, (struct dma_copy){.dst = raw, .src = from});
    return raw;
}

static void cut_rows(struct kernel_builder *k, struct ap to, struct ap raw, const struct strict_image *m,
                     const struct image_part *p, int64_t start)
{
    to.offset.base += start + p->row * m->cols + p->column;
    ap_push(&to, m->cols, p->rows), ap_push(&to, 1, p->columns);
    raw.offset.base += p->source_row * m->raw_cols + p->source_column;
    raw.dim[1].step = m->fh * m->raw_cols, raw.dim[1].count = p->rows;
    raw.dim[2].step = m->fw, raw.dim[2].count = p->columns;
    emit_tensor_copy(k, (struct tensor_copy){.dst = to, .src = raw});
}

/* The phase, and of a stack what goes with it, in parts of so many bytes of a partition: engines need not wait for the
 * last row, nor that for all that computes the image. */
static void load_phase(struct kernel_builder *k, struct ap to, struct ap from, const struct strict_image *m,
                       const struct image_part *p, int64_t start)
{
    int64_t row_bytes = p->columns * (int64_t)dtype_bytes(m->x->type.dtype);
    int64_t parts = p->rows * row_bytes / (m->raw_rows ? PART_OF_CUT : PART_OF_LOAD);
    int64_t rows = parts > 1 ? ceil_div(p->rows, parts) : p->rows, done = 0;
    for (int64_t end; p->columns > 0 && done < p->rows; done = end) {
        end = done + rows < p->rows ? done + rows : p->rows;
        struct image_part some = {.row = p->row + done,
                                  .rows = end - done,
                                  .column = p->column,
                                  .columns = p->columns,
                                  .source_row = p->source_row + done * m->fh,
                                  .source_column = p->source_column};
        (m->raw_rows ? cut_rows : load_rows)(k, to, from, m, &some, start);
        if (m->stack_step)
            image_fill_stack(k, m, done ? some.row : 0, end < p->rows ? some.row + some.rows : m->rows);
    }
}

void image_load(struct kernel_builder *k, const struct strict_image *m, int var_n, int var_chunk,
                int var_group, dim_t group_step, int var_band, int var_column)
{
    struct dim_table *t = &k->p->dims;
    struct ap to = chunk_start(k, m, var_chunk), from = ap_slot(k->p, m->slot);
    ap_move(k->p, &from, var_n, m->step_n);
    if (var_group >= 0)
        ap_move(k->p, &from, var_group, dim_mul(t, m->step_c, group_step));
    if (var_band >= 0)
        ap_move(k->p, &from, var_band, dim_mul(t, m->step_h, m->band * m->sh));
    if (var_column >= 0)
        ap_move(k->p, &from, var_column, dim_mul(t, m->step_w, m->width * m->sw));
    ap_push_tile(k->p, &from, m->step_c, m->chunk, var_chunk, m->channels);
    if (m->stack_step && image_stack_has_gaps(m))
        image_clear_stack(k, m);
    else if (m->resident)
        fill_outside(k, m, to);
    struct ap raw = m->raw_rows ? load_raw(k, m, from) : from;
    for (int64_t r = 0; r < m->fh; r++)
        for (int64_t c = 0; c < m->fw; c++) {
            if (!phase_used(m->kh, m->dh, m->fh, r) || !phase_used(m->kw, m->dw, m->fw, c))
                continue;
            struct image_part p = {0, m->rows, 0, m->cols, r, c};
            if (m->resident) {
                image_inside(m->h, m->top, m->fh, r, m->rows, &p.row, &p.rows);
                image_inside(m->w, m->left, m->fw, c, m->cols, &p.column, &p.columns);
                p.source_row = p.row * m->fh + r - m->top;
                p.source_column = p.column * m->fw + c - m->left;
            }
            int64_t start = (r * m->fw + c) * m->rows * m->cols;
            load_phase(k, to, raw, m, &p, start);
        }
}

/* Elements between rows of results. */
static int64_t row_step(const struct strict_image *m)
{
    return m->folds ? m->cols : m->sh / m->fh * m->cols;
}

struct ap image_tap(struct kernel_builder *k, const struct strict_image *m, int var_chunk,
                    int var_band, int i, int j)
{
    struct ap a = chunk_start(k, m, var_chunk);
    if (m->stack_step)
        a.dim[0].count = image_partitions(m);
    int64_t row = m->folds ? i * m->dh / m->sh : i * m->dh, column = j * m->dw;
    int64_t phase = row % m->fh * m->fw + column % m->fw;
    a.offset.base += phase * m->rows * m->cols + row / m->fh * m->cols + column / m->fw;
    if (var_band >= 0)
        ap_move(k->p, &a, var_band, m->band * row_step(m));
    return a;
}

struct ap image_window(struct kernel_builder *k, const struct strict_image *m,
                       const struct space *s, int var_chunk, int var_band, int i, int j)
{
    struct ap a = image_tap(k, m, var_chunk, var_band, i, j);
    for (int d = 1; d < s->rank; d++) {
        ap_push(&a, d == s->rank - 1 ? m->sw / m->fw : row_step(m), s->dim[d].count);
        if (s->dim[d].var >= 0)
            ap_clip(k->p, &a, d, s->dim[d].var, s->dim[d].factor, s->dim[d].limit);
    }
    return a;
}
