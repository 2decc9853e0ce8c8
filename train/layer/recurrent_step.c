/* SPDX-License-Identifier: Apache-2.0 */
/* One step of SimpleRNN, LSTM and GRU: x is the input times the kernel, with its bias. */
#include "train/base/inner_scope.h"
#include "train/layer/recurrent.h"

typedef const gantry_tensor_t tensor;
typedef gantry__recurrence_t recurrence_t;

static tensor *activate(const recurrence_t *r, tensor *x) {
    return gantry_activate(r->scope, r->kind->activation, x);
}

static tensor *open_gate(const recurrence_t *r, tensor *x) {
    return gantry_activate(r->scope, r->kind->gate_activation, x);
}

/* h, without the elements that dropout takes from a gate. */
static tensor *dropped_state(const recurrence_t *r, size_t gate) {
    return r->drops[gate] ? gantry_mul(r->scope, r->h, r->drops[gate]) : r->h;
}

static tensor *multiply(recurrence_t *r, tensor *state, tensor *weight) {
    tensor *product = gantry_matmul(r->scope, state, weight, NULL);
    if (r->products)
        r->products[r->product_count++] = (gantry__rnn_product_t){state, weight, product};
    return product;
}

/* h times the recurrent kernel of the first gates. With dropout each gate has elements of its
 * own. */
static tensor *recur(recurrence_t *r, size_t gates, tensor *kernel) {
    gantry_scope_t *s = r->scope;
    tensor *parts[GANTRY__RNN_MOST_GATES];
    if (!r->drops[0]) return multiply(r, r->h, kernel);
    for (size_t g = 0; g < gates; ++g) parts[g] = multiply(r, dropped_state(r, g), r->kernel_of[g]);
    return gates > 1 ? gantry_concat(s, parts, gates, 1) : parts[0];
}

void gantry__rnn_simple_step(recurrence_t *r, tensor *x) {
    r->h = activate(r, gantry_add(r->scope, x, recur(r, 1, r->recurrent)));
}

/* c = f c + i tanh(z), h = o tanh(c) */
void gantry__rnn_lstm_step(recurrence_t *r, tensor *x) {
    gantry_scope_t *s = r->scope;
    tensor *z[4];
    if (gantry_split(s, gantry_add(s, x, recur(r, 4, r->recurrent)), 1, z, 4) != GANTRY_OK) return;
    tensor *kept = gantry_mul(s, open_gate(r, z[1]), r->c);
    r->c = gantry_add(s, kept, gantry_mul(s, open_gate(r, z[0]), activate(r, z[2])));
    r->h = gantry_mul(s, open_gate(r, z[3]), activate(r, r->c));
}

/* h = z h + (1 - z) candidate */
static void gru_mix(recurrence_t *r, tensor *z, tensor *candidate) {
    gantry_scope_t *s = r->scope;
    tensor *one = gantry__train_constant(s, gantry_tensor_dtype(z), 1);
    r->h = gantry_add(s, gantry_mul(s, z, r->h), gantry_mul(s, gantry_sub(s, one, z), candidate));
}

void gantry__rnn_gru_step(recurrence_t *r, tensor *x) {
    gantry_scope_t *s = r->scope;
    tensor *from_x[3], *from_h[3], *inner = recur(r, 3, r->recurrent);
    if (r->recurrent_bias) inner = gantry_bias_add(s, inner, r->recurrent_bias);
    if (gantry_split(s, x, 1, from_x, 3) != GANTRY_OK ||
        gantry_split(s, inner, 1, from_h, 3) != GANTRY_OK)
        return;
    tensor *z = open_gate(r, gantry_add(s, from_x[0], from_h[0]));
    tensor *reset = open_gate(r, gantry_add(s, from_x[1], from_h[1]));
    gru_mix(r, z, activate(r, gantry_add(s, from_x[2], gantry_mul(s, reset, from_h[2]))));
}

void gantry__rnn_gru_step_reset_before(recurrence_t *r, tensor *x) {
    gantry_scope_t *s = r->scope;
    tensor *from_x[3], *from_h[2], *inner = recur(r, 2, r->kernel_gates);
    if (gantry_split(s, x, 1, from_x, 3) != GANTRY_OK ||
        gantry_split(s, inner, 1, from_h, 2) != GANTRY_OK)
        return;
    tensor *z = open_gate(r, gantry_add(s, from_x[0], from_h[0]));
    tensor *reset = open_gate(r, gantry_add(s, from_x[1], from_h[1]));
    tensor *kept = multiply(r, gantry_mul(s, reset, dropped_state(r, 2)), r->kernel_candidate);
    gru_mix(r, z, activate(r, gantry_add(s, from_x[2], kept)));
}
