/* SPDX-License-Identifier: Apache-2.0 */
/* The placer of graphs: gives each node a device, kernels and one reason.
 *
 * It is a function of its request: graph, devices, kernels and settings. Equal requests get equal
 * places. It opens a device before a kernel there judges shapes.
 *
 * Owner: the caller owns the request and the places. Threads: externally synchronised. */
#ifndef GANTRY_FUNCTION_PLACE_GRAPH_H
#define GANTRY_FUNCTION_PLACE_GRAPH_H

#include "function/place/place_parts.h"

/* Fills graph->node_count places, which are zero. A node that no device can run fails with
 * TensorFlow's text, "Cannot assign a device for operation NAME: " in front. */
gantry_status_t gantry__place_graph(const gantry__graph_place_t *request,
                                    gantry__node_place_t *places);
/* Fails as gantry__place_graph does for a constant that a result needs, if no device may have it.
 * Passes may compute constants away, and with them the device that they request. */
gantry_status_t gantry__place_check_constants(const gantry__graph_place_t *request);
/* Whether placement cannot be refused: it is soft, and each op, also of bodies in the graph, has a
 * device by the registry of kernels. Opens no device. */
bool gantry__place_is_sure(const gantry__graph_place_t *request);

#endif
