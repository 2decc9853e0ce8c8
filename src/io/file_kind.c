/* SPDX-License-Identifier: Apache-2.0 */
/* A format is known by bytes at a fixed place, an error message of a site by words of its text. A
 * safetensors file begins with the length of its header, which may look like any of the former; so
 * what looks like safetensors is nothing known. */
#include "io/file_kind.h"

#include <stdbool.h>
#include <string.h>

#include "base/ascii.h"

#define LENGTH_BYTES 8 /* of a safetensors file's first number */

typedef struct front_t {
    const char *at;
    size_t bytes;
} front_t;

/* ---- formats ---- */

static const struct {
    size_t place, bytes;
    const char *magic, *kind;
} formats[] = {
    {0, 6, "\x93NUMPY", "it is an .npy file"},
    {0, 4, "PK\3\4", "it is a .zip archive, such as an .npz file or a PyTorch checkpoint"},
    {0, 4, "PK\5\6", "it is an empty .zip archive"},
    {0, 8, "\x89HDF\r\n\x1a\n",
     "it is an HDF5 file, such as Keras's weights (.h5); h5py and numpy.savez write its arrays as .npz"},
    {0, 4, "GGUF", "it is a GGUF file of llama.cpp, whose quantised tensors have no type here"},
    {4, 4, "TFL3", "it is a TensorFlow Lite model"},
    {0, 2, "\x1f\x8b", "it is compressed by gzip; gunzip unpacks it"},
    {0, 4, "\x28\xb5\x2f\xfd", "it is compressed by zstd; unzstd unpacks it"},
    {0, 6,
     "\xfd"
     "7zXZ\0",
     "it is compressed by xz; unxz unpacks it"},
    {0, 3, "BZh", "it is compressed by bzip2; bunzip2 unpacks it"},
    {257, 5, "ustar", "it is a .tar archive; tar -x unpacks it"},
    {0, 3, "\x08\1\x12",
     "it is a TensorFlow SavedModel (.pb), whose tensors are in the folder variables"},
};

static bool has_bytes(front_t front, size_t place, const char *wanted, size_t bytes) {
    return front.bytes >= place + bytes && memcmp(front.at + place, wanted, bytes) == 0;
}

static bool looks_like_safetensors(front_t front) {
    return has_bytes(front, LENGTH_BYTES / 2, "\0\0\0\0{", LENGTH_BYTES / 2 + 1);
}

/* Protocols 2 to 5; torch.save wrote such a file before PyTorch 1.6. */
static bool is_pickle(front_t front) {
    return front.bytes > 2 && front.at[0] == '\x80' && front.at[1] >= 2 && front.at[1] <= 5;
}

/* The version of the format, then the producer's name. */
static bool is_onnx(front_t front) {
    if (front.bytes < 5 || front.at[0] != 8 || front.at[1] < 2 || front.at[1] > 32) return false;
    const size_t length = (unsigned char)front.at[3];
    bool is_name = front.at[2] == 0x12 && length > 0 && length < 64 && front.bytes >= 4 + length;
    for (size_t i = 0; is_name && i < length; ++i)
        is_name = front.at[4 + i] >= ' ' && front.at[4 + i] <= '~';
    return is_name;
}

static const char *format_kind(front_t front) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; ++i) {
        if (has_bytes(front, formats[i].place, formats[i].magic, formats[i].bytes))
            return formats[i].kind;
    }
    if (is_pickle(front))
        return "it is a Python pickle, such as an old PyTorch checkpoint (.pt), which is a program and is not run; safetensors.torch.save_file writes its tensors as .safetensors";
    if (is_onnx(front)) return "it is an ONNX model";
    return NULL;
}

/* ---- texts ---- */

/* Whether the bytes begin with the word, which is in small letters, in any case. */
static bool front_is(front_t front, const char *word) {
    size_t i = 0;
    while (word[i] && i < front.bytes && gantry__ascii_lower(front.at[i]) == word[i]) ++i;
    return !word[i];
}

static bool front_has(front_t front, const char *word) {
    for (; front.bytes > 0; ++front.at, --front.bytes)
        if (front_is(front, word)) return true;
    return false;
}

static front_t skip_front(front_t front) {
    if (has_bytes(front, 0, "\xef\xbb\xbf", 3)) front.at += 3, front.bytes -= 3;
    while (front.bytes > 0 && memchr(" \t\r\n", *front.at, 4)) ++front.at, --front.bytes;
    return front;
}

#define SENT " as a site sends in place of a file that is missing or private"

/* Says what an XML file is; an error message is one of AWS S3, Google Cloud Storage or Azure. */
static const char *xml_kind(front_t front) {
    if (front_has(front, "<html")) return "it is an HTML page," SENT;
    return front_has(front, "<error>") || front_has(front, "<error ")
               ? "it is an XML error message," SENT " (S3, Google Cloud Storage, Azure)"
               : "it is an XML text";
}

static const char *json_kind(front_t front) {
    static const char *const errors[] = {"\"error\"", "\"errors\"", "\"message\"", "\"detail\""};
    if (front_has(front, "\"weight_map\"") || front_has(front, "\"total_size\""))
        return "it is the index of a model in several files; each of the .safetensors files that it names is one";
    ++front.at, --front.bytes; /* the brace */
    front = skip_front(front);
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; ++i)
        if (front_is(front, errors[i]))
            return "it is a JSON error message," SENT " (Hugging Face, GitHub)";
    return "it is a JSON text";
}

static const char *text_kind(front_t front) {
    static const char *const errors[] = {
        "entry not found",  "repository not found", "invalid username or password",
        "access to model ", "404: not found",       "404 not found",
        "access denied"};
    if (front_is(front, "version https://git-lfs.github.com/spec/"))
        return "it is a Git LFS pointer, which stands for the file; `git lfs pull` fetches the file";
    front = skip_front(front);
    if (front_is(front, "<!doctype html") || front_is(front, "<html"))
        return "it is an HTML page," SENT;
    if (front_is(front, "<?xml") || front_is(front, "<error>")) return xml_kind(front);
    if (front_is(front, "{")) return json_kind(front);
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; ++i)
        if (front_is(front, errors[i])) return "it is an error message," SENT;
    return NULL;
}

const char *gantry__file_kind(const void *front, size_t bytes) {
    const front_t all = {front, bytes};
    if (bytes == 0 || looks_like_safetensors(all)) return NULL;
    const char *kind = format_kind(all);
    return kind ? kind : text_kind(all);
}
