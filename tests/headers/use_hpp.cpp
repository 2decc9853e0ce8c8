/* SPDX-License-Identifier: Apache-2.0 */
/* A program over gantry/gantry.hpp and gantry_train/train.hpp, for check_hpp.cmake: it compiles in
 * C++11 and later, with exceptions and without. It exits with 0 if all checks hold. */
#include <gantry_train/train.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#if __cplusplus >= 202002L
#include <span>
#endif

static int failures;
#define EXPECT(condition) expect((condition), #condition, __LINE__)

static void expect(bool holds, const char *text, int line) {
    if (holds) return;
    ++failures;
    (void)std::fprintf(stderr, "line %d: %s; last message: %s\n", line, text,
                       gantry_last_message());
}

/* ---- what a call reports: an exception, or a status ---- */

struct report {
    gantry_status_t status;
    std::string text;
};

template <typename F>
static report report_of(F call) {
#if GANTRY_CPP_EXCEPTIONS
    try {
        (void)call();
    } catch (const gantry::error &e) {
        return {e.status, e.what()};
    }
    return {GANTRY_OK, ""};
#else
    const gantry_status_t status = call();
    return {status, status == GANTRY_OK ? "" : gantry_last_message()};
#endif
}

#define EXPECT_FAILURE(wanted, part, call)                   \
    do {                                                     \
        const report seen = report_of([&] { return call; }); \
        EXPECT(seen.status == (wanted));                     \
        EXPECT(seen.text.find(part) != std::string::npos);   \
    } while (false)

/* ---- a runtime that counts its memory and keeps its log ---- */

static long live_blocks;
static std::string log_text;

extern "C" {
static void *count_blocks(void *, void *ptr, size_t, size_t new_bytes) {
    live_blocks += (ptr == nullptr) - (new_bytes == 0 && ptr != nullptr);
    if (new_bytes > 0) return std::realloc(ptr, new_bytes);
    std::free(ptr);
    return nullptr;
}
static void keep_log(void *, gantry_log_level_t level, const char *text) {
    if (level >= GANTRY_LEVEL_ERROR) log_text += text;
}
}

static gantry::owned<gantry_runtime_t> make_runtime() {
    auto options = gantry::sized<gantry_runtime_options_t>();
    options.backends = "cpu";
    options.kernel_cache = "";
    options.reallocate = count_blocks;
    options.log = keep_log;
    gantry::owned<gantry_runtime_t> runtime;
    EXPECT(gantry::check(gantry_runtime_create(&options, gantry::out(runtime))) == GANTRY_OK);
    return runtime;
}

/* ---- spans and types ---- */

static_assert(gantry::dtype_of<bool>() == GANTRY_BOOL, "bool");
static_assert(gantry::dtype_of<const double>() == GANTRY_FLOAT64, "double");
static_assert(gantry::dtype_of<long long>() == GANTRY_INT64, "both types of 64 bits");
static_assert(gantry::dtype_of<long>() == (sizeof(long) == 8 ? GANTRY_INT64 : GANTRY_INT32),
              "long");
static_assert(gantry::dtype_of<unsigned short>() == GANTRY_UINT16, "unsigned short");
static_assert(gantry::dtype_of<signed char>() == GANTRY_INT8, "signed char");
static_assert(gantry::dtype_of<std::complex<float>>() == GANTRY_COMPLEX64, "complex");
static_assert(gantry::dtype_of<char>() == GANTRY_DTYPE_NONE, "its sign depends on the machine");
static_assert(gantry::dtype_of<long double>() == GANTRY_DTYPE_NONE, "no type of Gantry");
static_assert(gantry::dtype_of<void *>() == GANTRY_DTYPE_NONE, "no type of Gantry");
static_assert(!std::is_constructible<gantry::span<float>, const std::vector<float> &>::value,
              "const");
static_assert(!std::is_copy_constructible<gantry::scope>::value, "one end");
static_assert(!std::is_copy_constructible<gantry::owned<gantry_tensor_t>>::value, "one release");

static void test_constants(gantry_runtime_t *runtime) {
    gantry::scope scope(gantry_scope_begin(runtime, "CPU:0"));
    const float array[] = {1, 2, 3};
    const std::vector<double> vector = {4, 5};
    const std::array<std::int64_t, 2> numbers = {{6, 7}};
    const bool flags[] = {true, false};
    bool seen[2] = {false, true};
    EXPECT(gantry::read<float>(gantry::constant(scope, GANTRY_SHAPE(3), array))[2] == 3.0f);
    EXPECT(gantry::read<double>(gantry::constant(scope, GANTRY_SHAPE(2), vector)) == vector);
    EXPECT(gantry::read<std::int64_t>(gantry::constant(scope, GANTRY_SHAPE(2), numbers))[1] == 7);
    EXPECT(gantry::read<int>(gantry::constant(scope, GANTRY_SHAPE(2, 1), {8, 9}))[0] == 8);
    EXPECT(gantry::check(gantry::read_into(gantry::constant(scope, GANTRY_SHAPE(2), flags),
                                           gantry::span<bool>(seen))) == GANTRY_OK);
    EXPECT(seen[0] && !seen[1]);
    EXPECT(gantry::format(gantry::constant(scope, GANTRY_SHAPE(2), {1.5f, 2.0f})) == "[1.5 2. ]");
    EXPECT(gantry::read<float>(gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(0))).empty());
#if __cplusplus >= 202002L
    std::vector<float> place(3);
    const gantry_tensor_t *x =
        gantry::constant(scope, GANTRY_SHAPE(3), std::span<const float>(array));
    EXPECT(gantry::read_into(x, gantry::span<float>(std::span<float>(place))) == GANTRY_OK);
    EXPECT(place[1] == 2.0f);
#endif
    EXPECT(scope.end() == GANTRY_OK);
}

static void test_failures(gantry_runtime_t *runtime) {
    gantry::scope scope(gantry_scope_begin(runtime, "CPU:0"));
    const gantry_tensor_t *x = gantry::constant(scope, GANTRY_SHAPE(2), {1.0f, 2.0f});
    int number = 0;
    float pair[2];
    EXPECT_FAILURE(GANTRY_INVALID_ARGUMENT, "the tensor has elements of type float32, not int32",
                   gantry::read_into(x, gantry::span<int>(&number, 1)));
    EXPECT_FAILURE(GANTRY_INVALID_ARGUMENT, "NULL",
                   gantry::read_into(nullptr, gantry::span<float>(pair)));
    EXPECT_FAILURE(GANTRY_INVALID_ARGUMENT, "bytes",
                   gantry::read_into(x, gantry::span<float>(pair, 1)));
    const gantry_tensor_t *outputs[2] = {x, x};
    EXPECT_FAILURE(GANTRY_NOT_FOUND, "Nothing", gantry::call(scope, "Nothing", {x}, outputs));
    EXPECT(outputs[0] == nullptr && outputs[1] == nullptr);
    EXPECT_FAILURE(GANTRY_NOT_FOUND, "Nothing", scope.check());
    EXPECT_FAILURE(GANTRY_NOT_FOUND, "Nothing", scope.end());
    gantry::scope no_scope(gantry_scope_begin(nullptr, ""));
    EXPECT_FAILURE(GANTRY_INVALID_ARGUMENT, "NULL", no_scope.check());
    EXPECT_FAILURE(GANTRY_INVALID_ARGUMENT, "", scope.end()); /* there is no second end */
    gantry::owned<gantry_runtime_t> none;
    auto options = gantry::sized<gantry_runtime_options_t>();
    options.backends = "cpu";
    options.cpu_threads = -1;
    EXPECT_FAILURE(GANTRY_INVALID_ARGUMENT, "-1",
                   gantry::check(gantry_runtime_create(&options, gantry::out(none))));
    EXPECT(!none);
}

static void test_unread_error_is_logged(gantry_runtime_t *runtime) {
    log_text.clear();
    {
        gantry::scope scope(gantry_scope_begin(runtime, "CPU:0"));
        EXPECT(scope.check() == GANTRY_OK);
        (void)gantry_scope_fail(scope, GANTRY_ABORTED, "nobody reads this");
    }
    EXPECT(log_text.find("nobody reads this") != std::string::npos);
    log_text.clear();
    {
        gantry::scope scope(gantry_scope_begin(runtime, "CPU:0"));
        (void)gantry_scope_fail(scope, GANTRY_ABORTED, "somebody reads this");
        EXPECT_FAILURE(GANTRY_ABORTED, "somebody", scope.check());
        gantry::scope moved(std::move(scope));
    }
    EXPECT(log_text.empty());
}

/* ---- ownership ---- */

static void test_owners(gantry_runtime_t *runtime) {
    gantry::owned<gantry_tensor_t> kept;
    gantry::owned<gantry_variable_t> variable;
    {
        gantry::scope scope(gantry_scope_begin(runtime, "CPU:0"));
        const gantry_tensor_t *x = gantry::constant(scope, GANTRY_SHAPE(2), {1.0f, 2.0f});
        kept = gantry::retain(x);
        kept = gantry::retain(x);
        variable.reset(gantry_variable_create(scope, x, "w"));
        gantry::scope inner(gantry_scope_begin_in(scope, nullptr));
        const gantry_tensor_t *sum = nullptr;
        EXPECT(gantry::call(inner, "AddV2", {x, kept.get()}, gantry::results(&sum, 1)) ==
               GANTRY_OK);
        EXPECT(gantry::read<float>(sum)[1] == 4.0f);
        EXPECT(inner.end() == GANTRY_OK);
    }
    EXPECT(gantry::read<float>(kept.get())[0] == 1.0f);
    float pair[2] = {0, 0};
    gantry::owned<gantry_read_t> read;
    EXPECT(gantry::check(gantry_tensor_read_async(kept.get(), pair, sizeof pair,
                                                  gantry::out(read))) == GANTRY_OK);
    EXPECT(gantry::check(gantry_read_wait(read.get())) == GANTRY_OK && pair[1] == 2.0f);
    gantry::owned<gantry_generator_t> generator;
    EXPECT(gantry_generator_from_seed(runtime, 1, GANTRY_RANDOM_PHILOX, gantry::out(generator)) ==
           GANTRY_OK);
    gantry::owned<gantry_prepared_op_t> add;
    EXPECT(gantry_op_prepare(runtime, "AddV2", nullptr, 0, gantry::out(add)) == GANTRY_OK);
    EXPECT(add != nullptr);
    gantry::pinned<float> memory = gantry::pin<float>(runtime, "CPU:0", 100);
    EXPECT(memory && (memory[99] = 1.0f) == 1.0f);
    const auto pin_all = [&] {
        return gantry::pin<float>(runtime, "CPU:0", SIZE_MAX) ? GANTRY_OK
                                                              : GANTRY_RESOURCE_EXHAUSTED;
    };
    EXPECT_FAILURE(GANTRY_RESOURCE_EXHAUSTED, "", pin_all());
}

/* ---- memory in and out without a copy ---- */

static int released;

static void test_shared_memory(gantry_runtime_t *runtime) {
    gantry::owned<gantry_tensor_t> sums;
    {
        gantry::scope scope(gantry_scope_begin(runtime, "CPU:0"));
        std::unique_ptr<std::vector<float>> samples(new std::vector<float>(1000, 2.0f));
        auto options = gantry::sized<gantry_from_memory_options_t>();
        options.requires_no_copy = true;
        options.user = samples.get();
        options.release = [](void *user) {
            delete static_cast<std::vector<float> *>(user);
            ++released;
        };
        const gantry_tensor_t *x =
            gantry_tensor_from_memory(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1000), samples->data(),
                                      samples->size() * sizeof(float), &options);
        EXPECT(x != nullptr);
        if (x) (void)samples.release(); /* the lambda deletes it */
        sums = gantry::retain(gantry_cumsum(scope, x, 0, nullptr));
        EXPECT(scope.end() == GANTRY_OK);
    }
    EXPECT(released > 0);
    const void *data = nullptr;
    EXPECT(gantry::check(gantry_tensor_map(sums.get(), &data)) == GANTRY_OK);
    const gantry::span<const float> in_place(static_cast<const float *>(data), 1000);
    EXPECT(in_place[0] == 2.0f && in_place[999] == 2000.0f);
    EXPECT(gantry::check(gantry_tensor_unmap(sums.get())) == GANTRY_OK);
    EXPECT_FAILURE(GANTRY_FAILED_PRECONDITION, "the tensor is not mapped",
                   gantry::check(gantry_tensor_unmap(sums.get())));
}

static void test_files(const char *path) {
    {
        gantry::new_file never, given_up;
        EXPECT(gantry::check(gantry_file_begin(path, &given_up)) == GANTRY_OK);
        EXPECT(gantry_file_write(&given_up, "half", 4) == GANTRY_OK);
    }
    std::FILE *file = std::fopen(path, "r");
    EXPECT(file == nullptr);
    gantry::new_file whole;
    EXPECT(gantry::check(gantry_file_begin(path, &whole)) == GANTRY_OK);
    EXPECT(gantry::check(gantry_file_end(&whole)) == GANTRY_OK);
    file = std::fopen(path, "r");
    EXPECT(file != nullptr);
    if (file) (void)std::fclose(file);
    (void)std::remove(path);
}

/* ---- functions ---- */

static void test_functions(gantry_runtime_t *runtime) {
    const auto alive = std::make_shared<float>(3.0f);
    {
        const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(-1)};
#if __cplusplus >= 202002L
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* g++ names the fields left out */
        const gantry_function_options_t options = {.struct_size = sizeof options, .most_traces = 2};
#pragma GCC diagnostic pop
#else
        auto options = gantry::sized<gantry_function_options_t>();
        options.most_traces = 2;
#endif
        gantry::owned<gantry_function_t> triple = gantry::trace(
            runtime, "triple",
            [alive](gantry_scope_t *scope, gantry::tensors inputs, gantry::results outputs) {
                outputs[0] = gantry_mul(scope, inputs[0], gantry_scalar_f32(scope, *alive));
            },
            {input}, 1, &options);
        EXPECT(triple && alive.use_count() == 2);
        gantry::scope scope(gantry_scope_begin(runtime, "CPU:0"));
        for (int size = 1; size < 4; ++size) {
            const std::vector<float> ones(static_cast<std::size_t>(size), 1.0f);
            const gantry_tensor_t *x = gantry::constant(scope, GANTRY_SHAPE(size), ones),
                                  *y = nullptr;
            EXPECT(gantry::call(scope, triple.get(), {x}, gantry::results(&y, 1)) == GANTRY_OK);
            EXPECT(gantry::read<float>(y) == std::vector<float>(ones.size(), 3.0f));
        }
        EXPECT(scope.end() == GANTRY_OK);
        gantry::scope other(gantry_scope_begin(runtime, "CPU:0"));
        const gantry_tensor_t *row = gantry::constant(other, GANTRY_SHAPE(1, 2), {1.0f, 2.0f}),
                              *y = nullptr;
        EXPECT_FAILURE(GANTRY_INVALID_ARGUMENT, "its signature accepts",
                       gantry::call(other, triple.get(), {row}, gantry::results(&y, 1)));
    }
    EXPECT(alive.use_count() == 1); /* the function had the body */
#if GANTRY_CPP_EXCEPTIONS
    const auto thrower = [&](int kind) {
        return [&, kind](gantry_scope_t *, gantry::tensors, gantry::results) {
            if (kind == 0) throw gantry::error(GANTRY_ABORTED, "our own error");
            if (kind == 1) throw std::runtime_error("a library's error");
            throw kind;
        };
    };
    static const char *const texts[] = {"our own error", "a library's error", "no std::exception"};
    for (int kind = 0; kind < 3; ++kind) {
        const report seen = report_of([&] {
            return gantry::trace(runtime, "bad", thrower(kind), {}, 0) ? GANTRY_OK : GANTRY_UNKNOWN;
        });
        EXPECT(seen.status == (kind == 0 ? GANTRY_ABORTED : GANTRY_UNKNOWN));
        EXPECT(seen.text.find(texts[kind]) != std::string::npos);
    }
#endif
}

/* ---- training ---- */

static void test_training(gantry_runtime_t *runtime) {
    gantry::scope scope(gantry_scope_begin(runtime, "CPU:0"));
    const gantry_tensor_t *x = gantry_scalar_f32(scope, 3), *slope = nullptr;
    {
        gantry::owned<gantry_tape_t> tape(gantry_tape_begin(scope, nullptr));
        gantry_tape_watch(tape.get(), x);
        const gantry_tensor_t *square = gantry_mul(scope, x, x);
        gantry_source_t source = gantry_source_t();
        source.tensor = x;
        EXPECT(gantry_tape_gradient(tape.get(), square, nullptr, &source, 1, nullptr, &slope) ==
               GANTRY_OK);
    }
    EXPECT(gantry::read<float>(slope)[0] == 6.0f);
    const std::int64_t numbers[] = {1, 2, 3};
    const gantry_array_t array = {GANTRY_INT64, GANTRY_SHAPE(3), numbers};
    gantry::owned<gantry_dataset_t> rows(gantry_dataset_from_arrays(&array, 1, false));
    rows.reset(gantry_dataset_batch(rows.release(), 2, false));
    gantry::owned<gantry_dataset_iterator_t> rest;
    EXPECT(gantry_dataset_iterator_create(rows.get(), gantry::out(rest)) == GANTRY_OK);
    EXPECT(rest != nullptr);
    EXPECT(scope.end() == GANTRY_OK);
}

/* ---- memory and contexts of the program ---- */

static void test_sharing(gantry_runtime_t *runtime) {
    alignas(64) float samples[] = {1, 2, 3, 4};
    gantry::scope scope(gantry_scope_begin(runtime, "CPU:0"));
    auto in = gantry::sized<gantry_from_memory_options_t>();
    in.requires_no_copy = true;
    const gantry_tensor_t *x = gantry_tensor_from_memory(scope, GANTRY_FLOAT32, GANTRY_SHAPE(4),
                                                         samples, sizeof samples, &in);
    const void *data = nullptr;
    EXPECT(gantry_tensor_map(x, &data) == GANTRY_OK);
    EXPECT(data == samples);
    EXPECT(gantry_tensor_unmap(x) == GANTRY_OK);
    auto memory = gantry::sized<gantry_device_memory_t>();
    EXPECT_FAILURE(GANTRY_FAILED_PRECONDITION, "shares no device memory",
                   gantry::check(gantry_tensor_get_device_memory(x, &memory)));
    auto adopted = gantry::sized<gantry_adopted_context_t>();
    adopted.backend = "none";
    const gantry_adopted_context_t *const list[] = {&adopted};
    auto options = gantry::sized<gantry_runtime_options_t>();
    options.backends = "cpu";
    options.adopted = list;
    options.adopted_count = 1;
    gantry::owned<gantry_runtime_t> other;
    EXPECT_FAILURE(GANTRY_INVALID_ARGUMENT, "backend none is unknown",
                   gantry::check(gantry_runtime_create(&options, gantry::out(other))));
    EXPECT(scope.end() == GANTRY_OK);
}

#ifndef PROGRAM
#define PROGRAM main
#endif
int PROGRAM(int argc, char **argv);
#ifdef OTHER_PROGRAM /* the same checks in a file that is compiled for the other kind of failure */
int OTHER_PROGRAM(int argc, char **argv);
#endif

int PROGRAM(int argc, char **argv) {
    if (argc != 2) return 2;
    {
        const gantry::owned<gantry_runtime_t> runtime = make_runtime();
        test_constants(runtime.get());
        test_failures(runtime.get());
        test_unread_error_is_logged(runtime.get());
        test_owners(runtime.get());
        test_shared_memory(runtime.get());
        test_functions(runtime.get());
        test_training(runtime.get());
        test_sharing(runtime.get());
    }
    EXPECT(live_blocks == 0);
    test_files(argv[1]);
#ifdef OTHER_PROGRAM
    EXPECT(OTHER_PROGRAM(argc, argv) == 0);
#endif
    if (failures == 0) (void)std::puts("all checks hold");
    return failures != 0;
}
