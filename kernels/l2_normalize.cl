/* y = x / max(|x|, epsilon), |x| the row's L2 norm, right also where the squares would overflow or
 * underflow. y may be x. */
OPS(l2_normalize, 1, 1)

KERNEL2(l2_normalize, tdm_rows_args, const T, x, T, y)
{
    LOCAL_ARRAY(ACC, scratch, LANES);
    LOCAL_ARRAY(KEY, key_scratch, LANES);
    const tdm_i32 cols = (tdm_i32)args.cols;
    const ACC epsilon = SCALAR(args.epsilon);
    FOR_ROWS(row, args.rows)
    {
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride);
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride);
        ACC sum = 0;
        FOR_BLOCKS(begin, end, cols, SUM_BLOCK)
        {
            ACC a = 0;
            SUM(a, j, begin, end, SQUARE(LOAD(xr, j)), AHEAD(xr));
            sum += a;
        }
        sum = GROUP_SUM(scratch, sum);
        if (SAFE_SQUARES(sum)) {
            const ACC norm = SQRT(sum);
            const ACC scale = (ACC)1 / (norm < epsilon ? epsilon : norm);
            FOR_LANES_WRITE(yr, j, cols, ROW_AHEAD(xr, args.x_stride))
            {
                WRITE(yr, j, LOAD(xr, j) * scale);
            }
        } else {
            /* of x / largest; 0, Inf and NaN are their own norms */
            KEY key = 0;
            LARGEST(key, j, 0, cols, MAGNITUDE_KEY(LOAD(xr, j)), AHEAD(xr));
            const ACC largest = MAGNITUDE_OF(GROUP_MAX(key_scratch, key));
            ACC norm = largest;
            ACC divisor = (ACC)1;
            if (largest > 0 && IS_FINITE(largest)) {
                sum = 0;
                FOR_BLOCKS(begin, end, cols, SUM_BLOCK)
                {
                    ACC a = 0;
                    SUM(a, j, begin, end, SQUARE(LOAD(xr, j) / largest), NOTHING_AHEAD);
                    sum += a;
                }
                norm = SQRT(GROUP_SUM(scratch, sum));
                divisor = largest;
            }
            /* |x| is divisor norm, and may itself be too large for ACC */
            const ACC least = epsilon / divisor;
            const ACC limit = norm < least ? least : norm;
            FOR_LANES(j, 0, cols)
            {
                STORE(yr, j, LOAD(xr, j) / divisor / limit);
            }
        }
    }
}
