/* JPEG files, by libjpeg. */
#include "runtime/plugins/plugin.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jpeglib.h>

struct jpeg_failure {
    struct jpeg_error_mgr base;
    jmp_buf back;
    char text[JMSG_LENGTH_MAX];
};

static void jpeg_fail(j_common_ptr j)
{
    struct jpeg_failure *f = (struct jpeg_failure *)j->err;
    f->base.format_message(j, f->text);
    longjmp(f->back, 1);
}

static void jpeg_quiet(j_common_ptr j, int level) {}

static uint8_t cmyk_part(int ink, int black, bool inverted)
{
    return (uint8_t)(inverted ? ink * black / 255 : (255 - ink) * (255 - black) / 255);
}

/* Rows of RGB; four-ink files are converted here, which the library does not do. */
static void jpeg_row(struct jpeg_decompress_struct *j, uint8_t *row, uint8_t *to)
{
    JSAMPROW rows[] = {row};
    jpeg_read_scanlines(j, rows, 1);
    for (JDIMENSION x = 0; x < j->output_width; x++)
        for (int c = 0; c < 3; c++)
            to[3 * x + c] = j->output_components == 4
                                ? cmyk_part(row[4 * x + c], row[4 * x + 3], j->saw_Adobe_marker)
                                : row[3 * x + c];
}

bool xrt_plugin_1_jpeg(struct image_file file, struct picture *out, struct diag *d)
{
    struct jpeg_decompress_struct j;
    struct jpeg_failure failure;
    uint8_t *volatile row = NULL;
    j.err = jpeg_std_error(&failure.base);
    failure.base.error_exit = jpeg_fail;
    failure.base.emit_message = jpeg_quiet;
    if (setjmp(failure.back)) {
        jpeg_destroy_decompress(&j);
        free(row);
        return fail(d, "%s", failure.text);
    }
    jpeg_create_decompress(&j);
    jpeg_mem_src(&j, file.p, file.n);
    jpeg_read_header(&j, TRUE);
    bool four = j.jpeg_color_space == JCS_CMYK || j.jpeg_color_space == JCS_YCCK;
    j.out_color_space = four ? JCS_CMYK : JCS_RGB;
    bool ok = picture_alloc(out, j.image_width, j.image_height, d);
    if (ok) {
        row = malloc((size_t)j.image_width * 4);
        ok = row || fail_memory(d, "out of memory");
    }
    if (ok) {
        jpeg_start_decompress(&j);
        while (j.output_scanline < j.output_height)
            jpeg_row(&j, row, out->rgb + (size_t)j.output_scanline * j.output_width * 3);
        jpeg_finish_decompress(&j);
    }
    jpeg_destroy_decompress(&j);
    free(row);
    return ok;
}
