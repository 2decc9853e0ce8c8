/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/file/model_file.h"

/* The part of the mapping that is in the pages from the first whole one on. */
static bool forget_in(const gantry__onnx_content_t *content, const uint8_t *data, size_t size) {
    const uintptr_t page = gantry__os_page_bytes(), begin = (uintptr_t)content->map.pages;
    const uintptr_t first = (uintptr_t)data;
    if (!content->map.pages || first < begin || first - begin >= content->bytes.size) return false;
    const uintptr_t from = (first + page - 1) / page * page, to = (first + size) / page * page;
    if (to > from) gantry__os_pages_forget((char *)content->map.pages + (from - begin), to - from);
    return true;
}

void gantry__onnx_file_forget(const gantry__onnx_file_t *file, const void *data, size_t size) {
    if (!data || forget_in(&file->content, data, size)) return;
    for (size_t i = 0; i < file->external_count; ++i) {
        if (forget_in(&file->externals[i].content, data, size)) return;
    }
}
