/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Gantry: one compute backend for every device of a machine. This header includes the whole public
 * API; each included header says who owns what it hands out and how threads may use it. */
#ifndef GANTRY_GANTRY_H
#define GANTRY_GANTRY_H

#include <gantry/claim.h>
#include <gantry/control.h>
#include <gantry/device.h>
#include <gantry/dlpack.h>
#include <gantry/file.h>
#include <gantry/function.h>
#include <gantry/graph.h>
#include <gantry/interop.h>
#include <gantry/io.h>
#include <gantry/join.h>
#include <gantry/memory.h>
#include <gantry/observe.h>
#include <gantry/op.h>
#include <gantry/ops.h>
#include <gantry/placement.h>
#include <gantry/profile.h>
#include <gantry/random.h>
#include <gantry/runtime.h>
#include <gantry/saved_function.h>
#include <gantry/scope.h>
#include <gantry/status.h>
#include <gantry/telemetry.h>
#include <gantry/tensor.h>
#include <gantry/tuning.h>
#include <gantry/types.h>
#include <gantry/variable.h>
#include <gantry/version.h>

#endif
