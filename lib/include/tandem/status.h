/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Status codes, and the message that goes with the last failure of the calling thread.
 *
 * Structs and versions. tdm_tensor, tdm_operand, tdm_parameter, tdm_argument, tdm_generator, tdm_process, tdm_message
 * and tdm_nccl_id never change. Any other struct that a program allocates begins with its `size`, which the macro
 * …_DEFAULTS sets (or the function …_init; in tdm_transport the program does), and may get more fields at its end:
 * a program built against an older header goes on working, with the defaults for what it does not know. A size of
 * 0, as in a struct that was filled by hand, is TDM_ERROR_INVALID_ARGUMENT. Structs that the
 * library allocates may grow at their end too: read them through the pointer, do not copy arrays of
 * them. A field that a program sets and that the loaded library is too old to know is
 * TDM_ERROR_UNSUPPORTED; one that such a library does not fill in is TDM_UNKNOWN. docs/stability.md
 * has the rules.
 *
 * A dimension that a tensor does not have is TDM_ERROR_OUT_OF_RANGE in tdm_tensor_slice and tdm_tensor_transpose, and
 * TDM_ERROR_INVALID_ARGUMENT in operations. */
#ifndef TANDEM_STATUS_H
#define TANDEM_STATUS_H

#if defined(__cplusplus)
extern "C" {
#endif

/** A function of the library. */
#if defined(_WIN32) && defined(TDM_EXPORTS) /* in the library's own files */
#define TDM_API __declspec(dllexport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define TDM_API __attribute__((visibility("default")))
#else
#define TDM_API
#endif

/** The compiler warns where the result is not looked at. */
#if defined(__GNUC__)
#define TDM_MUST_USE __attribute__((warn_unused_result))
#else
#define TDM_MUST_USE
#endif

/** The one list of status codes: X(name, sentence). Values count up from 0 and are never reused. */
#define TDM_STATUS_LIST(X)                                                                         \
    X(OK, "success")                                                                               \
    X(ERROR_INVALID_ARGUMENT, "an argument is invalid")                                            \
    X(ERROR_INVALID_SHAPE, "the shapes of the arguments do not fit together")                      \
    X(ERROR_INVALID_DTYPE, "the dtype of an argument is not allowed here")                         \
    X(ERROR_OUT_OF_RANGE, "an index, offset or size lies outside its object")                      \
    X(ERROR_OVERLAP, "an output overlaps an input")                                                \
    X(ERROR_READ_ONLY, "an output is read-only")                                                   \
    X(ERROR_DEVICE_MISMATCH, "the arguments are on different devices")                             \
    X(ERROR_NOT_FOUND, "no such backend, device, provider or tensor")                              \
    X(ERROR_UNSUPPORTED, "this device or provider does not support the request")                   \
    X(ERROR_UNAVAILABLE, "a library, driver or device is missing on this machine")                 \
    X(ERROR_OUT_OF_MEMORY, "out of device or host memory")                                         \
    X(ERROR_ENVIRONMENT, "a TANDEM_... environment variable has a value that is not allowed")      \
    X(ERROR_COMPILE, "a kernel did not compile")                                                   \
    X(ERROR_BACKEND, "the driver or vendor library reported a failure")                            \
    X(ERROR_DEVICE_LOST, "the device is lost; nothing more can be done with it")                   \
    X(ERROR_FORKED, "the library was used before fork(); it cannot be used in the child")          \
    X(ERROR_IO, "a file could not be read or written")                                             \
    X(ERROR_RANK_LOST, "another rank of the communicator ended, failed or did not answer in time")

/** How a call ended: TDM_OK, or TDM_ and a name of the list. */
typedef enum tdm_status {
#define TDM_STATUS_ENUM(name, text) TDM_##name,
    TDM_STATUS_LIST(TDM_STATUS_ENUM)
#undef TDM_STATUS_ENUM
        TDM_STATUS_COUNT
} tdm_status;

/** The name of a status, e.g. "TDM_ERROR_NOT_FOUND"; "TDM_STATUS_UNKNOWN" for any other number.
 * Static storage; any thread. */
TDM_API const char *tdm_status_name(tdm_status status);

/** One sentence on what a status means in general. Static storage; any thread. */
TDM_API const char *tdm_status_text(tdm_status status);

/** The message of this thread's last call that did not return TDM_OK: it names the argument, its value and the values
 * allowed. "" when nothing failed yet. Owned by the library, valid until the next failing call of the same thread, and
 * at most 2047 bytes, to which longer ones are cut. The library never prints. */
TDM_API const char *tdm_last_error(void);

#if defined(__cplusplus)
}
#endif
#endif
