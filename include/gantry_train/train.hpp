/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * gantry/gantry.hpp with the objects of libgantry_train:
 *
 *     gantry::owned<gantry_model_t> model;
 *
 * A call that takes an object over, as those of data sets do, gets owner.release(). Owners and
 * threads: as gantry/gantry.hpp says. */
#ifndef GANTRY_TRAIN_TRAIN_HPP
#define GANTRY_TRAIN_TRAIN_HPP

#include <gantry/gantry.hpp>
#include <gantry_train/mpi.h>
#include <gantry_train/train.h>

namespace gantry {
inline namespace GANTRY_CPP_NAMESPACE {

GANTRY_CPP_RELEASER(gantry_callback_t, gantry_callback_release)
GANTRY_CPP_RELEASER(gantry_checkpoint_t, gantry_checkpoint_release)
GANTRY_CPP_RELEASER(gantry_communicator_t, gantry_mpi_communicator_release)
GANTRY_CPP_RELEASER(gantry_dataset_t, gantry_dataset_release)
GANTRY_CPP_RELEASER(gantry_dataset_iterator_t, gantry_dataset_iterator_release)
GANTRY_CPP_RELEASER(gantry_layer_t, gantry_layer_release)
GANTRY_CPP_RELEASER(gantry_schedule_t, gantry_schedule_release)
GANTRY_CPP_RELEASER(gantry_metric_t, gantry_metric_release)
GANTRY_CPP_RELEASER(gantry_model_t, gantry_model_release)
GANTRY_CPP_RELEASER(gantry_numerics_t, gantry_check_numerics_end)
GANTRY_CPP_RELEASER(gantry_optimizer_t, gantry_optimizer_release)
GANTRY_CPP_RELEASER(gantry_strategy_t, gantry_strategy_release)
GANTRY_CPP_RELEASER(gantry_mirrored_variable_t, gantry_mirrored_variable_release)
GANTRY_CPP_RELEASER(gantry_tape_t, gantry_tape_end)

}  // namespace GANTRY_CPP_NAMESPACE
}  // namespace gantry

#endif
