/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* OpenCL error codes: their names, and what they amount to. */
#include "opencl_backend.h"

/* CL_PLATFORM_NOT_FOUND_KHR belongs to the ICD loader, the last one to NVIDIA's driver: a kernel
 * read or wrote outside its buffers. */
#define NV_ILLEGAL_ACCESS (-9999)

#define ERROR_LIST(X)                                                                              \
    X(CL_DEVICE_NOT_FOUND)                                                                         \
    X(CL_DEVICE_NOT_AVAILABLE)                                                                     \
    X(CL_COMPILER_NOT_AVAILABLE)                                                                   \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE)                                                            \
    X(CL_OUT_OF_RESOURCES)                                                                         \
    X(CL_OUT_OF_HOST_MEMORY)                                                                       \
    X(CL_PROFILING_INFO_NOT_AVAILABLE)                                                             \
    X(CL_MEM_COPY_OVERLAP)                                                                         \
    X(CL_IMAGE_FORMAT_MISMATCH)                                                                    \
    X(CL_IMAGE_FORMAT_NOT_SUPPORTED)                                                               \
    X(CL_BUILD_PROGRAM_FAILURE)                                                                    \
    X(CL_MAP_FAILURE)                                                                              \
    X(CL_MISALIGNED_SUB_BUFFER_OFFSET)                                                             \
    X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)                                                \
    X(CL_COMPILE_PROGRAM_FAILURE)                                                                  \
    X(CL_LINKER_NOT_AVAILABLE)                                                                     \
    X(CL_LINK_PROGRAM_FAILURE)                                                                     \
    X(CL_DEVICE_PARTITION_FAILED)                                                                  \
    X(CL_KERNEL_ARG_INFO_NOT_AVAILABLE)                                                            \
    X(CL_INVALID_VALUE)                                                                            \
    X(CL_INVALID_DEVICE_TYPE)                                                                      \
    X(CL_INVALID_PLATFORM)                                                                         \
    X(CL_INVALID_DEVICE)                                                                           \
    X(CL_INVALID_CONTEXT)                                                                          \
    X(CL_INVALID_QUEUE_PROPERTIES)                                                                 \
    X(CL_INVALID_COMMAND_QUEUE)                                                                    \
    X(CL_INVALID_HOST_PTR)                                                                         \
    X(CL_INVALID_MEM_OBJECT)                                                                       \
    X(CL_INVALID_BINARY)                                                                           \
    X(CL_INVALID_BUILD_OPTIONS)                                                                    \
    X(CL_INVALID_PROGRAM)                                                                          \
    X(CL_INVALID_PROGRAM_EXECUTABLE)                                                               \
    X(CL_INVALID_KERNEL_NAME)                                                                      \
    X(CL_INVALID_KERNEL_DEFINITION)                                                                \
    X(CL_INVALID_KERNEL)                                                                           \
    X(CL_INVALID_ARG_INDEX)                                                                        \
    X(CL_INVALID_ARG_VALUE)                                                                        \
    X(CL_INVALID_ARG_SIZE)                                                                         \
    X(CL_INVALID_KERNEL_ARGS)                                                                      \
    X(CL_INVALID_WORK_DIMENSION)                                                                   \
    X(CL_INVALID_WORK_GROUP_SIZE)                                                                  \
    X(CL_INVALID_WORK_ITEM_SIZE)                                                                   \
    X(CL_INVALID_GLOBAL_OFFSET)                                                                    \
    X(CL_INVALID_EVENT_WAIT_LIST)                                                                  \
    X(CL_INVALID_EVENT)                                                                            \
    X(CL_INVALID_OPERATION)                                                                        \
    X(CL_INVALID_BUFFER_SIZE)                                                                      \
    X(CL_INVALID_GLOBAL_WORK_SIZE)                                                                 \
    X(CL_INVALID_PROPERTY)                                                                         \
    X(CL_INVALID_COMPILER_OPTIONS)                                                                 \
    X(CL_INVALID_LINKER_OPTIONS)                                                                   \
    X(CL_PLATFORM_NOT_FOUND_KHR)                                                                   \
    X(NV_ILLEGAL_ACCESS)

const char *tdmi_cl_error_name(cl_int code) {
#define ENTRY(name) {name, #name},
    static const struct {
        cl_int code;
        const char *name;
    } names[] = {ENTRY(CL_SUCCESS) ERROR_LIST(ENTRY)};
#undef ENTRY
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code) return names[i].name;
    return "an unknown error";
}

tdm_status tdmi_cl_status(cl_int code) {
    switch (code) {
    case CL_SUCCESS:
        return TDM_OK;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE:
        return TDM_ERROR_OUT_OF_MEMORY;
    /* After a fault NVIDIA's driver answers every call with an invalid queue or context. Ours are
     * valid for as long as we use them, so nothing else can be meant. */
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_INVALID_COMMAND_QUEUE:
    case CL_INVALID_CONTEXT:
    case NV_ILLEGAL_ACCESS:
        return TDM_ERROR_DEVICE_LOST;
    case CL_BUILD_PROGRAM_FAILURE:
    case CL_COMPILE_PROGRAM_FAILURE:
    case CL_LINK_PROGRAM_FAILURE:
    case CL_COMPILER_NOT_AVAILABLE:
    case CL_INVALID_BINARY:
    case CL_INVALID_BUILD_OPTIONS:
    case CL_INVALID_PROGRAM_EXECUTABLE:
        return TDM_ERROR_COMPILE;
    case CL_PLATFORM_NOT_FOUND_KHR:
        return TDM_ERROR_UNAVAILABLE;
    default:
        return TDM_ERROR_BACKEND;
    }
}

tdm_status tdmi_cl_fail(cl_int code, const char *what) {
    if (code == CL_PLATFORM_NOT_FOUND_KHR)
        return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                         "no OpenCL ICD is installed, or none opens (%s, code %d): install the "
                         "OpenCL driver of your device, or pocl-opencl-icd to use the CPU, and "
                         "check that its .icd file is in /etc/OpenCL/vendors, or in the folder "
                         "that OCL_ICD_VENDORS names; `tdm doctor` lists the files",
                         what, code);
    const tdm_status status = tdmi_cl_status(code);
    const char *hint = "";
    if (status == TDM_ERROR_DEVICE_LOST) hint = ": the device is lost";
    if (code == CL_OUT_OF_RESOURCES)
        hint = ": the device is short of memory or registers, or a kernel faulted";
    return tdmi_fail(status, "%s failed with %s (%d)%s", what, tdmi_cl_error_name(code), code,
                     hint);
}
