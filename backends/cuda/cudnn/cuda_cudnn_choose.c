/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of an engine (cuda_cudnn_choose.h).
 *
 * The library's heuristics list configurations of engines, the fastest first, and a second list for
 * what the first one lacks. An engine says by notes what it does to numbers. The first one without
 * a note that a promise excludes, whose plan the library makes and whose workspace is small enough,
 * is taken. For float32 the list begins with engines that round operands to TF32. */
#include "cuda/cudnn/cuda_cudnn_choose.h"

#include <gantry/backend_abi.h>
#include <stdio.h>
#include <string.h>

#define MOST_CONFIGS 64
#define MOST_NOTES 16

typedef struct cudnn_choosing_t {
    const gantry__cudnn_t *cudnn;
    const gantry__cudnn_wanted_t *wanted;
    gantry__cudnn_choice_t *choice;
    int32_t left;                 /* engines that are still passed over */
    gantry__cudnn_parts_t failed; /* the first failure that is no refusal; it has no descriptors */
} cudnn_choosing_t;

bool gantry__cudnn_note_is_allowed(const gantry__cudnn_form_t *form, int note) {
    switch (note) {
        case GANTRY__CUDNN_NOTE_STRICT_NAN: return true;
        case GANTRY__CUDNN_NOTE_TENSOR_CORE:
            return form->dtype != GANTRY_FLOAT32 || form->may_round;
        case GANTRY__CUDNN_NOTE_NONDETERMINISTIC: return form->any_order;
        /* shorter operands, shorter sums, transforms with larger errors, and notes of versions that
         * are not known here */
        default: return false;
    }
}

static bool cudnn_choose_allows(const cudnn_choosing_t *choosing, gantry__cudnn_parts_t *parts,
                                gantry__cudnn_desc_t engine) {
    int notes[MOST_NOTES];
    int64_t count = 0;
    gantry__cudnn_parts_note(parts, choosing->cudnn->cudnnBackendGetAttribute(
                                        engine, GANTRY__CUDNN_ENGINE_NOTES, GANTRY__CUDNN_TYPE_NOTE,
                                        MOST_NOTES, &count, notes));
    if (parts->status != GANTRY__CUDNN_SUCCESS || count > MOST_NOTES) return false;
    for (int64_t i = 0; i < count; ++i) {
        if (!gantry__cudnn_note_is_allowed(choosing->wanted->form, notes[i])) return false;
    }
    return true;
}

static int64_t cudnn_choose_number(const cudnn_choosing_t *choosing, gantry__cudnn_parts_t *parts,
                                   gantry__cudnn_desc_t desc, unsigned int attribute) {
    int64_t value = 0, count = 0;
    if (parts->status == GANTRY__CUDNN_SUCCESS)
        gantry__cudnn_parts_note(parts,
                                 choosing->cudnn->cudnnBackendGetAttribute(
                                     desc, attribute, GANTRY__CUDNN_TYPE_INT64, 1, &count, &value));
    return value;
}

static gantry__cudnn_desc_t cudnn_choose_engine(const cudnn_choosing_t *choosing,
                                                gantry__cudnn_parts_t *parts,
                                                gantry__cudnn_desc_t config) {
    int64_t count = 0;
    gantry__cudnn_desc_t engine = gantry__cudnn_make(parts, GANTRY__CUDNN_ENGINE);
    if (!engine) return NULL;
    gantry__cudnn_parts_note(parts, choosing->cudnn->cudnnBackendGetAttribute(
                                        config, GANTRY__CUDNN_CONFIG_ENGINE,
                                        GANTRY__CUDNN_TYPE_DESCRIPTOR, 1, &count, &engine));
    return engine;
}

static gantry__cudnn_desc_t cudnn_choose_plan(const cudnn_choosing_t *choosing,
                                              gantry__cudnn_parts_t *parts,
                                              gantry__cudnn_desc_t config) {
    gantry__cudnn_desc_t plan = gantry__cudnn_make(parts, GANTRY__CUDNN_PLAN);
    if (choosing->wanted->handle)
        gantry__cudnn_set(parts, plan, GANTRY__CUDNN_PLAN_HANDLE, GANTRY__CUDNN_TYPE_HANDLE, 1,
                          &choosing->wanted->handle);
    gantry__cudnn_set_desc(parts, plan, GANTRY__CUDNN_PLAN_CONFIG, config);
    if (choosing->wanted->device)
        gantry__cudnn_set_desc(parts, plan, GANTRY__CUDNN_PLAN_DEVICE, choosing->wanted->device);
    gantry__cudnn_finalize(parts, plan);
    return plan;
}

/* Keeps the first failure of another kind than "not supported", which only means the next one. */
static void cudnn_choose_note(cudnn_choosing_t *choosing, const gantry__cudnn_parts_t *parts) {
    gantry__cudnn_parts_t *failed = &choosing->failed;
    if (parts->status == GANTRY__CUDNN_SUCCESS || failed->status != GANTRY__CUDNN_SUCCESS ||
        GANTRY__CUDNN_CLASS_OF(parts->status) == GANTRY__CUDNN_NOT_SUPPORTED)
        return;
    failed->status = parts->status;
    memcpy(failed->reason, parts->reason, sizeof failed->reason);
}

/* Keeps a plan of the configuration with this engine, if it is one and its workspace fits. */
static bool cudnn_choose_plan_of(cudnn_choosing_t *choosing, gantry__cudnn_parts_t *parts,
                                 gantry__cudnn_desc_t config, gantry__cudnn_desc_t engine) {
    gantry__cudnn_choice_t *choice = choosing->choice;
    gantry__cudnn_desc_t plan = cudnn_choose_plan(choosing, parts, config);
    const int64_t bytes = cudnn_choose_number(choosing, parts, plan, GANTRY__CUDNN_PLAN_WORKSPACE);
    choice->engine = cudnn_choose_number(choosing, parts, engine, GANTRY__CUDNN_ENGINE_INDEX);
    if (parts->status != GANTRY__CUDNN_SUCCESS || bytes < 0 ||
        (uint64_t)bytes > choosing->wanted->form->most_workspace_bytes)
        return false;
    choice->workspace_bytes = (uint64_t)bytes;
    choice->plan = plan;
    return true;
}

/* ---- recipes ---- */

/* Reads one knob's number and value. */
static void cudnn_choose_read_knob(const cudnn_choosing_t *choosing, gantry__cudnn_parts_t *parts,
                                   gantry__cudnn_desc_t knob, int32_t *out_kind,
                                   int64_t *out_value) {
    int64_t count = 0;
    if (parts->status == GANTRY__CUDNN_SUCCESS)
        gantry__cudnn_parts_note(parts, choosing->cudnn->cudnnBackendGetAttribute(
                                            knob, GANTRY__CUDNN_KNOB_TYPE, GANTRY__CUDNN_TYPE_KNOB,
                                            1, &count, out_kind));
    *out_value = cudnn_choose_number(choosing, parts, knob, GANTRY__CUDNN_KNOB_VALUE);
}

/* The recipe has no engine if it cannot be read, which only means that it is not kept. The library
 * says how many knobs there are only when it fills them in. */
static void cudnn_choose_read_recipe(cudnn_choosing_t *choosing, gantry__cudnn_desc_t config) {
    const gantry__cudnn_t *cudnn = choosing->cudnn;
    gantry__cudnn_recipe_t *recipe = &choosing->choice->recipe;
    gantry__cudnn_desc_t knobs[GANTRY__CUDNN_KNOBS];
    gantry__cudnn_parts_t parts;
    int64_t found = 0;
    gantry__cudnn_parts_begin(cudnn, &parts);
    for (int i = 0; i < GANTRY__CUDNN_KNOBS; ++i)
        knobs[i] = gantry__cudnn_make(&parts, GANTRY__CUDNN_KNOB);
    if (parts.status == GANTRY__CUDNN_SUCCESS)
        gantry__cudnn_parts_note(
            &parts, cudnn->cudnnBackendGetAttribute(config, GANTRY__CUDNN_CONFIG_KNOBS,
                                                    GANTRY__CUDNN_TYPE_DESCRIPTOR,
                                                    GANTRY__CUDNN_KNOBS, &found, knobs));
    const bool is_whole = found <= GANTRY__CUDNN_KNOBS;
    for (int64_t i = 0; is_whole && i < found; ++i)
        cudnn_choose_read_knob(choosing, &parts, knobs[i], &recipe->kinds[i], &recipe->values[i]);
    recipe->knob_count = is_whole ? (int32_t)found : 0;
    recipe->engine =
        parts.status == GANTRY__CUDNN_SUCCESS && is_whole ? choosing->choice->engine : -1;
    gantry__cudnn_parts_end(&parts);
}

static gantry__cudnn_desc_t cudnn_choose_make_engine(const cudnn_choosing_t *choosing,
                                                     gantry__cudnn_parts_t *parts,
                                                     const gantry__cudnn_recipe_t *recipe) {
    gantry__cudnn_desc_t engine = gantry__cudnn_make(parts, GANTRY__CUDNN_ENGINE);
    gantry__cudnn_set_desc(parts, engine, GANTRY__CUDNN_ENGINE_GRAPH, choosing->wanted->graph);
    gantry__cudnn_set(parts, engine, GANTRY__CUDNN_ENGINE_INDEX, GANTRY__CUDNN_TYPE_INT64, 1,
                      &recipe->engine);
    if (choosing->wanted->device)
        gantry__cudnn_set_desc(parts, engine, GANTRY__CUDNN_ENGINE_DEVICE,
                               choosing->wanted->device);
    gantry__cudnn_finalize(parts, engine);
    return engine;
}

static gantry__cudnn_desc_t cudnn_choose_make_config(gantry__cudnn_parts_t *parts,
                                                     gantry__cudnn_desc_t engine,
                                                     const gantry__cudnn_recipe_t *recipe) {
    gantry__cudnn_desc_t knobs[GANTRY__CUDNN_KNOBS],
        config = gantry__cudnn_make(parts, GANTRY__CUDNN_CONFIG);
    gantry__cudnn_set_desc(parts, config, GANTRY__CUDNN_CONFIG_ENGINE, engine);
    for (int32_t i = 0; i < recipe->knob_count; ++i) {
        knobs[i] = gantry__cudnn_make(parts, GANTRY__CUDNN_KNOB);
        gantry__cudnn_set(parts, knobs[i], GANTRY__CUDNN_KNOB_TYPE, GANTRY__CUDNN_TYPE_KNOB, 1,
                          &recipe->kinds[i]);
        gantry__cudnn_set(parts, knobs[i], GANTRY__CUDNN_KNOB_VALUE, GANTRY__CUDNN_TYPE_INT64, 1,
                          &recipe->values[i]);
        gantry__cudnn_finalize(parts, knobs[i]);
    }
    if (recipe->knob_count > 0)
        gantry__cudnn_set(parts, config, GANTRY__CUDNN_CONFIG_KNOBS, GANTRY__CUDNN_TYPE_DESCRIPTOR,
                          recipe->knob_count, knobs);
    gantry__cudnn_finalize(parts, config);
    return config;
}

/* ---- the library's lists ---- */

/* Makes the plan of a configuration, if its engine is allowed. parts must be empty, and have what
 * the plan needs if it is made. */
static bool cudnn_choose_try(cudnn_choosing_t *choosing, gantry__cudnn_desc_t config,
                             gantry__cudnn_parts_t *parts) {
    gantry__cudnn_choice_t *choice = choosing->choice;
    gantry__cudnn_desc_t engine = cudnn_choose_engine(choosing, parts, config);
    ++choice->offered;
    if (engine && cudnn_choose_allows(choosing, parts, engine)) {
        ++choice->allowed;
        if (cudnn_choose_plan_of(choosing, parts, config, engine)) {
            if (choosing->left-- <= 0) return true;
            choice->plan = NULL;
        }
    }
    cudnn_choose_note(choosing, parts);
    return false;
}

/* Gives the descriptors of one to the other, in front of nothing that they need. */
static void cudnn_choose_move(gantry__cudnn_parts_t *from, gantry__cudnn_parts_t *to) {
    for (int32_t i = 0; i < from->count; ++i) to->list[to->count++] = from->list[i];
    from->count = 0;
}

/* Asks for one list, in its order. Returns how many configurations were made, of which the first
 * *out_found are filled. */
static int64_t cudnn_choose_list(const cudnn_choosing_t *choosing, gantry__cudnn_parts_t *parts,
                                 int mode, gantry__cudnn_desc_t *configs, int64_t *out_found) {
    const gantry__cudnn_t *cudnn = choosing->cudnn;
    int64_t wanted = 0, made = 0;
    *out_found = 0;
    gantry__cudnn_desc_t list = gantry__cudnn_make(parts, GANTRY__CUDNN_HEURISTICS);
    gantry__cudnn_set_desc(parts, list, GANTRY__CUDNN_HEURISTICS_GRAPH, choosing->wanted->graph);
    gantry__cudnn_set(parts, list, GANTRY__CUDNN_HEURISTICS_MODE,
                      GANTRY__CUDNN_TYPE_HEURISTICS_MODE, 1, &mode);
    if (choosing->wanted->device)
        gantry__cudnn_set_desc(parts, list, GANTRY__CUDNN_HEURISTICS_DEVICE,
                               choosing->wanted->device);
    gantry__cudnn_finalize(parts, list);
    if (parts->status == GANTRY__CUDNN_SUCCESS)
        gantry__cudnn_parts_note(parts, cudnn->cudnnBackendGetAttribute(
                                            list, GANTRY__CUDNN_HEURISTICS_RESULTS,
                                            GANTRY__CUDNN_TYPE_DESCRIPTOR, 0, &wanted, NULL));
    if (wanted > MOST_CONFIGS) wanted = MOST_CONFIGS;
    while (parts->status == GANTRY__CUDNN_SUCCESS && made < wanted) {
        configs[made] = NULL;
        gantry__cudnn_parts_note(
            parts, cudnn->cudnnBackendCreateDescriptor(GANTRY__CUDNN_CONFIG, &configs[made]));
        made += parts->status == GANTRY__CUDNN_SUCCESS;
    }
    if (parts->status == GANTRY__CUDNN_SUCCESS && made > 0)
        gantry__cudnn_parts_note(
            parts, cudnn->cudnnBackendGetAttribute(list, GANTRY__CUDNN_HEURISTICS_RESULTS,
                                                   GANTRY__CUDNN_TYPE_DESCRIPTOR, made, out_found,
                                                   configs));
    if (parts->status != GANTRY__CUDNN_SUCCESS) *out_found = 0;
    if (*out_found > made) *out_found = made; /* the library may return how many it has */
    return made;
}

/* Tries the configurations of one list. */
static bool cudnn_choose_from(cudnn_choosing_t *choosing, int mode, gantry__cudnn_parts_t *kept) {
    gantry__cudnn_desc_t configs[MOST_CONFIGS];
    gantry__cudnn_parts_t parts, tried;
    int64_t found;
    bool is_chosen = false;
    gantry__cudnn_parts_begin(choosing->cudnn, &parts);
    const int64_t made = cudnn_choose_list(choosing, &parts, mode, configs, &found);
    cudnn_choose_note(choosing, &parts);
    for (int64_t i = 0; i < found && !is_chosen; ++i) {
        gantry__cudnn_parts_begin(choosing->cudnn, &tried);
        is_chosen = cudnn_choose_try(choosing, configs[i], &tried);
        if (is_chosen) {
            cudnn_choose_read_recipe(choosing, configs[i]);
            kept->list[kept->count++] = configs[i];
            configs[i] = NULL;
            cudnn_choose_move(&tried, kept);
        }
        gantry__cudnn_parts_end(&tried);
    }
    for (int64_t i = 0; i < made; ++i) {
        if (configs[i]) choosing->cudnn->cudnnBackendDestroyDescriptor(configs[i]);
    }
    gantry__cudnn_parts_end(&parts);
    return is_chosen;
}

static void cudnn_choose_refuse(const cudnn_choosing_t *choosing, gantry__cudnn_parts_t *parts) {
    const gantry__cudnn_choice_t *choice = choosing->choice;
    parts->status = choosing->failed.status;
    memcpy(parts->reason, choosing->failed.reason, sizeof parts->reason);
    if (parts->status != GANTRY__CUDNN_SUCCESS) return;
    parts->status = GANTRY__CUDNN_NOT_SUPPORTED;
    if (choice->offered == 0) {
        (void)snprintf(parts->reason, sizeof parts->reason,
                       "it has no engine for this; if it has none at all, a part of it is missing");
        return;
    }
    (void)snprintf(parts->reason, sizeof parts->reason,
                   "of %d engines, %d keep the precision and the order of sums, and none of these "
                   "can be used with at most %llu bytes of workspace",
                   choice->offered, choice->allowed,
                   (unsigned long long)choosing->wanted->form->most_workspace_bytes);
}

static void cudnn_choose_begin(gantry__cudnn_parts_t *parts, const gantry__cudnn_wanted_t *wanted,
                               int32_t passed_over, gantry__cudnn_choice_t *choice,
                               cudnn_choosing_t *out) {
    *choice = (gantry__cudnn_choice_t){.recipe = {.engine = -1}};
    *out = (cudnn_choosing_t){
        .cudnn = parts->cudnn, .wanted = wanted, .choice = choice, .left = passed_over};
}

void gantry__cudnn_choose(gantry__cudnn_parts_t *parts, const gantry__cudnn_wanted_t *wanted,
                          gantry__cudnn_choice_t *out_choice) {
    int32_t passed_over = wanted->passed_over;
    cudnn_choosing_t choosing;
    for (;; passed_over = 0) {
        cudnn_choose_begin(parts, wanted, passed_over, out_choice, &choosing);
        if (parts->status != GANTRY__CUDNN_SUCCESS) return;
        if (cudnn_choose_from(&choosing, GANTRY__CUDNN_MODE_A, parts) ||
            cudnn_choose_from(&choosing, GANTRY__CUDNN_MODE_FALLBACK, parts))
            return;
        if (passed_over == 0) break;
    }
    cudnn_choose_refuse(&choosing, parts);
}

bool gantry__cudnn_restore(gantry__cudnn_parts_t *parts, const gantry__cudnn_wanted_t *wanted,
                           const gantry__cudnn_recipe_t *recipe, gantry__cudnn_choice_t *out_choice,
                           char reason[200]) {
    cudnn_choosing_t choosing;
    gantry__cudnn_parts_t tried;
    bool is_good = false;
    cudnn_choose_begin(parts, wanted, 0, out_choice, &choosing);
    gantry__cudnn_parts_begin(parts->cudnn, &tried);
    gantry__cudnn_desc_t engine = cudnn_choose_make_engine(&choosing, &tried, recipe);
    const bool is_allowed =
        tried.status == GANTRY__CUDNN_SUCCESS && cudnn_choose_allows(&choosing, &tried, engine);
    if (is_allowed) {
        gantry__cudnn_desc_t config = cudnn_choose_make_config(&tried, engine, recipe);
        is_good = cudnn_choose_plan_of(&choosing, &tried, config, engine);
    }
    if (is_good) {
        out_choice->recipe = *recipe;
        cudnn_choose_move(&tried, parts);
    } else {
        (void)snprintf(reason, 200, "%s",
                       tried.status != GANTRY__CUDNN_SUCCESS ? tried.reason
                       : is_allowed ? "its workspace is larger than is allowed"
                                    : "its engine breaks a promise of precision or order");
    }
    gantry__cudnn_parts_end(&tried);
    return is_good;
}
