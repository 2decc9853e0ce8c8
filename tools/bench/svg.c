/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of `gantry bench`: four panels with logarithmic axes, a line for each side. Plain SVG
 * without scripts, fonts or links, so that every browser and every paper takes it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

#define WIDTH 900
#define HEIGHT 700
#define PANEL_WIDTH 340.0
#define PANEL_HEIGHT 220.0

/* Okabe and Ito's blue and vermilion, which all readers can distinguish. */
static const char *const colours[BENCH_SIDES] = {"#0072b2", "#d55e00"};

typedef struct panel_t {
    FILE *file;
    const bench_t *bench;
    bench_series_t series;
    double left, top;
    double least_x, most_x, least_y, most_y; /* logarithms */
} panel_t;

static void bench_svg_print_escaped(FILE *file, const char *text) {
    for (; *text; ++text) {
        const char *form = *text == '&'   ? "&amp;"
                           : *text == '<' ? "&lt;"
                           : *text == '>' ? "&gt;"
                           : *text == '"' ? "&quot;"
                                          : NULL;
        if (form) (void)fputs(form, file);
        if (!form && (unsigned char)*text >= ' ') (void)fputc(*text, file);
    }
}

static void bench_svg_print_text(FILE *file, double x, double y, const char *attributes,
                                 const char *text) {
    (void)fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    bench_svg_print_escaped(file, text);
    (void)fputs("</text>\n", file);
}

/* ---- scales ---- */

static bool is_shown(const panel_t *panel, const bench_cell_t *cell, int side) {
    return cell->series == panel->series && bench_value(cell, side) > 0;
}

/* Finds the scales of a panel; it returns false if there is nothing to show. */
static bool find_scales(panel_t *panel) {
    panel->least_x = panel->least_y = INFINITY;
    panel->most_x = panel->most_y = -INFINITY;
    for (size_t i = 0; i < panel->bench->cell_count; ++i) {
        const bench_cell_t *cell = &panel->bench->cells[i];
        for (int side = 0; side < BENCH_SIDES; ++side) {
            if (!is_shown(panel, cell, side)) continue;
            const double x = log10((double)cell->size), y = log10(bench_value(cell, side));
            panel->least_x = fmin(panel->least_x, x);
            panel->most_x = fmax(panel->most_x, x);
            panel->least_y = fmin(panel->least_y, y);
            panel->most_y = fmax(panel->most_y, y);
        }
    }
    if (!(panel->most_x >= panel->least_x)) return false;
    panel->least_y = floor(panel->least_y);
    panel->most_y = fmax(ceil(panel->most_y), panel->least_y + 1);
    if (panel->most_x - panel->least_x < 0.1) panel->most_x = panel->least_x + 0.1;
    return true;
}

static double x_of(const panel_t *panel, double size) {
    const double part = (log10(size) - panel->least_x) / (panel->most_x - panel->least_x);
    return panel->left + part * PANEL_WIDTH;
}

static double y_of(const panel_t *panel, double value) {
    const double part = (log10(value) - panel->least_y) / (panel->most_y - panel->least_y);
    return panel->top + (1 - part) * PANEL_HEIGHT;
}

/* ---- a panel ---- */

static void draw_frame(const panel_t *panel) {
    char text[128];
    (void)snprintf(text, sizeof text, "%s, %s", bench_series_title(panel->series),
                   bench_unit(panel->series));
    bench_svg_print_text(panel->file, panel->left, panel->top - 10, "font-weight=\"bold\"", text);
    (void)fprintf(
        panel->file,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"#888\"/>\n",
        panel->left, panel->top, PANEL_WIDTH, PANEL_HEIGHT);
    for (double power = panel->least_y; power <= panel->most_y + 0.5; power += 1) {
        const double y = y_of(panel, pow(10, power));
        (void)fprintf(panel->file,
                      "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n",
                      panel->left, y, panel->left + PANEL_WIDTH, y);
        (void)snprintf(text, sizeof text, "%g", pow(10, power));
        bench_svg_print_text(panel->file, panel->left - 6, y + 4,
                             "text-anchor=\"end\" font-size=\"11\"", text);
    }
}

static void draw_sizes(const panel_t *panel) {
    char text[GANTRY_TOOL_TEXT_BYTES];
    double last = -INFINITY;
    for (size_t i = 0; i < panel->bench->cell_count; ++i) {
        const bench_cell_t *cell = &panel->bench->cells[i];
        if (!is_shown(panel, cell, 0) && !is_shown(panel, cell, 1)) continue;
        const double x = x_of(panel, (double)cell->size);
        if (x - last < 75) continue;
        last = x;
        bench_svg_print_text(panel->file, x, panel->top + PANEL_HEIGHT + 16,
                             "text-anchor=\"middle\" font-size=\"11\"",
                             bench_size_text(panel->series, (double)cell->size, text));
    }
}

static void draw_line(const panel_t *panel, int side) {
    (void)fprintf(panel->file, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
                  colours[side]);
    for (int pass = 0; pass < 2; ++pass) {
        for (size_t i = 0; i < panel->bench->cell_count; ++i) {
            const bench_cell_t *cell = &panel->bench->cells[i];
            if (!is_shown(panel, cell, side)) continue;
            const double x = x_of(panel, (double)cell->size),
                         y = y_of(panel, bench_value(cell, side));
            if (pass == 0) (void)fprintf(panel->file, "%.1f,%.1f ", x, y);
            if (pass == 1)
                (void)fprintf(panel->file,
                              "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x, y,
                              colours[side]);
        }
        if (pass == 0) (void)fputs("\"/>\n", panel->file);
    }
}

/* The measured size from which on the GPU is faster. */
static void draw_crossing(const panel_t *panel) {
    char size[GANTRY_TOOL_TEXT_BYTES], text[96];
    const bench_verdict_t verdict = bench_judge(panel->bench, panel->series);
    if (verdict.crossing != BENCH_CROSSING_AT) return;
    const double at = (double)verdict.size, x = x_of(panel, at);
    (void)fprintf(
        panel->file,
        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#555\" stroke-dasharray=\"4 3\"/>\n",
        x, panel->top, x, panel->top + PANEL_HEIGHT);
    (void)snprintf(text, sizeof text, "%s from %s", panel->bench->sides[1].name,
                   bench_size_text(panel->series, at, size));
    const bool is_right = x > panel->left + PANEL_WIDTH / 2;
    bench_svg_print_text(panel->file, is_right ? x - 4 : x + 4, panel->top + PANEL_HEIGHT - 6,
                         is_right ? "text-anchor=\"end\" font-size=\"11\"" : "font-size=\"11\"",
                         text);
}

static void draw_panel(FILE *file, const bench_t *bench, bench_series_t series, double left,
                       double top) {
    panel_t panel = {.file = file, .bench = bench, .series = series, .left = left, .top = top};
    if (!find_scales(&panel)) return;
    draw_frame(&panel);
    draw_sizes(&panel);
    draw_crossing(&panel);
    for (int side = 0; side < BENCH_SIDES; ++side) draw_line(&panel, side);
}

/* ---- the picture ---- */

static void draw_heading(FILE *file, const bench_t *bench) {
    char text[400];
    (void)fprintf(
        file,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\" role=\"img\">\n"
        "<title>gantry bench: CPU and GPU side by side</title>\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT);
    for (int side = 0; side < BENCH_SIDES; ++side) {
        const bench_side_t *shown = &bench->sides[side];
        const double y = 24 + 20.0 * side;
        if (!*shown->name) continue;
        (void)fprintf(file, "<rect x=\"80\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n",
                      y - 11, colours[side]);
        (void)snprintf(text, sizeof text, "%s: %s", shown->name, shown->hardware);
        bench_svg_print_text(file, 98, y, "", text);
    }
}

static void draw(FILE *file, const bench_t *bench) {
    draw_heading(file, bench);
    draw_panel(file, bench, BENCH_STREAM, 80, 90);
    draw_panel(file, bench, BENCH_TO_DEVICE, 520, 90);
    draw_panel(file, bench, BENCH_MATMUL, 80, 400);
    draw_panel(file, bench, BENCH_MATMUL_COPIED, 520, 400);
    (void)fprintf(file, "<!-- Gantry %s -->\n</svg>\n", gantry_version());
}

bool bench_write_svg(const bench_t *bench, const char *path) {
    gantry_tool_file_t written;
    FILE *file = gantry_tool_file_open(&written, path);
    if (!file) return false;
    draw(file, bench);
    return gantry_tool_file_close(&written, file);
}
