# SPDX-License-Identifier: Apache-2.0
"""tf.nn.ctc_loss of sparse labels, on the CPU.

As soon as a GPU is listed, TensorFlow takes cuDNN's op, CTCLossV2. That op has no kernel for
processors, and TensorFlow fails with "Could not find device for node". CTCLoss has one, and gives
the same losses and gradients."""


def install():
    """Called once, when TensorFlow loads the plug-in. Returns whether anything was changed."""
    from tensorflow.python.ops import ctc_ops

    standard = getattr(ctc_ops, "_ctc_loss_op_standard", None)
    if standard is None or not hasattr(ctc_ops, "_ctc_loss_op_cudnn"):
        return False
    ctc_ops._ctc_loss_op_cudnn = standard
    return True
