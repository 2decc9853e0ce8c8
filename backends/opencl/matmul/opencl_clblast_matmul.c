/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by CLBlast.
 *
 * Reach. CLBlast gives offsets, strides and sizes to its kernels as int. A tensor may be more than
 * 2^31 elements after the beginning of its region, and then CLBlast is called with a sub-buffer:
 *
 *     region    |------------------------------|====tensor====|
 *     sub-buffer                         |-----|====tensor====|     begins aligned, small offset
 *
 * A tensor that itself reaches further is declined, and the portable kernels take it.
 *
 * Memory. CLBlast wants temporary memory for padded copies. For one product it comes from the
 * core's scratch, as a sub-buffer, because the library knows no offset there. A call for a batch
 * with one stride takes the memory itself, past the device's limit. So that call is made only while
 * it takes little, and else there is one call for each product. The outer dimensions of a batch are
 * one call each.
 *
 * Failure. Parameters that exceed a card's limits make a kernel of CLBlast fail for each product of
 * about that size. The call's failure is remembered for such products, supports() declines them
 * from then on, and the core gives this call, too, to the portable kernels. A lack of memory and a
 * lost device are reported as such. */
#include <stdio.h>

#include "opencl/opencl_backend.h"
#include "opencl/matmul/opencl_matmul.h"
#include "kernels/matmul/matmul_shape.h"

/* The most elements, less some, because CLBlast rounds sizes up to whole tiles. */
#define REACH ((UINT64_C(1) << 31) - (UINT64_C(1) << 16))
/* The most temporary memory that a call for a batch may take itself. */
#define MOST_OWN_BYTES (UINT64_C(8) << 20)
/* The longest side of the tiles to which CLBlast pads. */
#define TILE UINT64_C(128)

/* A matrix of each product, with numbers in elements. */
typedef struct operand_t {
    cl_mem buffer;
    uint64_t begin; /* where the first product's begins */
    uint64_t bytes; /* those of an element */
    size_t ld;
    size_t stride; /* to the next product of the innermost batch dimension */
    int form;
} operand_t;

typedef struct products_t {
    gantry_op_call_t *call;
    gantry__opencl_matmul_t matmul;
    operand_t a;
    operand_t b;
    operand_t c;
    uint64_t run; /* products of one call: the innermost batch dimension's */
    cl_mem temp;  /* NULL: CLBlast needs none */
} products_t;

/* ---- who takes which product ---- */

static uint32_t bit_length(int64_t number) {
    uint32_t length = 0;
    for (; number > 0; number /= 2) ++length;
    return length;
}

/* The bit for products of about that size. */
static unsigned long long size_bit(const gantry__opencl_matmul_t *matmul) {
    uint32_t length = bit_length(matmul->m) + bit_length(matmul->n) + bit_length(matmul->k);
    return 1ull << (length < 63 ? length : 63);
}

static atomic_ullong *failed_sizes(gantry_backend_device_t *device,
                                   const gantry__opencl_matmul_t *matmul) {
    return &device->clblast_failed[matmul->dtype == GANTRY_FLOAT64][matmul->batch_rank > 0];
}

static bool has_failed(gantry_backend_device_t *device, const gantry__opencl_matmul_t *matmul) {
    return (atomic_load_explicit(failed_sizes(device, matmul), memory_order_relaxed) &
            size_bit(matmul)) != 0;
}

/* Whether one call reaches all elements of its operands, wherever they begin. */
static bool is_within_reach(const gantry__opencl_matmul_t *matmul, uint64_t alignment_bytes) {
    int32_t last = matmul->batch_rank - 1;
    uint64_t more = last < 0 ? 0 : (uint64_t)matmul->batch_dims[last] - 1;
    uint64_t m = (uint64_t)matmul->m, n = (uint64_t)matmul->n, k = (uint64_t)matmul->k;
    uint64_t most = REACH - alignment_bytes / gantry__k_size(matmul->dtype);
    return m * k + (last < 0 ? 0 : more * (uint64_t)matmul->a_batch[last]) <= most &&
           k * n + (last < 0 ? 0 : more * (uint64_t)matmul->b_batch[last]) <= most &&
           m * n * (more + 1) <= most && m <= most && n <= most && k <= most;
}

static int32_t opencl_clblast_matmul_supports(const gantry_op_call_t *call) {
    if (!call->device || call->device->matmul != GANTRY__OPENCL_MATMUL_CLBLAST ||
        !gantry__matmul_has_whole_card(call, &call->device->record->info))
        return 0;
    gantry__opencl_matmul_t matmul;
    gantry__opencl_matmul_read(call, &matmul);
    return is_within_reach(&matmul, call->device->record->info.base_alignment_bytes) &&
           !has_failed(call->device, &matmul);
}

/* ---- failures ---- */

static const char *code_name(int native) {
    return native > -1000 ? gantry__driver_error_name(native) : "CLBlast's own error";
}

/* Whether another kernel may do better, because neither memory nor the device itself is missing. */
static bool is_worth_retrying(int native) {
    return native <= -1000 ||
           (native != CL_MEM_OBJECT_ALLOCATION_FAILURE && native != CL_OUT_OF_HOST_MEMORY &&
            gantry__driver_error_code(native) != GANTRY_UNAVAILABLE);
}

static void remember(gantry_backend_device_t *device, const gantry__opencl_matmul_t *matmul,
                     const char *text) {
    gantry_backend_instance_t *instance = device->instance;
    unsigned long long bit = size_bit(matmul);
    if (atomic_fetch_or(failed_sizes(device, matmul), bit) & bit) return;
    gantry__host_log(
        device->host, GANTRY_LEVEL_WARNING,
        "matrix products of about this size on \"%.120s\" take the portable kernels from now on: %s",
        device->record->hardware_name, text);
    gantry__mutex_lock(&instance->lock);
    if (instance->clblast.failure[0] == '\0')
        (void)snprintf(instance->clblast.failure, sizeof instance->clblast.failure, "%s", text);
    gantry__mutex_unlock(&instance->lock);
}

static int32_t opencl_clblast_matmul_check(const products_t *products, int native) {
    const gantry__opencl_matmul_t *matmul = &products->matmul;
    const gantry_op_call_t *call = products->call;
    const gantry_host_t *host = call->device->host;
    if (native == 0) return GANTRY_OK;
    char text[256];
    (void)snprintf(text, sizeof text, "%s of %lld x %lld by %lld x %lld (%lld batches): %s (%d)",
                   call->op, (long long)matmul->m, (long long)matmul->k, (long long)matmul->k,
                   (long long)matmul->n, (long long)matmul->batch_count, code_name(native), native);
    if (is_worth_retrying(native)) remember(call->device, matmul, text);
    return host->set_error(host->self,
                           native > -1000 ? gantry__driver_error_code(native) : GANTRY_INTERNAL,
                           "CLBlast", native, text);
}

/* ---- operands ---- */

static operand_t clblast_operand_of(const gantry_arg_t *arg, size_t ld, size_t stride,
                                    int is_transposed) {
    uint64_t bytes = gantry__k_size(arg->dtype);
    return (operand_t){
        .buffer = gantry__opencl_buffer(arg->span.region),
        .begin = arg->span.offset_bytes / bytes,
        .bytes = bytes,
        .ld = ld,
        .stride = stride,
        .form = is_transposed ? GANTRY__CLBLAST_TRANSPOSED : GANTRY__CLBLAST_PLAIN,
    };
}

static void read_products(gantry_op_call_t *call, products_t *out) {
    *out = (products_t){.call = call, .run = 1};
    gantry__opencl_matmul_t *matmul = &out->matmul;
    gantry__opencl_matmul_read(call, matmul);
    int32_t last = matmul->batch_rank - 1;
    if (last >= 0) out->run = (uint64_t)matmul->batch_dims[last];
    out->a = clblast_operand_of(
        call->inputs[0], (size_t)(matmul->is_a_transposed ? matmul->m : matmul->k),
        last < 0 ? 0 : (size_t)matmul->a_batch[last], matmul->is_a_transposed);
    out->b = clblast_operand_of(
        call->inputs[1], (size_t)(matmul->is_b_transposed ? matmul->k : matmul->n),
        last < 0 ? 0 : (size_t)matmul->b_batch[last], matmul->is_b_transposed);
    out->c =
        clblast_operand_of(call->outputs[0], (size_t)matmul->n, (size_t)(matmul->m * matmul->n), 0);
}

/* The place of an operand of one call: the region's buffer, or a part that was made of it. */
typedef struct place_t {
    cl_mem buffer;
    cl_mem part; /* must be released after the call has submitted its work; NULL: none */
    size_t offset;
} place_t;

/* Opens so many elements of the operand, from this element on. Returns OpenCL's number. */
static cl_int open_place(const products_t *products, const operand_t *operand, uint64_t first,
                         uint64_t elements, place_t *out) {
    const gantry_backend_device_t *device = products->call->device;
    uint64_t offset = operand->begin + first;
    *out = (place_t){operand->buffer, NULL, (size_t)offset};
    if (offset + elements <= REACH) return CL_SUCCESS;
    uint64_t alignment = device->record->info.base_alignment_bytes;
    uint64_t origin = offset * operand->bytes / alignment * alignment;
    cl_buffer_region region = {(size_t)origin,
                               (size_t)((offset + elements) * operand->bytes - origin)};
    cl_int native = CL_SUCCESS;
    out->part = device->cl->clCreateSubBuffer(operand->buffer, CL_MEM_READ_WRITE,
                                              CL_BUFFER_CREATE_TYPE_REGION, &region, &native);
    out->buffer = out->part;
    out->offset = (size_t)(offset - origin / operand->bytes);
    return native;
}

/* Closes the place; the submitted commands keep the part. */
static void close_place(const products_t *products, const place_t *place) {
    if (place->part) products->call->device->cl->clReleaseMemObject(place->part);
}

/* ---- temporary memory ---- */

/* Reads the bytes that one product wants. If there are several, which may begin anywhere, it is the
 * most that one can want. */
static int ask_temp_bytes(const products_t *products, size_t *out_bytes) {
    const gantry__opencl_clblast_t *clblast = &products->call->device->instance->clblast;
    const gantry__opencl_matmul_t *matmul = &products->matmul;
    bool is_double = matmul->dtype == GANTRY_FLOAT64, is_one = matmul->batch_count == 1;
    *out_bytes = 0;
    return (is_double ? clblast->dgemm_temp_size : clblast->sgemm_temp_size)(
        GANTRY__CLBLAST_ROW_MAJOR, products->a.form, products->b.form, (size_t)matmul->m,
        (size_t)matmul->n, (size_t)matmul->k, is_one ? (size_t)products->a.begin : 1,
        products->a.ld, is_one ? (size_t)products->b.begin : 1, products->b.ld,
        is_one ? (size_t)products->c.begin : 1, products->c.ld, &products->call->stream->queue,
        out_bytes);
}

static uint64_t tiled(int64_t side) { return ((uint64_t)side + TILE - 1) / TILE * TILE; }

/* Whether a call for the batch takes little memory, however much CLBlast pads. Then CLBlast is not
 * queried, because that takes as long as a submission. */
static bool is_small_batch(const products_t *products) {
    const gantry__opencl_matmul_t *matmul = &products->matmul;
    uint64_t m = tiled(matmul->m), n = tiled(matmul->n), k = tiled(matmul->k);
    return products->run > 1 &&
           (m * k + k * n + m * n) * products->a.bytes <= MOST_OWN_BYTES / products->run;
}

/* Takes scratch of the core. The caller must release it after the work is submitted. */
static int32_t take_temp(products_t *products, size_t bytes) {
    gantry_op_call_t *call = products->call;
    gantry_span_t span;
    GANTRY__TRY(call->services->scratch(call, bytes, &span));
    cl_buffer_region part = (cl_buffer_region){(size_t)span.offset_bytes, bytes};
    cl_int native = CL_SUCCESS;
    products->temp =
        call->device->cl->clCreateSubBuffer(gantry__opencl_buffer(span.region), CL_MEM_READ_WRITE,
                                            CL_BUFFER_CREATE_TYPE_REGION, &part, &native);
    return gantry__driver_check(call->device->host, native,
                                "%zu bytes at offset %zu as CLBlast's temporary buffer", part.size,
                                part.origin);
}

/* ---- the library's calls ---- */

static int call_one(const products_t *p, const place_t *a, const place_t *b, const place_t *c) {
    const gantry__opencl_clblast_t *clblast = &p->call->device->instance->clblast;
    cl_command_queue *queue = &p->call->stream->queue;
    size_t m = (size_t)p->matmul.m, n = (size_t)p->matmul.n, k = (size_t)p->matmul.k;
    if (p->matmul.dtype == GANTRY_FLOAT64)
        return clblast->dgemm(GANTRY__CLBLAST_ROW_MAJOR, p->a.form, p->b.form, m, n, k, 1.0,
                              a->buffer, a->offset, p->a.ld, b->buffer, b->offset, p->b.ld, 0.0,
                              c->buffer, c->offset, p->c.ld, queue, NULL, p->temp);
    return clblast->sgemm(GANTRY__CLBLAST_ROW_MAJOR, p->a.form, p->b.form, m, n, k, 1.0f, a->buffer,
                          a->offset, p->a.ld, b->buffer, b->offset, p->b.ld, 0.0f, c->buffer,
                          c->offset, p->c.ld, queue, NULL, p->temp);
}

static int call_batch(const products_t *p, const place_t *a, const place_t *b, const place_t *c) {
    const gantry__opencl_clblast_t *clblast = &p->call->device->instance->clblast;
    cl_command_queue *queue = &p->call->stream->queue;
    size_t m = (size_t)p->matmul.m, n = (size_t)p->matmul.n, k = (size_t)p->matmul.k;
    size_t count = (size_t)p->run;
    if (p->matmul.dtype == GANTRY_FLOAT64)
        return clblast->dgemm_batched(GANTRY__CLBLAST_ROW_MAJOR, p->a.form, p->b.form, m, n, k, 1.0,
                                      a->buffer, a->offset, p->a.ld, p->a.stride, b->buffer,
                                      b->offset, p->b.ld, p->b.stride, 0.0, c->buffer, c->offset,
                                      p->c.ld, p->c.stride, count, queue, NULL);
    return clblast->sgemm_batched(GANTRY__CLBLAST_ROW_MAJOR, p->a.form, p->b.form, m, n, k, 1.0f,
                                  a->buffer, a->offset, p->a.ld, p->a.stride, b->buffer, b->offset,
                                  p->b.ld, p->b.stride, 0.0f, c->buffer, c->offset, p->c.ld,
                                  p->c.stride, count, queue, NULL);
}

/* Makes one call for count products (1, or the run's), whose matrices begin at these elements. */
static int submit(const products_t *p, uint64_t count, const uint64_t first[3]) {
    uint64_t m = (uint64_t)p->matmul.m, n = (uint64_t)p->matmul.n, k = (uint64_t)p->matmul.k;
    place_t a = {0}, b = {0}, c = {0};
    int native = open_place(p, &p->a, first[0], m * k + (count - 1) * p->a.stride, &a);
    if (native == 0) native = open_place(p, &p->b, first[1], k * n + (count - 1) * p->b.stride, &b);
    if (native == 0) native = open_place(p, &p->c, first[2], m * n + (count - 1) * p->c.stride, &c);
    if (native == 0) native = count > 1 ? call_batch(p, &a, &b, &c) : call_one(p, &a, &b, &c);
    close_place(p, &a);
    close_place(p, &b);
    close_place(p, &c);
    return native;
}

/* ---- batches ---- */

/* Finds where the matrices of a run begin; a run is an index of the outer batch dimensions. */
static void find_run(const products_t *p, int64_t run, uint64_t out_first[3]) {
    const gantry__opencl_matmul_t *matmul = &p->matmul;
    int64_t rest = run, a = 0, b = 0;
    for (int32_t d = matmul->batch_rank - 2; d >= 0; --d) {
        int64_t index = rest % matmul->batch_dims[d];
        a += index * matmul->a_batch[d];
        b += index * matmul->b_batch[d];
        rest /= matmul->batch_dims[d];
    }
    out_first[0] = (uint64_t)a;
    out_first[1] = (uint64_t)b;
    out_first[2] = (uint64_t)run * p->run * p->c.stride;
}

/* at_once must be the products of one call, 1 or the run's. */
static int submit_all(const products_t *p, uint64_t at_once) {
    int64_t runs = p->matmul.batch_count / (int64_t)p->run;
    for (int64_t run = 0; run < runs; ++run) {
        uint64_t first[3];
        find_run(p, run, first);
        for (uint64_t i = 0; i < p->run; i += at_once) {
            int native = submit(p, at_once, first);
            if (native != 0) return native;
            first[0] += p->a.stride;
            first[1] += p->b.stride;
            first[2] += p->c.stride;
        }
    }
    return 0;
}

/* ---- the kernels ---- */

static int32_t opencl_clblast_matmul_compute(gantry_op_call_t *call) {
    products_t products;
    read_products(call, &products);
    if (products.matmul.k == 0) return gantry__opencl_matmul_clear(call);
    atomic_store(&call->device->used_clblast, 1);
    bool is_at_once = is_small_batch(&products);
    size_t temp_bytes = 0;
    if (!is_at_once)
        GANTRY__TRY(opencl_clblast_matmul_check(&products, ask_temp_bytes(&products, &temp_bytes)));
    /* CLBlast's numbers of elements are int here, too */
    if (temp_bytes / products.a.bytes > REACH)
        return opencl_clblast_matmul_check(&products, CL_INVALID_BUFFER_SIZE);
    is_at_once = products.run > 1 && temp_bytes * products.run <= MOST_OWN_BYTES;
    if (!is_at_once && temp_bytes > 0) GANTRY__TRY(take_temp(&products, temp_bytes));
    int native = submit_all(&products, is_at_once ? products.run : 1);
    if (products.temp) call->device->cl->clReleaseMemObject(products.temp);
    return opencl_clblast_matmul_check(&products, native);
}

static const gantry_type_constraint_t float_types[] = {{"T", GANTRY_DTYPES_FLOATS}};

const gantry_kernel_def_t gantry__opencl_clblast_kernels[GANTRY__OPENCL_MATMUL_OPS] =
    GANTRY__MATMUL_KERNELS(GANTRY__MATMUL_ABOVE_PACK, float_types, 0, "CLBlast",
                           opencl_clblast_matmul_supports, opencl_clblast_matmul_compute);
