/* ExtractImagePatches: what a window sees at each of its places, one after the other, by element size. Items are elements
 * of the output, [batch, out_height, out_width, rows * columns * channels]; the padding is 0. */
#ifdef GANTRY_ITEM_TEXT

GANTRY_ITEM void GANTRY_ITEM_FN(patches)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
                                         GANTRY_PARAMETERS(gantry_window_t) p, const GANTRY_LONG i)
{
    const GANTRY_LONG each = p->rows * p->columns * p->channels;
    const gantry_pixel_t at = gantry_pixel(i, p->out_height, p->out_width, each);
    const gantry_pixel_t in = gantry_pixel(at.channel, 1, p->columns, p->channels);
    const GANTRY_LONG y = at.y * p->step_y - p->top + in.image * p->spread_y;
    const GANTRY_LONG column = at.x * p->step_x - p->left + in.x * p->spread_x;

    out[i] = gantry_is_inside(y, p->height) && gantry_is_inside(column, p->width)
                 ? x[((at.image * p->height + y) * p->width + column) * p->channels + in.channel]
                 : (T)0;
}
GANTRY_ITEMS_1_1(patches, T, T, gantry_window_t)

#endif
