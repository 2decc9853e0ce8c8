/* SPDX-License-Identifier: Apache-2.0 */
/* What attention.cl and attention_tile.cl have in common: the numbers of a call, the functions of
 * the type C of scores, and the block of queries or keys that a work-group has. */

#if GANTRY_T_IS(f64)
#define AT_EXP(x) gantry__exp_f64(x)
#define AT_LOG(x) gantry__log_f64(x)
#define AT_TANH(x) gantry__tanh_f64(x)
#define AT_FMA(a, b, c) GANTRY_FMA_F64(a, b, c)
#define LOWEST NUMBER(((ulong)0xfff00000u) << 32)
#else
#define AT_EXP(x) gantry__exp_f32(x)
#define AT_LOG(x) gantry__log_f32(x)
#define AT_TANH(x) gantry__tanh_f32(x)
#define AT_FMA(a, b, c) GANTRY_FMA_F32(a, b, c)
#define LOWEST NUMBER(0xff800000u)
#endif

/* Must have the same fields as the host's struct. */
typedef struct {
    GANTRY_LONG batch, heads, key_heads;
    GANTRY_LONG queries, keys, dim, value_dim;
    GANTRY_LONG offset; /* query i sees the keys up to i + offset */
    GANTRY_LONG mask_kind;
    GANTRY_LONG mask_batch, mask_head, mask_query, mask_key;
    ulong scale, softcap; /* bits of a C */
} attention_t;

/* One number, where GANTRY_AS_FLOAT would give a vector of it. */
#if defined(__OPENCL_VERSION__) && GANTRY_T_IS(f64)
#define NUMBER(bits) as_double(bits)
#elif defined(__OPENCL_VERSION__)
#define NUMBER(bits) as_float((uint)(bits))
#elif GANTRY_T_IS(f64)
#define NUMBER(bits) GANTRY_AS_DOUBLE(bits)
#else
#define NUMBER(bits) GANTRY_AS_FLOAT((uint)(bits))
#endif

#define MASK_BYTES (GANTRY_LONG)(GANTRY_A_MASK % 3 == 2 ? sizeof(T) : sizeof(uchar))

/* `side` queries of a head. */
typedef struct {
    GANTRY_LONG first; /* of the head's queries */
    int queries;
    GANTRY_LONG row;     /* of the first query, among all heads' */
    GANTRY_LONG key_row; /* of the first key of the head, likewise */
    GANTRY_LONG seen;    /* the keys that at least one of the queries sees */
    GANTRY_LONG mask;    /* the place of the head's mask, in bytes */
} block_t;

GANTRY_FN block_t block_of(const attention_t *p, GANTRY_LONG group, int side) {
    const GANTRY_LONG blocks = (p->queries + side - 1) / side;
    const GANTRY_LONG head = gantry__divide_position(group, blocks);
    const GANTRY_LONG batch = gantry__divide_position(head, p->heads);
    const GANTRY_LONG own = head - batch * p->heads;
    block_t b;
    b.first = (group - head * blocks) * side;
    b.queries = (int)(p->queries - b.first < side ? p->queries - b.first : side);
    b.row = head * p->queries + b.first;
    b.key_row = (batch * p->key_heads + own / (p->heads / p->key_heads)) * p->keys;
    const GANTRY_LONG all = b.first + b.queries + p->offset;
    b.seen = all < 0 ? 0 : all < p->keys ? all : p->keys;
    b.mask = (batch * p->mask_batch + own * p->mask_head) * MASK_BYTES;
    return b;
}

/* `side` keys of a head of keys, for the gradients: the head, its first head of queries, and how
 * many share it. */
typedef struct {
    GANTRY_LONG batch, own, group;
    GANTRY_LONG first; /* of the head's keys */
    int keys;
    GANTRY_LONG row; /* of the first key, among all heads' */
} key_block_t;

GANTRY_FN key_block_t key_block_of(const attention_t *p, GANTRY_LONG group, int side) {
    const GANTRY_LONG blocks = (p->keys + side - 1) / side;
    const GANTRY_LONG head = gantry__divide_position(group, blocks);
    key_block_t b;
    b.batch = gantry__divide_position(head, p->key_heads);
    b.group = p->heads / p->key_heads;
    b.own = (head - b.batch * p->key_heads) * b.group;
    b.first = (group - head * blocks) * side;
    b.keys = (int)(p->keys - b.first < side ? p->keys - b.first : side);
    b.row = head * p->keys + b.first;
    return b;
}

#define AT_GREATER(a, b) (((b) != (b)) | ((b) > (a)) ? (b) : (a))
