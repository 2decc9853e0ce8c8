/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Gantry's training library: gradients, layers, losses, optimizers, data sets, and models that are
 * fitted to data. It uses only the public calls of libgantry. This header includes all others of
 * the library but mpi.h; each says who owns what it hands out and how threads may use it. */
#ifndef GANTRY_TRAIN_TRAIN_H
#define GANTRY_TRAIN_TRAIN_H

#include <gantry_train/callback.h>
#include <gantry_train/checkpoint.h>
#include <gantry_train/dataset.h>
#include <gantry_train/gradient.h>
#include <gantry_train/initializer.h>
#include <gantry_train/layer.h>
#include <gantry_train/learning_rate.h>
#include <gantry_train/loss.h>
#include <gantry_train/metric.h>
#include <gantry_train/model.h>
#include <gantry_train/numerics.h>
#include <gantry_train/optimizer.h>
#include <gantry_train/regularizer.h>
#include <gantry_train/strategy.h>
#include <gantry_train/tape.h>

#endif
