/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Gantry for C++11 and later: owners that release by themselves, spans, and statuses as exceptions.
 *
 *     gantry::owned<gantry_runtime_t> runtime;
 *     gantry::check(gantry_runtime_create(nullptr, gantry::out(runtime)));
 *     gantry::scope scope(gantry_scope_begin(runtime.get(), "GPU:0"));
 *     const float values[] = {1, 2, 3};
 *     const gantry_tensor_t *x = gantry::constant(scope, GANTRY_SHAPE(3), values);
 *     std::vector<float> sums = gantry::read<float>(gantry_add(scope, x, x));
 *     gantry::check(scope.end());
 *
 * The functions of C do the work, so everything of the C headers is there. gantry_train/train.hpp
 * adds the objects of libgantry_train. The program owns what gantry::owned holds; the threads that
 * may use an object may use its owner, one at a time to change it.
 *
 * Exceptions are on where the compiler has them. GANTRY_CPP_EXCEPTIONS defined as 0 or 1 before the
 * header is included chooses. Without them, gantry::check returns its status, and what returns a
 * value returns an empty one; the texts are those of C. Files of both kinds link together. */
#ifndef GANTRY_GANTRY_HPP
#define GANTRY_GANTRY_HPP

#include <gantry/gantry.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/** @def GANTRY_CPP_EXCEPTIONS
 * 1: gantry::check throws; 0: it returns the status. */
#if !defined(GANTRY_CPP_EXCEPTIONS) && (defined(__cpp_exceptions) || defined(__EXCEPTIONS))
#define GANTRY_CPP_EXCEPTIONS 1
#elif !defined(GANTRY_CPP_EXCEPTIONS)
#define GANTRY_CPP_EXCEPTIONS 0
#endif

#if GANTRY_CPP_EXCEPTIONS
#include <stdexcept>
#define GANTRY_CPP_NAMESPACE throwing
#define GANTRY_CPP_STATUS
#else
#define GANTRY_CPP_NAMESPACE returning
/** @def GANTRY_CPP_STATUS
 * A status that nobody reads is a warning where it is the only sign of a failure. */
#ifdef __clang__
#define GANTRY_CPP_STATUS __attribute__((warn_unused_result))
#else
#define GANTRY_CPP_STATUS [[nodiscard]]
#endif
#endif

namespace gantry {
inline namespace GANTRY_CPP_NAMESPACE {
/* ---- failures ---- */

#if GANTRY_CPP_EXCEPTIONS
/** A failed call: its status, and the text of the failure as what(). */
struct error : std::runtime_error {
    error(gantry_status_t failure, const char *text) : std::runtime_error(text), status(failure) {}
    gantry_status_t status; /**< The status of the call. */
};
#endif

/** Throws gantry::error with this text unless the status is OK; without exceptions, only returns
 * the status. */
GANTRY_CPP_STATUS inline gantry_status_t check(gantry_status_t status, const char *text) {
#if GANTRY_CPP_EXCEPTIONS
    if (status != GANTRY_OK) throw error(status, text);
#endif
    (void)text;
    return status;
}
/** The same with gantry_last_message, for the status of the call just made. */
GANTRY_CPP_STATUS inline gantry_status_t check(gantry_status_t status) {
    return check(status, gantry_last_message());
}

/* ---- owners ---- */

namespace detail {
template <typename T>
struct releaser;
}
/** @def GANTRY_CPP_RELEASER
 * Says which function releases an object of a type. */
#define GANTRY_CPP_RELEASER(type, function)                                \
    template <>                                                            \
    struct detail::releaser<type> {                                        \
        void operator()(type *object) const noexcept { function(object); } \
    };
GANTRY_CPP_RELEASER(gantry_runtime_t, gantry_runtime_release)
GANTRY_CPP_RELEASER(gantry_tensor_t, gantry_tensor_release)
GANTRY_CPP_RELEASER(gantry_variable_t, gantry_variable_release)
GANTRY_CPP_RELEASER(gantry_function_t, gantry_function_release)
GANTRY_CPP_RELEASER(gantry_graph_t, gantry_graph_release)
GANTRY_CPP_RELEASER(gantry_call_t, gantry_call_release)
GANTRY_CPP_RELEASER(gantry_generator_t, gantry_generator_release)
GANTRY_CPP_RELEASER(gantry_prepared_op_t, gantry_prepared_op_release)
GANTRY_CPP_RELEASER(gantry_read_t, gantry_read_release)
GANTRY_CPP_RELEASER(gantry_claim_t, gantry_claim_release)

/** The owner of one reference to an object: a std::unique_ptr that releases it. Where a call takes
 * the object over, it gets owner.release(). */
template <typename T>
using owned = std::unique_ptr<T, detail::releaser<T>>;

namespace detail {
template <typename T>
struct place {
    owned<T> &owner;
    T *object;
    place(owned<T> &to) noexcept : owner(to), object(nullptr) { owner.reset(); }
    place(const place &) = delete;
    ~place() { owner.reset(object); }
    operator T **() noexcept { return &object; }
};
struct unpin {
    gantry_runtime_t *runtime;
    void operator()(void *data) const noexcept { (void)gantry_pinned_free(runtime, data); }
};
inline gantry_status_t fail_type(gantry_dtype_t is, gantry_dtype_t wanted) noexcept {
    char text[96];
    (void)std::snprintf(text, sizeof text, "the tensor has elements of type %s, not %s",
                        gantry_dtype_name(is), gantry_dtype_name(wanted));
    return gantry_fail(GANTRY_INVALID_ARGUMENT, text);
}
}  // namespace detail
/** The place for the object that a call makes: gantry_runtime_create(nullptr, gantry::out(runtime)).
 * The owner first releases what it has; it has the new object when the full expression ends. */
template <typename T>
detail::place<T> out(owned<T> &owner) noexcept {
    return {owner};
}
/** A reference of its own to a tensor that a scope, or another owner, has. */
inline owned<gantry_tensor_t> retain(const gantry_tensor_t *tensor) noexcept {
    return owned<gantry_tensor_t>(gantry_tensor_retain(tensor));
}

/** A scope, which ends with this object. An error that neither end nor check reported is then a line
 * of the runtime's log. It belongs to one thread, and must end before the scope around it. */
class scope {
   public:
    /** Takes over what gantry_scope_begin and its siblings return. */
    explicit scope(gantry_scope_t *begun) noexcept : object_(begun) {}
    scope(scope &&other) noexcept : object_(other.object_), is_reported_(other.is_reported_) {
        other.object_ = nullptr;
    }
    ~scope() {
        if (!object_) return;
        gantry_runtime_t *runtime = gantry_scope_runtime(object_);
        if (gantry_scope_end(object_) != GANTRY_OK && !is_reported_)
            (void)gantry_runtime_log(runtime, GANTRY_LEVEL_ERROR, gantry_last_message());
    }

    operator gantry_scope_t *() const &noexcept { return object_; }
    operator gantry_scope_t *() const && = delete;
    /** Reports the first error, which the scope keeps. */
    GANTRY_CPP_STATUS gantry_status_t check() {
        const gantry_status_t status = gantry_scope_status(object_);
        is_reported_ = status != GANTRY_OK;
        return gantry::check(status,
                             object_ ? gantry_scope_message(object_) : gantry_last_message());
    }
    /** Ends the scope and reports its first error. */
    GANTRY_CPP_STATUS gantry_status_t end() {
        gantry_scope_t *object = object_;
        object_ = nullptr;
        return gantry::check(gantry_scope_end(object));
    }

   private:
    gantry_scope_t *object_;
    bool is_reported_ = false;
};

/* ---- spans ---- */

/** Elements side by side that somebody else owns: of an array, of a class with data() and size(), such
 * as std::vector and std::span, and, if they are const, of a list in braces, which lives until the
 * end of the full expression. */
template <typename T>
class span {
   public:
    constexpr span() noexcept : data_(nullptr), size_(0) {}
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t N>
    constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    template <typename C, typename = typename std::enable_if<std::is_convertible<
                              decltype(std::declval<C &>().data()), T *>::value>::type>
    constexpr span(C &&container) noexcept : data_(container.data()), size_(container.size()) {}
    span(std::initializer_list<typename std::remove_const<T>::type> list) noexcept
        : span(list.begin(), list.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    constexpr T &operator[](std::size_t index) const noexcept { return data_[index]; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }

   private:
    T *data_;
    std::size_t size_;
};
/** Tensors that a call takes: {a, b}. */
using tensors = span<const gantry_tensor_t *const>;
/** Places for the tensors that a call returns. */
using results = span<const gantry_tensor_t *>;

/* ---- types and options ---- */

/** The element type of T: a number, bool, or std::complex of float or double; GANTRY_DTYPE_NONE for
 * others, such as char, whose sign depends on the machine. */
template <typename T>
constexpr gantry_dtype_t dtype_of() noexcept {
    using number = typename std::remove_cv<T>::type;
    return std::is_same<number, bool>::value                   ? GANTRY_BOOL
           : std::is_same<number, float>::value                ? GANTRY_FLOAT32
           : std::is_same<number, double>::value               ? GANTRY_FLOAT64
           : std::is_same<number, std::complex<float>>::value  ? GANTRY_COMPLEX64
           : std::is_same<number, std::complex<double>>::value ? GANTRY_COMPLEX128
           : !std::is_integral<number>::value || std::is_same<number, char>::value
               ? GANTRY_DTYPE_NONE
           : sizeof(T) == 1 ? (std::is_signed<number>::value ? GANTRY_INT8 : GANTRY_UINT8)
           : sizeof(T) == 2 ? (std::is_signed<number>::value ? GANTRY_INT16 : GANTRY_UINT16)
           : sizeof(T) == 4 ? (std::is_signed<number>::value ? GANTRY_INT32 : GANTRY_UINT32)
                            : (std::is_signed<number>::value ? GANTRY_INT64 : GANTRY_UINT64);
}

/** A struct with struct_size, all other fields 0: options to fill in, or a place for figures. C++20
 * writes options in braces, too: {.struct_size = sizeof(gantry_runtime_options_t), ...}. */
template <typename T>
T sized() noexcept {
    T value = T();
    value.struct_size = sizeof value;
    return value;
}

/* ---- tensors ---- */

/** gantry_constant of an array, a container or a span. */
template <typename C>
const gantry_tensor_t *constant(gantry_scope_t *scope, const gantry_shape_t &shape,
                                const C &values) {
    using element = typename std::remove_reference<decltype(values[0])>::type;
    static_assert(dtype_of<element>() != GANTRY_DTYPE_NONE, "no element type of Gantry");
    const span<const element> elements(values);
    return gantry_constant(scope, dtype_of<element>(), shape, elements.data(),
                           elements.size_bytes());
}
/** gantry_constant of a list in braces. */
template <typename T>
const gantry_tensor_t *constant(gantry_scope_t *scope, const gantry_shape_t &shape,
                                std::initializer_list<T> values) {
    return constant(scope, shape, span<const T>(values));
}

/** Waits for the tensor and copies its elements to out, which has exactly as many, of its type. */
template <typename T>
GANTRY_CPP_STATUS gantry_status_t read_into(const gantry_tensor_t *tensor, span<T> out) {
    static_assert(dtype_of<T>() != GANTRY_DTYPE_NONE, "no element type of Gantry");
    const gantry_dtype_t dtype = gantry_tensor_dtype(tensor);
    if (tensor && dtype != dtype_of<T>()) return check(detail::fail_type(dtype, dtype_of<T>()));
    return check(gantry_tensor_read(tensor, out.data(), out.size_bytes()));
}
/** Waits for the tensor and returns its elements. Without exceptions, the result of a failure
 * is empty, and std::vector ends a program that is out of memory; read_into does neither. */
template <typename T>
std::vector<T> read(const gantry_tensor_t *tensor) {
    static_assert(!std::is_same<T, bool>::value, "std::vector<bool> has no array: use read_into");
    const std::int64_t count = tensor ? gantry_tensor_elements(tensor) : 0;
    std::vector<T> out(count > 0 ? static_cast<std::size_t>(count) : 0);
    if (read_into(tensor, span<T>(out)) != GANTRY_OK) out.clear();
    return out;
}
/** The tensor as text: gantry_tensor_format. */
inline std::string format(const gantry_tensor_t *tensor,
                          const gantry_format_options_t *options = nullptr) {
    std::size_t length = 0;
    if (check(gantry_tensor_format(tensor, options, nullptr, 0, &length)) != GANTRY_OK) return {};
    std::string text(length + 1, '\0');
    if (check(gantry_tensor_format(tensor, options, &text[0], text.size(), &length)) != GANTRY_OK)
        return {};
    text.resize(length);
    return text;
}

/** Pinned host memory, which must end before its runtime. */
template <typename T>
using pinned = std::unique_ptr<T[], detail::unpin>;
/** gantry_pinned_alloc of memory for count elements; empty after a failure. */
template <typename T>
pinned<T> pin(gantry_runtime_t *runtime, const char *device, std::size_t count) {
    static_assert(dtype_of<T>() != GANTRY_DTYPE_NONE, "no element type of Gantry");
    void *data = nullptr;
    const std::size_t bytes = count <= SIZE_MAX / sizeof(T) ? count * sizeof(T) : SIZE_MAX;
    (void)check(gantry_pinned_alloc(runtime, device, bytes, &data));
    return pinned<T>(static_cast<T *>(data), detail::unpin{runtime});
}

/** A file that gantry_file_begin and gantry_file_end get, and that is abandoned if it does not come
 * to its end. */
struct new_file : gantry_new_file_t {
    new_file() noexcept : gantry_new_file_t() { file = -1; }
    new_file(new_file &&) = delete;
    ~new_file() { gantry_file_abandon(this); }
};

/* ---- ops and functions ---- */

/** gantry_op_call; a place beyond the op's outputs gets NULL. */
GANTRY_CPP_STATUS inline gantry_status_t call(gantry_scope_t *scope, const char *op, tensors inputs,
                                              results outputs,
                                              span<const gantry_attr_value_t> attrs = {}) {
    std::size_t count = outputs.size();
    const gantry_status_t status =
        gantry_op_call(scope, op, inputs.data(), inputs.size(), attrs.data(), attrs.size(),
                       outputs.data(), &count);
    for (std::size_t i = count; i < outputs.size(); ++i) outputs[i] = nullptr;
    return check(status, gantry_scope_message(scope));
}
/** gantry_function_call. */
GANTRY_CPP_STATUS inline gantry_status_t call(gantry_scope_t *scope, gantry_function_t *function,
                                              tensors inputs, results outputs) {
    const gantry_status_t status = gantry_function_call(
        scope, function, inputs.data(), inputs.size(), outputs.data(), outputs.size());
    return check(status, gantry_scope_message(scope));
}

namespace detail {
/* A body of a function that is a callable object. It lives as long as the function. No exception
 * may pass through the frames of C, so the scope keeps it as its error. */
template <typename F>
struct body {
    F call;
    std::size_t input_count, output_count;

    static void run(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) noexcept {
        body *self = static_cast<body *>(user);
        const tensors in(inputs, self->input_count);
        const results out(outputs, self->output_count);
#if GANTRY_CPP_EXCEPTIONS
        try {
            self->call(scope, in, out);
        } catch (const error &e) {
            (void)gantry_scope_fail(scope, e.status, e.what());
        } catch (const std::exception &e) {
            (void)gantry_scope_fail(scope, GANTRY_UNKNOWN, e.what());
        } catch (...) {
            (void)gantry_scope_fail(scope, GANTRY_UNKNOWN, "the body threw no std::exception");
        }
#else
        self->call(scope, in, out);
#endif
    }
    static void end(void *user) { delete static_cast<body *>(user); }
};
}  // namespace detail

/** gantry_function_trace of a callable object, such as a lambda, which the function keeps:
 * body(gantry_scope_t *scope, gantry::tensors inputs, gantry::results outputs). */
template <typename F>
owned<gantry_function_t> trace(gantry_runtime_t *runtime, const char *name, F body,
                               span<const gantry_input_spec_t> inputs, std::size_t output_count,
                               const gantry_function_options_t *options = nullptr) {
    using holder = detail::body<F>;
    static const char key = 0;
    owned<gantry_function_t> function;
    std::unique_ptr<holder> kept(new (std::nothrow)
                                     holder{std::move(body), inputs.size(), output_count});
    gantry_status_t status =
        kept ? gantry_function_trace(runtime, name, holder::run, kept.get(), inputs.data(),
                                     inputs.size(), output_count, options, out(function))
             : gantry_fail(GANTRY_RESOURCE_EXHAUSTED, "a function's body: memory is out");
    if (status == GANTRY_OK &&
        !gantry_function_attach(function.get(), &key, kept.get(), holder::end))
        status = GANTRY_RESOURCE_EXHAUSTED;
    if (status == GANTRY_OK) {
        (void)kept.release();
        return function;
    }
    function.reset(); /* before its body */
    (void)check(status);
    return function;
}

}  // namespace GANTRY_CPP_NAMESPACE
}  // namespace gantry

#endif
