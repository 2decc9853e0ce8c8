/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of dlpack.h by the tables of other libraries. */
#include "api/dlpack.h"
#include "backend/backend_check.h"
#include "base/fp_mode.h"
#include "run/scope_state.h"
#include "shared/struct_size.h"

/* CUDA's number of the legacy default stream, which NULL names in other libraries. */
#define CUDA_LEGACY_STREAM ((void *)1)

/* An older table has a lower version, so that a circle of them ends. */
static gantry_status_t find_table(const struct DLPackExchangeAPI *api, const char *call,
                                  const struct DLPackExchangeAPI **out_table) {
    const gantry__dl_api_header_t *header = api ? &api->header : NULL;
    while (header && header->version.major > GANTRY__DLPACK_MAJOR && header->prev_api &&
           header->prev_api->version.major < header->version.major)
        header = header->prev_api;
    const struct DLPackExchangeAPI *table = (const void *)header;
    if (!header) return gantry__refuse("%s: api is NULL", call);
    if (header->version.major != GANTRY__DLPACK_MAJOR)
        return gantry__refuse(
            "%s: the table is of DLPack %u.%u and has no older one of version %d, which is accepted",
            call, api->header.version.major, api->header.version.minor, GANTRY__DLPACK_MAJOR);
    if (!table->managed_tensor_from_py_object_no_sync ||
        !table->managed_tensor_to_py_object_no_sync || !table->current_work_stream)
        return gantry__refuse(
            "%s: a function of the table is NULL; managed_tensor_from_py_object_no_sync, managed_tensor_to_py_object_no_sync and current_work_stream are needed",
            call);
    *out_table = table;
    return GANTRY_OK;
}

/* Finds the stream of the other library's work on a device, unless the program named one. */
static gantry_status_t find_stream(const struct DLPackExchangeAPI *table, const char *call,
                                   const gantry__dl_tensor_t *tensor, void **stream) {
    if (*stream || gantry__dlpack_is_host(tensor)) return GANTRY_OK;
    const int code = table->current_work_stream(tensor->device_type, tensor->device_id, stream);
    if (code != 0)
        return gantry__refuse(
            "%s: the table does not name the stream of device %d of DLPack's type %d: current_work_stream returned %d; options may name one",
            call, (int)tensor->device_id, (int)tensor->device_type, code);
    if (!*stream && tensor->device_type == GANTRY__DL_CUDA) *stream = CUDA_LEGACY_STREAM;
    return GANTRY_OK;
}

static gantry_status_t take_managed(gantry_scope_t *scope, const struct DLPackExchangeAPI *table,
                                    const char *call, struct DLManagedTensorVersioned *managed,
                                    gantry_from_dlpack_options_t *options,
                                    gantry_tensor_t **out_tensor) {
    if (managed->version.major == GANTRY__DLPACK_MAJOR)
        GANTRY__TRY(find_stream(table, call, &managed->dl_tensor, &options->stream));
    return gantry__dlpack_take(scope, managed, options, call, out_tensor);
}

static gantry_status_t from_exchange(gantry_scope_t *scope, const struct DLPackExchangeAPI *api,
                                     void *object, const gantry_from_dlpack_options_t *options,
                                     gantry_tensor_t **out_tensor) {
    const char *call = "gantry_tensor_from_exchange";
    const struct DLPackExchangeAPI *table;
    struct DLManagedTensorVersioned *managed = NULL;
    gantry_from_dlpack_options_t read;
    GANTRY__TRY(gantry__struct_read(options, 0, &read, sizeof read, call));
    GANTRY__TRY(find_table(api, call, &table));
    if (!object) return gantry__refuse("%s: object is NULL", call);
    const int code = table->managed_tensor_from_py_object_no_sync(object, &managed);
    if (code != 0 || !managed)
        return gantry__refuse(
            "%s: the table does not give the object at %p: managed_tensor_from_py_object_no_sync returned %d; an object that its library gives as DLPack is accepted",
            call, object, code);
    gantry_status_t status = take_managed(scope, table, call, managed, &read, out_tensor);
    if (status != GANTRY_OK && managed->deleter) managed->deleter(managed);
    return status;
}

const gantry_tensor_t *gantry_tensor_from_exchange(gantry_scope_t *scope,
                                                   const struct DLPackExchangeAPI *api,
                                                   void *object,
                                                   const gantry_from_dlpack_options_t *options) {
    GANTRY__OWN_FP_MODE(fp);
    if (gantry__scope_check(scope) != GANTRY_OK) return NULL;
    gantry_tensor_t *tensor = NULL;
    gantry_status_t status = from_exchange(scope, api, object, options, &tensor);
    if (status != GANTRY_OK) (void)gantry__scope_fail(scope, status);
    return tensor;
}

/* The reference of its own says whether a table that failed called the deleter: DLPack leaves it
 * open. */
static gantry_status_t exchange_hand_over(const struct DLPackExchangeAPI *table, const char *call,
                                          struct DLManagedTensorVersioned *managed,
                                          void **out_object) {
    void *object = NULL;
    gantry__dlpack_keep(managed);
    const int code = table->managed_tensor_to_py_object_no_sync(managed, &object);
    const bool was_last = gantry__dlpack_drop(managed);
    if (code == 0 && object) {
        *out_object = object;
        return GANTRY_OK;
    }
    if (code != 0 && !was_last) (void)gantry__dlpack_drop(managed);
    return gantry__refuse(
        "%s: the table does not take the tensor: managed_tensor_to_py_object_no_sync returned %d; a type and a device that its library has are accepted",
        call, code);
}

/* The other library's stream on the tensor's device, whose memory is given in place. */
static gantry_status_t find_consumer(const struct DLPackExchangeAPI *table, const char *call,
                                     const gantry_tensor_t *tensor,
                                     gantry_to_dlpack_options_t *options) {
    gantry__dl_tensor_t there = {.data = NULL};
    if (options->copies || gantry__is_mappable(tensor) ||
        !gantry__backend_interop(tensor->device->backend))
        return GANTRY_OK;
    GANTRY__TRY(gantry__dlpack_describe_device(tensor, &there));
    return find_stream(table, call, &there, &options->stream);
}

gantry_status_t gantry_tensor_to_exchange(const gantry_tensor_t *tensor,
                                          const struct DLPackExchangeAPI *api,
                                          const gantry_to_dlpack_options_t *options,
                                          void **out_object) {
    GANTRY__OWN_FP_MODE(fp);
    const char *call = "gantry_tensor_to_exchange";
    const struct DLPackExchangeAPI *table;
    struct DLManagedTensorVersioned *managed;
    gantry_to_dlpack_options_t read;
    if (!out_object) return gantry__refuse("%s: out_object is NULL", call);
    *out_object = NULL;
    GANTRY__TRY(gantry__struct_read(options, 0, &read, sizeof read, call));
    GANTRY__TRY(find_table(api, call, &table));
    GANTRY__TRY(gantry__check_concrete(tensor, call));
    GANTRY__TRY(find_consumer(table, call, tensor, &read));
    GANTRY__TRY(gantry__dlpack_give(tensor, &read, call, &managed));
    return exchange_hand_over(table, call, managed, out_object);
}
