/* Conversions between element types where the languages leave the result open: float to integer saturates, NaN becomes
 * 0. Comes after dialect.cl; C loops and device text share it. Selects instead of branches, so that a loop over any of
 * these becomes vector code. */

GANTRY_FN int gantry_f32_to_i32(float x)
{
    float y = x >= -2147483648.0f ? x : -2147483648.0f;
    int r = (int)(y < 2147483648.0f ? y : 0.0f);

    r = y < 2147483648.0f ? r : 2147483647;
    return x == x ? r : 0;
}

GANTRY_FN GANTRY_LONG gantry_f32_to_i64(float x)
{
    float y = x >= -9223372036854775808.0f ? x : -9223372036854775808.0f;
    GANTRY_LONG r = (GANTRY_LONG)(y < 9223372036854775808.0f ? y : 0.0f);

    r = y < 9223372036854775808.0f ? r : (GANTRY_LONG)0x7fffffffffffffff;
    return x == x ? r : 0;
}

#if GANTRY_HAS_FLOAT64
GANTRY_FN int gantry_f64_to_i32(double x)
{
    double y = x > -2147483649.0 ? x : -2147483648.0;
    int r = (int)(y < 2147483648.0 ? y : 0.0);

    r = y < 2147483648.0 ? r : 2147483647;
    return x == x ? r : 0;
}

GANTRY_FN GANTRY_LONG gantry_f64_to_i64(double x)
{
    double y = x >= -9223372036854775808.0 ? x : -9223372036854775808.0;
    GANTRY_LONG r = (GANTRY_LONG)(y < 9223372036854775808.0 ? y : 0.0);

    r = y < 9223372036854775808.0 ? r : (GANTRY_LONG)0x7fffffffffffffff;
    return x == x ? r : 0;
}

/* Rounded toward zero: Cast's attribute Truncate. The nearest float32 is at most one step too far from zero. */
GANTRY_FN float gantry_f64_to_f32_truncated(double x)
{
    float nearest = (float)x;
    double wide = (double)nearest;
    int too_far = x > 0.0 ? wide > x : wide < x;

    return GANTRY_AS_FLOAT(GANTRY_AS_UINT(nearest) - (too_far ? 1u : 0u));
}
#endif
