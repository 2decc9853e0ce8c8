/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Saved functions: a function in one file, which loads without its body.
 *
 * The file is a safetensors file. Its tensors are the constants and the variables of the function,
 * by name; its metadata say the format's version and have the function's own; the tensor
 * "gantry.graph" has the graph. docs/saved_functions.md describes it. A library reads the files of
 * all earlier versions, and refuses those of a newer format, and ops of a newer version, by name.
 *
 * A file is never trusted: whatever its bytes are, loading ends with a function or an error. What
 * a loaded function computes is what its file says, so a program loads the files that it trusts as
 * it trusts code. Thread-safe. */
#ifndef GANTRY_SAVED_FUNCTION_H
#define GANTRY_SAVED_FUNCTION_H

#include <gantry/function.h>
#include <gantry/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The newest version of the format that this library reads. It writes 1, or 2 for a graph with
 * nodes of gantry_graph_add_join. */
#define GANTRY_SAVED_FORMAT 2

/** Options of gantry_function_save. */
typedef struct gantry_function_save_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** Texts of metadata, which are added to the function's own and replace those of the same
     * key. */
    const gantry_metadata_t *metadata;
    size_t metadata_count; /**< Entries of metadata. */
} gantry_function_save_options_t;

/** Saves a function: its graph before any pass (gantry_function_get_graph), the present values of
 * its variables, its constants, and the places in its streams of random numbers. Waits for them.
 * The file is replaced whole or not at all. options may be NULL.
 *
 * A constant of up to 64 bytes is a part of the graph; others, and all variables, are tensors under
 * their names, which get "_1", "_2" and so on where they repeat. A generator's stream is saved as
 * it is now: the loaded function has one of its own. A function whose newest trace is
 * batch-invariant stays so.
 *
 * FailedPrecondition as for gantry_function_get_graph; InvalidArgument for metadata that is not
 * UTF-8 (bytes of a tensor's name that are not become "?"); Unimplemented, with the node's name,
 * for what a graph cannot say, for an op with the attributes seed and seed2 that the program added
 * to a graph, whose stream the graph does not have (a stateless op, and a function that was traced
 * from a body, are accepted), and for a tensor of a type that safetensors does not have; else the
 * error of reading a tensor, with its name. */
GANTRY_API gantry_status_t gantry_function_save(gantry_function_t *function, const char *path,
                                                const gantry_function_save_options_t *options);

/** Options of gantry_function_load. */
typedef struct gantry_function_load_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** The device of its variables and of its constants, except those in the graph, as for
     * gantry_scope_begin. NULL: constants that were in the host's memory are there again; others,
     * and variables, are where a scope without a request puts them. */
    const char *device;
    /** Options of the function; NULL: none. */
    const gantry_function_options_t *function;
    /** Maps weights of a CPU device in place of reading them, as gantry_map_npy does: they take no
     * memory until the function assigns them, and nobody may change the file meanwhile. */
    bool maps;
} gantry_function_load_options_t;

/** Loads a function that gantry_function_save wrote. It has variables of its own, with the saved
 * names and values; gantry_function_get_graph and gantry_graph_find_variable give them to the
 * program. The device requests of its nodes are those that were saved. options may be NULL.
 *
 * NotFound; InvalidArgument: no saved function; Unimplemented: a newer format, an op or a version
 * of an op that this library does not have; DataLoss: damaged; else as
 * gantry_function_from_graph. */
GANTRY_API gantry_status_t gantry_function_load(gantry_runtime_t *runtime, const char *path,
                                                const gantry_function_load_options_t *options,
                                                gantry_function_t **out_function);

/** The number of variables that a graph and its subgraphs read or assign, each counted once; 0 for
 * NULL. A subgraph gives those of its graph. */
GANTRY_API size_t gantry_graph_variable_count(const gantry_graph_t *graph);
/** A variable of a graph, in the order of their first nodes; the graph holds it. NULL, with
 * OutOfRange as the last message, for an index that is not below the count. */
GANTRY_API gantry_variable_t *gantry_graph_get_variable(const gantry_graph_t *graph, size_t index);
/** The first variable of that name; NULL, with NotFound as the last message: there is none. */
GANTRY_API gantry_variable_t *gantry_graph_find_variable(const gantry_graph_t *graph,
                                                         const char *name);

#ifdef __cplusplus
}
#endif
#endif
