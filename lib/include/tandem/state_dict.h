/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * State dicts: sets of named tensors with string metadata, as PyTorch's; and their files.
 *
 * A dict holds one reference to each tensor's buffer. Order is that of first insertion.
 *
 * Files are safetensors (https://github.com/huggingface/safetensors, "Format"): 8 bytes of header
 * length (little endian), a JSON header, then the tensors' bytes, row-major. The whole header is
 * checked before anything is handed out: length, JSON without duplicate names, bounded depth, known
 * dtypes (those of tensor.h, in capitals), shape, offsets inside the file, neither overlapping nor
 * leaving holes, size = product of the shape. A faulty file is TDM_ERROR_IO, and the message names the file and the
 * byte; so is a tensor that cannot exist here: more than TDM_MAX_DIMS dimensions, or a dtype such as C64 or F8_E4M3.
 * Refused are, too, what Python's reader takes: blanks before the header's brace, against the format, an empty name,
 * U+0000 in texts, and extents whose product, zeros left out, is 2^58 or more. As in Python's safetensors, other keys
 * of a tensor are ignored, and "__metadata__": null is no metadata. Only regular files are read or replaced. A library
 * that was built without TANDEM_SAFETENSORS refuses files with TDM_ERROR_UNSUPPORTED. A scalar (shape []) is a tensor
 * of shape [1] here and is written as a scalar again, unless it was replaced.
 *
 * Threads: a dict may be read from several threads, or changed by one; a file may be read from
 * several, each with a separate queue. */
#ifndef TANDEM_STATE_DICT_H
#define TANDEM_STATE_DICT_H

#include <tandem/tensor.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** Named tensors and metadata. */
typedef struct tdm_state_dict tdm_state_dict;

/** An empty dict. *dict is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_state_dict_create(tdm_state_dict **dict);

/** Frees the dict and gives its references back. NULL is allowed. */
TDM_API void tdm_state_dict_destroy(tdm_state_dict *dict);

/** Puts a tensor under a name (copied; UTF-8, not empty, not "__metadata__"), taking one reference
 * of its buffer; a tensor of that name is replaced. */
TDM_API TDM_MUST_USE tdm_status tdm_state_dict_set(tdm_state_dict *dict, const char *name,
                                                   const tdm_tensor *tensor);

/** The tensor of that name; its buffer is borrowed from the dict. TDM_ERROR_NOT_FOUND names the
 * nearest name; *tensor is all zero on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_state_dict_get(const tdm_state_dict *dict, const char *name,
                                                   tdm_tensor *tensor);

/** How many tensors. */
TDM_API size_t tdm_state_dict_get_count(const tdm_state_dict *dict);

/** The index-th name and tensor, both borrowed. TDM_ERROR_OUT_OF_RANGE past the last; on failure *name is NULL and
 * *tensor all zero. */
TDM_API TDM_MUST_USE tdm_status tdm_state_dict_get_item(const tdm_state_dict *dict, size_t index,
                                                        const char **name, tdm_tensor *tensor);

/** Sets metadata: UTF-8 strings, copied; a value of NULL removes the key. */
TDM_API TDM_MUST_USE tdm_status tdm_state_dict_set_metadata(tdm_state_dict *dict, const char *key,
                                                            const char *value);
/** The value of a key, borrowed; NULL when there is no such key. */
TDM_API const char *tdm_state_dict_get_metadata(const tdm_state_dict *dict, const char *key);
/** How many keys. */
TDM_API size_t tdm_state_dict_get_metadata_count(const tdm_state_dict *dict);
/** The index-th key and value, both borrowed. TDM_ERROR_OUT_OF_RANGE past the last; both are NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_state_dict_get_metadata_item(const tdm_state_dict *dict,
                                                                 size_t index, const char **key,
                                                                 const char **value);

/** The whole set on `device`, metadata too: tdm_to of each tensor, all in one transfer. The tensors
 * are on the queue's device. *moved is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_state_dict_to(tdm_queue *queue, const tdm_state_dict *dict,
                                                  tdm_device *device, tdm_state_dict **moved);

/** Converts each tensor of floats in the dict that is not of this float dtype, as tdm_cast does, into a new buffer that
 * takes its place: other numbers stay as they are, so does what tdm_pack_weight has made. On the queue's
 * device, which needs to have the arithmetic of both dtypes. A failure leaves each tensor whole, converted or not. */
TDM_API TDM_MUST_USE tdm_status tdm_state_dict_cast(tdm_queue *queue, tdm_dtype dtype,
                                                    tdm_state_dict *dict);

/** How files are read and written; NULL for the defaults, which are what
 * tdm_file_options o = TDM_FILE_OPTIONS_DEFAULTS; gives. */
typedef struct tdm_file_options {
    size_t size;   /**< sizeof(tdm_file_options): see status.h */
    size_t budget; /**< bytes of host memory for staging, at least 64 KiB; 0: 16 MiB. A device whose
                      memory is the host's (cpu) needs none; there a budget says how often progress
                      is called */
    /** Called after each chunk, in the calling thread, with bytes moved so far and in all; another
     * status than TDM_OK ends the call with it (set no message: tdm_last_error says "cancelled").
     * Never called when there are no bytes to move. NULL for none. */
    tdm_status (*progress)(uint64_t done, uint64_t total, void *user);
    void *user; /**< given to progress */
} tdm_file_options;

/** Sets the size: tdm_file_options o = TDM_FILE_OPTIONS_DEFAULTS; */
#define TDM_FILE_OPTIONS_DEFAULTS                                                                  \
    { sizeof(tdm_file_options), 0, NULL, NULL }

/** The same for languages without C's macros; see tdm_matmul_options_init. */
TDM_API void tdm_file_options_init(tdm_file_options *options, size_t size);

/** Writes all tensors, which are on the queue's device, and the metadata. The queue's earlier work
 * is seen. Written next to `path`, then synced and renamed over it: a failure leaves an old file
 * whole and leaves nothing else. A temporary file (.tandem-….tmp) that a killed process left is removed by
 * the next tdm_save, tdm_load or tdm_file_open in that folder, one of another machine after an hour. Past the
 * process's limit on a file's size (RLIMIT_FSIZE) the call fails with TDM_ERROR_IO; there is no signal. A
 * symbolic link's file is replaced; the mode of an old file is kept.
 * Tensors with gaps are packed on the device first, one at a time. Tensors are ordered as Python's
 * safetensors does (larger dtypes first, then by name), so that equal content gives equal bytes;
 * metadata by key, where Python's order is random. */
TDM_API TDM_MUST_USE tdm_status tdm_save(tdm_queue *queue, const tdm_state_dict *dict,
                                         const char *path, const tdm_file_options *options);

/** Reads a file onto the queue's device, in the order of its bytes, each tensor into a separate
 * buffer: no more host memory than the budget and the header. Has arrived when the call returns.
 * *dict is NULL on failure. Nothing is allocated that the file's size does not justify. A file that
 * is cut short meanwhile is TDM_ERROR_IO. */
TDM_API TDM_MUST_USE tdm_status tdm_load(tdm_queue *queue, const char *path,
                                         const tdm_file_options *options, tdm_state_dict **dict);

/* ---- a file whose tensors are read one by one, or in parts ---- */

/** An open safetensors file. */
typedef struct tdm_file tdm_file;

/** A tensor in a file. */
typedef struct tdm_file_entry {
    const char *name;            /**< owned by the file */
    tdm_dtype dtype;             /**< of the elements */
    int ndim;                    /**< 0 for a scalar */
    int64_t shape[TDM_MAX_DIMS]; /**< elements */
    int64_t count;               /**< elements */
    uint64_t offset;             /**< of the first byte, from the start of the file */
} tdm_file_entry;

/** Opens a file and checks its header. The file stays open. *file is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_file_open(const char *path, tdm_file **file);

/** NULL is allowed. */
TDM_API void tdm_file_destroy(tdm_file *file);

/** How many tensors the file has. */
TDM_API size_t tdm_file_get_count(const tdm_file *file);
/** The index-th entry, in the order of their bytes; borrowed from the file. */
TDM_API TDM_MUST_USE tdm_status tdm_file_get_item(const tdm_file *file, size_t index,
                                                  const tdm_file_entry **entry);
/** TDM_ERROR_NOT_FOUND names the nearest name. */
TDM_API TDM_MUST_USE tdm_status tdm_file_find(const tdm_file *file, const char *name,
                                              const tdm_file_entry **entry);

/** The file's metadata; NULL when there is no such key. */
TDM_API const char *tdm_file_get_metadata(const tdm_file *file, const char *key);

/** Elements [first, first + count) of a tensor, row-major, into y: contiguous, of its dtype, with
 * count elements, on the queue's device. `entry` is one that this file gave, not a copy. Has
 * arrived when the call returns. */
TDM_API TDM_MUST_USE tdm_status tdm_file_read(tdm_queue *queue, tdm_file *file,
                                              const tdm_file_entry *entry, int64_t first,
                                              int64_t count, const tdm_file_options *options,
                                              tdm_tensor *y);

#if defined(__cplusplus)
}
#endif
#endif
