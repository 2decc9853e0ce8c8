/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of variables: new values from present ones.
 *
 * A step of an optimizer is a formula in postfix form, with TensorFlow's operations in
 * TensorFlow's order (training_ops.cc):
 *
 *     a to k    inputs, in the definition's order; u: a value in between
 *     1         the number
 *     + - * /   of the last two values, M: the larger one
 *     S R Q A   square root, its reciprocal, square, absolute value of the last value
 *     E N _ P   power of e, sign, negative of the last value; power of the last two
 *     > ?       whether the first of two is greater; of three, the second where the first holds
 *     =b        the last value takes the place of b
 *
 *     var - alpha * delta    acb*-=a       with var, alpha, delta as a, b, c
 *
 * At the end the places of the first letters hold the outputs. A formula becomes a program of
 * _FusedElementwise: one pass over memory. In a trace, and where a program cannot have an
 * instruction of the type, the same instructions run as ops of their own: a function fuses them
 * with the ops that make the gradient. */
#include <gantry/ops.h>

#include "compose/compose.h"
#include "device/logical_device.h"
#include "op/fused_program.h"
#include "op/op_infer.h"
#include "run/call_op.h"
#include "run/runtime_state.h"

typedef const gantry_tensor_t tensor;

#define MOST_INSTRUCTIONS 32
#define LETTERS 26
#define LEAST_WITHOUT_NUMBERS 4096 /* elements that pay for a few more calls of kernels */

typedef struct formula_t {
    uint16_t op;      /* gantry__op_id_t */
    char text[80];    /* with update_slots off, the part after '|' */
    char variant[80]; /* of use_nesterov and the like, in place of the part after '|' */
} formula_t;

static const formula_t formulas[] = {
    /* var accum accum_update lr rho epsilon grad: accum = accum * rho + grad^2 * (1 - rho),
     * u = sqrt(accum_update + epsilon) * rsqrt(accum + epsilon) * grad, var -= u * lr,
     * accum_update = accum_update * rho + u^2 * (1 - rho) */
    {GANTRY__OP_ID_ResourceApplyAdadelta, "be*gQ1e-*+=bcf+Sbf+R*g*=uaud*-=ace*uQ1e-*+=c", ""},
    /* var accum lr grad: accum += grad^2, var -= grad * lr * rsqrt(accum) */
    {GANTRY__OP_ID_ResourceApplyAdagrad, "bdQ+=b|adc*bR*-=a", ""},
    /* var accum lr epsilon grad: accum += grad^2, var -= grad * lr / (sqrt(accum) + epsilon) */
    {GANTRY__OP_ID_ResourceApplyAdagradV2, "beQ+=b|aec*bSd+/-=a", ""},
    /* var m v beta1_power lr beta1 beta2 epsilon grad: m += (grad - m) * (1 - beta1),
     * v = max(beta2 * v, |grad|), var -= lr / (1 - beta1_power) * (m / (v + epsilon)) */
    {GANTRY__OP_ID_ResourceApplyAdaMax, "bib-1f-*+=bgc*iAM=cae1d-/bch+/*-=a", ""},
    /* var m v beta1_power beta2_power lr beta1 beta2 epsilon grad: m += (grad - m) * (1 - beta1),
     * v += (grad^2 - v) * (1 - beta2), u = lr * sqrt(1 - beta2_power) / (1 - beta1_power),
     * var -= m * u / (sqrt(v) + epsilon); Nesterov: grad * (1 - beta1) + beta1 * m for m */
    {GANTRY__OP_ID_ResourceApplyAdam, "bjb-1g-*+=bcjQc-1h-*+=cf1e-S*1d-/=u|abu*cSi+/-=a",
     "aj1g-*gb*+u*cSi+/-=a"},
    /* var mg ms mom lr rho momentum epsilon grad: ms += (grad^2 - ms) * (1 - rho),
     * mg += (grad - mg) * (1 - rho),
     * mom = mom * momentum + grad * lr / sqrt(ms - mg^2 + epsilon), var -= mom */
    {GANTRY__OP_ID_ResourceApplyCenteredRMSProp, "ciQc-1f-*+=cbib-1f-*+=bdg*ie*cbQ-h+S/+=dad-=a",
     ""},
    /* var alpha delta: var -= delta * alpha */
    {GANTRY__OP_ID_ResourceApplyGradientDescent, "acb*-=a", ""},
    /* var accum lr grad momentum: accum = accum * momentum - grad * lr, var += accum; Nesterov:
     * var += accum * momentum - grad * lr */
    {GANTRY__OP_ID_ResourceApplyKerasMomentum, "be*dc*-=b|ab+=a", "abe*dc*-+=a"},
    /* accum = accum * momentum + grad, var -= accum * lr; Nesterov:
     * var -= grad * lr + accum * momentum * lr */
    {GANTRY__OP_ID_ResourceApplyMomentum, "be*d+=b|abc*-=a", "adc*be*c*+-=a"},
    /* var ms mom lr rho momentum epsilon grad: ms += (grad^2 - ms) * (1 - rho),
     * mom = mom * momentum + grad * lr / sqrt(ms + epsilon), var -= mom */
    {GANTRY__OP_ID_ResourceApplyRMSProp, "bhQb-1e-*+=bcf*hd*bg+S/+=cac-=a", ""},
    /* var m lr alpha sign_decay beta grad: m = m * beta + grad * (1 - beta),
     * var -= lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad */
    {GANTRY__OP_ID_ResourceApplyAddSign, "bf*g1f-*+=bacdegNbN**+*g*-=a", ""},
    /* Adam of var m v vhat ...: vhat = max(vhat, v) takes the place of v in the step */
    {GANTRY__OP_ID_ResourceApplyAdamWithAmsgrad,
     "bkb-1h-*+=bckQc-1i-*+=cdcM=dg1f-S*1e-/=uabu*dSj+/-=a", ""},
    /* var accum linear grad lr l1 l2 lr_power, with n = accum + grad^2, p = -lr_power:
     * linear += grad - (n^p - accum^p) / lr * var, accum = n,
     * var = |linear| > l1 ? (l1 * sign(linear) - linear) / (n^p / lr + 2 * l2) : 0;
     * multiply_linear_by_lr: linear, l1 and l2 times lr, and no division by it */
    {GANTRY__OP_ID_ResourceApplyFtrl,
     "|bdQ+=nnh_P=ybh_P=zcdyz-e/a*-+=ccAf>fcN*c-ye/11+g*+/11-?=an=b",
     "bdQ+=nnh_P=ybh_P=zcde*yz-a*-+=cfe*=vcAv>vcN*c-y11+g*e*+/11-?=an=b"},
    /* the same with l2_shrinkage before lr_power; linear gets grad + 2 * l2_shrinkage * var */
    {GANTRY__OP_ID_ResourceApplyFtrlV2,
     "|bdQ+=nni_P=ybi_P=zcd11+h*a*+yz-e/a*-+=ccAf>fcN*c-ye/11+g*+/11-?=an=b",
     "bdQ+=nni_P=ybi_P=zcd11+h*a*+e*yz-a*-+=cfe*=vcAv>vcN*c-y11+g*e*+/11-?=an=b"},
    /* var m lr logbase sign_decay beta grad: m = m * beta + grad * (1 - beta),
     * var -= lr * e^(logbase * sign_decay * sign(grad) * sign(m)) * grad */
    {GANTRY__OP_ID_ResourceApplyPowerSign, "bf*g1f-*+=bacde*gNbN**E*g*-=a", ""},
    /* var accum lr l1 l2 grad: accum += grad^2, v = lr * rsqrt(accum), u = var - grad * v,
     * var = sign(u) * max(|u| - v * max(l1, 0), 0) / (1 + l2 * v) */
    {GANTRY__OP_ID_ResourceApplyProximalAdagrad, "bfQ+=bbRc*=vafv*-=uuNuAvd11-M*-11-M*1ev*+/=a",
     ""},
    /* var alpha l1 l2 delta: the same with v = alpha */
    {GANTRY__OP_ID_ResourceApplyProximalGradientDescent, "aeb*-=uuNuAbc11-M*-11-M*1db*+/=a", ""},
};

typedef struct word_t {
    char letter;
    uint16_t op;
    uint16_t instruction; /* gantry__fused_id_t */
} word_t;

#define WORD(letter, name) \
    { letter, GANTRY__OP_ID_##name, GANTRY__FUSED_##name }
static const word_t words[] = {
    WORD('+', Add),   WORD('-', Sub),    WORD('*', Mul), WORD('/', Div),     WORD('S', Sqrt),
    WORD('R', Rsqrt), WORD('Q', Square), WORD('A', Abs), WORD('M', Maximum), WORD('E', Exp),
    WORD('N', Sign),  WORD('_', Neg),    WORD('P', Pow), WORD('>', Greater), WORD('?', Select)};
#undef WORD

/* A formula as instructions, whose operands are as in a fused program. */
typedef struct step_t {
    const gantry__compose_t *c;
    gantry_dtype_t dtype;
    uint32_t count;
    bool can_fuse;
    uint16_t ops[MOST_INSTRUCTIONS];
    int64_t program[MOST_INSTRUCTIONS * GANTRY__FUSED_WORDS];
    int64_t places[LETTERS];
    int64_t stack[8];
    uint32_t depth;
} step_t;

static void add_word(step_t *step, const word_t *word) {
    const gantry__fused_id_t id = (gantry__fused_id_t)word->instruction;
    const uint32_t operands = gantry__fused_operands(id);
    int64_t *instruction = step->program + step->count * GANTRY__FUSED_WORDS;
    step->depth -= operands;
    instruction[0] = id;
    instruction[1] = step->dtype;
    instruction[2] = step->stack[step->depth];
    instruction[3] = operands > 1 ? step->stack[step->depth + 1] : 0;
    instruction[4] = operands > 2 ? step->stack[step->depth + 2] : 0;
    step->can_fuse = step->can_fuse && gantry__fused_takes(id, step->dtype);
    step->ops[step->count++] = word->op;
    step->stack[step->depth++] = -(int64_t)step->count;
}

/* Reads to the end, or to '|'. one: the input that is 1. */
static void read_formula(step_t *step, const char *text, int64_t one) {
    for (; *text && *text != '|'; ++text) {
        if (*text == '=') {
            step->places[*++text - 'a'] = step->stack[--step->depth];
        } else if (*text == '1') {
            step->stack[step->depth++] = one;
        } else if (*text >= 'a') {
            step->stack[step->depth++] = step->places[*text - 'a'];
        } else {
            const word_t *word = words;
            while (word->letter != *text) ++word;
            add_word(step, word);
        }
    }
}

static bool has_variant(const gantry__compose_t *c) {
    const gantry_attr_t *nesterov = gantry__infer_attr(c->call, "use_nesterov");
    const gantry_attr_t *multiplied = gantry__infer_attr(c->call, "multiply_linear_by_lr");
    return (nesterov && nesterov->i != 0) || (multiplied && multiplied->i != 0);
}

static bool keeps_slots(const gantry__compose_t *c) {
    const gantry_attr_t *slots = gantry__infer_attr(c->call, "update_slots");
    return slots && slots->i == 0;
}

/* The device of the present values, which is that of the variables. */
static bool has_fused_kernel(const gantry__compose_t *c) {
    const gantry_logical_device_t *device = c->inputs[0]->device;
    size_t count = 0;
    if (!c->scope->trace)
        (void)gantry__kernel_registry_find(
            &c->scope->runtime->registries[gantry__logical_view(device)->position],
            "_FusedElementwise", &count);
    return count > 0;
}

static void read_step(step_t *step, const gantry__compose_t *c) {
    const formula_t *formula = formulas;
    while (formula->op != c->call->op->id) ++formula;
    const char *rest = strchr(formula->text, '|');
    const int64_t one = c->call->input_count;
    *step = (step_t){.c = c, .dtype = c->call->dtypes[0], .can_fuse = has_fused_kernel(c)};
    for (uint32_t i = 0; i < c->call->input_count; ++i) step->places[i] = i;
    if (!keeps_slots(c)) read_formula(step, formula->text, one);
    if (rest) read_formula(step, has_variant(c) ? formula->variant : rest + 1, one);
}

/* ---- running it ---- */

/* Variables whose values only the update holds are overwritten, if the next part makes their
 * values. */
static void overwrite(const gantry__compose_t *c) {
    c->scope->overwritten = c->scope->parent->overwritten;
}

static tensor *run_instruction(const step_t *step, uint32_t k, tensor *const *inputs,
                               tensor *const *results) {
    const int64_t *instruction = step->program + k * GANTRY__FUSED_WORDS;
    const uint32_t operands = gantry__fused_operands((gantry__fused_id_t)instruction[0]);
    tensor *given[3];
    for (uint32_t i = 0; i < operands; ++i) {
        const int64_t operand = instruction[2 + i];
        given[i] = operand >= 0 ? inputs[operand] : results[-1 - operand];
    }
    return gantry__call_op(step->c->scope, (gantry__op_id_t)step->ops[k], given, operands, NULL, 0,
                           NULL);
}

static void run_parts(const step_t *step, tensor *const *inputs) {
    const gantry__compose_t *c = step->c;
    tensor *results[MOST_INSTRUCTIONS] = {NULL};
    for (uint32_t k = 0; k < step->count; ++k) {
        results[k] = run_instruction(step, k, inputs, results);
        if (!results[k]) return;
    }
    for (uint32_t i = 0; i < c->call->output_count; ++i)
        c->outputs[i] = step->places[i] < 0 ? results[-1 - step->places[i]] : inputs[i];
}

/* Whether all operands have one element, whatever the variables have. numbers: the results that
 * have. */
static bool is_of_numbers(const step_t *step, const int64_t *instruction, tensor *const *numbers) {
    const gantry__infer_t *call = step->c->call;
    for (uint32_t i = 0; i < gantry__fused_operands((gantry__fused_id_t)instruction[0]); ++i) {
        const int64_t operand = instruction[2 + i];
        const bool is_number =
            operand < 0 ? numbers[-1 - operand] != NULL
                        : operand == call->input_count ||
                              (operand >= call->output_count && call->shapes[operand]->rank == 0);
        if (!is_number) return false;
    }
    return true;
}

/* The number as an input of the program. */
static int64_t input_of(tensor **inputs, uint32_t *count, tensor *number) {
    uint32_t i = 0;
    while (i < *count && inputs[i] != number) ++i;
    inputs[i] = number;
    if (i == *count) ++*count;
    return i;
}

/* Runs the instructions that need only numbers, which a program would repeat for each element. The
 * results that others use become inputs, up to four. False after a failure. */
static bool run_numbers(step_t *step, tensor **inputs, uint32_t *input_count) {
    tensor *numbers[MOST_INSTRUCTIONS] = {NULL};
    int64_t at[MOST_INSTRUCTIONS]; /* of the instructions that stay: the operand for their result */
    uint32_t kept = 0;
    for (uint32_t k = 0; k < step->count; ++k) {
        int64_t *instruction = step->program + k * GANTRY__FUSED_WORDS;
        if (is_of_numbers(step, instruction, numbers)) {
            numbers[k] = run_instruction(step, k, inputs, numbers);
            if (!numbers[k]) return false;
            continue;
        }
        for (uint32_t i = 0; i < gantry__fused_operands((gantry__fused_id_t)instruction[0]); ++i) {
            const int64_t result = -1 - instruction[2 + i];
            if (result < 0) continue;
            instruction[2 + i] =
                numbers[result] ? input_of(inputs, input_count, numbers[result]) : at[result];
        }
        memmove(step->program + kept * GANTRY__FUSED_WORDS, instruction,
                GANTRY__FUSED_WORDS * sizeof *instruction);
        at[k] = -1 - (int64_t)kept++;
    }
    step->count = kept;
    for (uint32_t i = 0; i < step->c->call->output_count; ++i) {
        if (step->places[i] < 0) step->places[i] = at[-1 - step->places[i]];
    }
    return true;
}

static void run_fused(step_t *step, tensor **inputs, uint32_t input_count) {
    const gantry__compose_t *c = step->c;
    tensor *results[GANTRY__FUSED_MOST_OUTPUTS];
    int64_t numbers[GANTRY__FUSED_MOST_OUTPUTS];
    size_t count = 0, made = 0;
    if (inputs[0]->device->synchronous && inputs[0]->elements >= LEAST_WITHOUT_NUMBERS &&
        !run_numbers(step, inputs, &input_count))
        return;
    for (uint32_t i = 0; i < c->call->output_count; ++i) {
        if (step->places[i] < 0) numbers[count++] = -1 - step->places[i];
    }
    const gantry_attr_value_t attrs[] = {
        gantry__attr_ints("program", step->program, step->count * GANTRY__FUSED_WORDS),
        gantry__attr_ints("outputs", numbers, count)};
    /* an output that is its input needs an object of its own, for which there may be no memory */
    if (count == c->call->output_count) overwrite(c);
    if (gantry__call_op_into(c->scope, GANTRY__OP_ID__FusedElementwise, inputs, input_count, attrs,
                             2, NULL, results, &count) != GANTRY_OK)
        return;
    for (uint32_t i = 0; i < c->call->output_count; ++i)
        c->outputs[i] = step->places[i] < 0 ? results[made++] : inputs[i];
}

void gantry__compose_apply(const gantry__compose_t *c) {
    tensor *inputs[GANTRY__FUSED_MOST_INPUTS] = {NULL};
    step_t step;
    read_step(&step, c);
    for (uint32_t i = 0; i < c->call->input_count; ++i) inputs[i] = c->inputs[i];
    inputs[c->call->input_count] = gantry__compose_scalar(c, step.dtype, 1.0);
    if (!inputs[c->call->input_count]) return;
    if (step.can_fuse) {
        run_fused(&step, inputs, c->call->input_count + 1);
    } else {
        run_parts(&step, inputs);
    }
}

/* ---- scattering ---- */

/* The op on tensors of a name that begins with "Resource", or "ResourceScatterNd". */
static gantry__op_id_t scatter_of(const gantry__op_def_t *op) {
    static const uint16_t ids[] = {GANTRY__OP_ID_TensorScatterAdd, GANTRY__OP_ID_TensorScatterMax,
                                   GANTRY__OP_ID_TensorScatterMin, GANTRY__OP_ID_TensorScatterMul,
                                   GANTRY__OP_ID_TensorScatterSub};
    const size_t length = strlen(op->name);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; ++i) {
        const char *name = gantry__op_get((gantry__op_id_t)ids[i])->name;
        if (strcmp(op->name + length - 3, name + strlen(name) - 3) == 0)
            return (gantry__op_id_t)ids[i];
    }
    return GANTRY__OP_ID_TensorScatterUpdate;
}

void gantry__compose_resource_scatter_nd(const gantry__compose_t *c) {
    const gantry_attr_t *policy = gantry__infer_attr(c->call, "bad_indices_policy");
    const gantry_attr_value_t attr =
        gantry__attr_text("bad_indices_policy", policy ? policy->s : "");
    overwrite(c);
    c->outputs[0] =
        gantry__call_op(c->scope, scatter_of(c->call->op), c->inputs, 3, &attr, 1, NULL);
}

/* Rows by number: indices become a matrix with one column. */
void gantry__compose_resource_scatter(const gantry__compose_t *c) {
    const gantry_shape_t *params = c->call->shapes[0];
    const int64_t rows = gantry_shape_elements(c->call->shapes[1]);
    gantry_shape_t all = GANTRY_SHAPE(rows);
    tensor *inputs[] = {c->inputs[0], gantry_reshape(c->scope, c->inputs[1], GANTRY_SHAPE(rows, 1)),
                        NULL};
    for (int32_t d = 1; d < params->rank; ++d) all.dims[all.rank++] = params->dims[d];
    inputs[2] = c->call->shapes[2]->rank == 0 ? gantry_broadcast_to(c->scope, c->inputs[2], all)
                                              : gantry_reshape(c->scope, c->inputs[2], all);
    overwrite(c);
    c->outputs[0] = gantry__call_op(c->scope, scatter_of(c->call->op), inputs, 3, NULL, 0, NULL);
}
