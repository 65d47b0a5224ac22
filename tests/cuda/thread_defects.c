/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Kernels run thread by thread on the simulated CUDA machine ("threads=1"): each defect that such a launch reports, in
 * a kernel that has it on purpose, and a kernel without one. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulated.h"

enum { FLOATS = 256, LANES = 64 };
static cudaStream_t stream;
static float *memory;

static void begin(void) {
    setenv("TDM_CUDA_SIM", "threads=1", 1);
    cuda_sim_count_reports();
    FINE(cudaSetDevice(0));
    FINE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    FINE(cudaMalloc((void **)&memory, FLOATS * sizeof *memory));
}

static void end(void) {
    (void)cudaFree(memory);
    (void)cudaStreamDestroy(stream);
}

TestSuite(thread_defects, .init = begin, .fini = end);

/* A kernel of y, i, the thread's number, and shared memory s, as NVRTC is given it; NULL: the log has the reason. */
static CUmodule load(const char *body, CUfunction *kernel, char log[2048]) {
    static const char before[] = "typedef struct tdm_scalar { int n; } tdm_scalar;\n"
                                 "#define KERNEL1(name, A, T, p) extern \"C\" __global__ void "
                                 "tdm_##name(T *p, const A args)\n"
                                 "#define BARRIER __syncthreads()\n"
                                 "KERNEL1(wrong, tdm_scalar, float, y)\n{ __shared__ float s[64]; "
                                 "const int i = threadIdx.x;\n";
    char text[4096];
    nvrtcProgram program;
    size_t size = 0;
    CUmodule module = NULL;
    snprintf(text, sizeof text, "%s%s\n}\n", before, body);
    CHECK(nvrtcCreateProgram(&program, text, "wrong.cu", 0, NULL, NULL) == NVRTC_SUCCESS, "create");
    const int count = sizeof kernel_options / sizeof *kernel_options;
    const bool compiled = nvrtcCompileProgram(program, count, kernel_options) == NVRTC_SUCCESS;
    CHECK(nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS && size <= 65536, "%zu", size);
    char *words = malloc(size);
    (void)nvrtcGetProgramLog(program, words);
    snprintf(log, 2048, "%s", words);
    free(words);
    if (compiled) {
        CHECK(nvrtcGetCUBINSize(program, &size) == NVRTC_SUCCESS && size > 64, "size %zu", size);
        char *image = malloc(size);
        CHECK(nvrtcGetCUBIN(program, image) == NVRTC_SUCCESS, "image");
        CHECK(cuModuleLoadData(&module, image) == CUDA_SUCCESS, "load");
        CHECK(cuModuleGetFunction(kernel, module, "tdm_wrong") == CUDA_SUCCESS, "kernel");
        free(image);
    }
    nvrtcDestroyProgram(&program);
    return module;
}

static void run(const char *body, unsigned blocks) {
    CUfunction kernel = NULL;
    char log[2048];
    struct {
        int n;
    } args = {FLOATS};
    void *arguments[] = {&memory, &args};
    CUmodule module = load(body, &kernel, log);
    CHECK(module, "%s: %s", body, log);
    if (!module) return;
    (void)cuLaunchKernel(kernel, blocks, 1, 1, LANES, 1, 1, 0, stream, arguments, NULL);
    (void)cudaStreamSynchronize(stream);
    (void)cuModuleUnload(module);
}

#define RIGHT(body, blocks)                                                                        \
    do {                                                                                           \
        run(body, blocks);                                                                         \
        CHECK(!cuda_sim_reports(), "%s: %s", body, cuda_sim_last_report());                        \
    } while (0)

/* A sum over lanes as the dialect has it, twice, so that the shared memory is used again. */
Test(thread_defects, none) {
    static const char sum[] = "for (int k = 0; k < 2; k++) {\n"
                              "    float a = i;\n"
                              "    for (int d = 16; d; d /= 2) a += __shfl_xor_sync(~0u, a, d);\n"
                              "    if (i % 32 == 0) s[i / 32] = a;\n"
                              "    BARRIER;\n"
                              "    y[64 * blockIdx.x + i] = s[0] + s[1];\n"
                              "    BARRIER;\n"
                              "}\n";
    float values[FLOATS];
    RIGHT(sum, 4);
    RIGHT("for (int j = 0; j < 4; j++) y[4 * i + j] = i; uint4 v = ((uint4 *)y)[i]; ((uint4 "
          "*)y)[i] = v;",
          1);
    RIGHT("y[i] = i; __syncwarp(0xffu << i % 32 / 8 * 8); float a = y[i ^ 7]; __syncwarp(~0u); "
          "y[i] = a;",
          1);
    RIGHT("float a = 0;\n"
          "const unsigned team = 0xffu << i % 32 / 8 * 8;\n"
          "if (i % 16 < 8) a = __shfl_xor_sync(team, (float)i, 7);\n"
          "y[i] = a;",
          1);
    FINE(cudaMemcpyAsync(values, memory, sizeof values, cudaMemcpyDeviceToHost, stream));
    FINE(cudaStreamSynchronize(stream));
    CHECK(values[0] == 7 && values[7] == 0 && values[8] == 0 && values[16] == 23, "shuffled");
    RIGHT(sum, 4);
    FINE(cudaMemcpyAsync(values, memory, sizeof values, cudaMemcpyDeviceToHost, stream));
    FINE(cudaStreamSynchronize(stream));
    for (int i = 0; i < FLOATS; i++)
        CHECK(values[i] == 63 * 64 / 2, "%d: %g", i, (double)values[i]);
}

Test(thread_defects, barriers) {
    REPORTS(run("s[i] = i; BARRIER; y[i] = s[63 - i]; s[i] = 0; y[i] += s[i];", 1),
            "wrong|block 0|without a barrier in between");
    REPORTS(run("s[i] = i; y[i] = s[63 - i];", 1), "reads shared memory that");
    REPORTS(run("if (i < 32) BARRIER;\ny[i] = 0;", 1),
            "no thread can go on|waits at the barrier|has ended");
    REPORTS(run("if (i < 32)\nBARRIER;\nelse\nBARRIER;", 1), "waits at the barrier of|at that of");
    REPORTS(run("for (int k = 0; k < 1 + (i == 7); k++) BARRIER;", 1),
            "no thread can go on|has ended");
}

Test(thread_defects, shuffles) {
    REPORTS(run("y[i] = __shfl_xor_sync(0xffff0000u, 1.0f, 1);", 1),
            "ffff0000, which has not its lane");
    REPORTS(run("if (i % 32 < 16) y[i] = __shfl_xor_sync(~0u, 1.0f, 1);", 1), "ended");
    REPORTS(run("if (i != 3) y[i] = __shfl_xor_sync(~0u, 1.0f, 1); BARRIER;", 1),
            "no thread can go on|waits at the barrier|shuffles at dialect_cuda.h:6");
    REPORTS(run("y[i] = __shfl_xor_sync(~0u, 1.0f, i == 5 ? 2 : 1);", 1), "distance");
    REPORTS(run("y[i] = __shfl_xor_sync(i % 32 < 16 ? 0xffffu : ~0u, 1.0f, 1);", 1), "mask");
    REPORTS(run("y[i] = __shfl_xor_sync(0xffu << i % 32 / 8 * 8, 1.0f, 8);", 1), "not in its mask");
}

Test(thread_defects, accesses) {
    REPORTS(run("y[i] = s[i];", 1), "reads shared memory that nothing has written");
    REPORTS(run("y[i] = y[args.n - 63 + i];", 1),
            "reads 4 bytes at byte 1024 of a buffer that has 1024");
    REPORTS(run("y[i - 1] = 0;", 1), "writes 4 bytes at byte -4");
    REPORTS(run("s[64 + 16 * i] = 0; y[i] = s[64 + 16 * i];", 1), "writes 4 bytes");
    REPORTS(run("*(uint4 *)(y + 4 * (i % 32) + 1) = *(uint4 *)(y + 4 * (i % 32) + 128);", 1),
            "not aligned");
    REPORTS(run("y[i / 2] = 0;", 1), "writes memory that another thread writes");
    REPORTS(run("y[i] = y[i ^ 1];", 1), "memory that another thread");
    REPORTS(run("float a = y[i ^ 1]; a = __shfl_xor_sync(~0u, a, 1); y[i] = a;", 1),
            "writes memory that another thread reads");
    REPORTS(
        run("y[i] = i; __syncwarp(0xffu << i % 32 / 8 * 8); float a = y[i ^ 8]; __syncwarp(~0u); "
            "y[i] = a;",
            1),
        "memory that another thread");
    REPORTS(run("y[i] = 0;", 2), "block|writes memory that another thread writes");
}

/* Defects in the assembler of tensor cores; tests of products (matmul_tiles) check its results. */
#define TILES                                                                                      \
    "__shared__ uint4 t[64]; unsigned long long t_at; asm(\"cvta.to.shared.u64 %0, %1;\" : "       \
    "\"=l\"(t_at) : \"l\"(t)); const unsigned at = (unsigned)t_at + 16 * i;\n"
#define COPY                                                                                       \
    "asm volatile(\"cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\" : : \"r\"(at), "      \
    "\"l\"(y + 4 * "                                                                               \
    "i), "                                                                                         \
    "\"r\"(16));\n"
#define END "asm volatile(\"cp.async.commit_group;\" : : : \"memory\");\n"
#define WAIT(n) "asm volatile(\"cp.async.wait_group " #n ";\" : : : \"memory\");\n"
#define MATRICES(lane)                                                                             \
    "unsigned r[4]; asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, "    \
    "[%4];\" : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3]) : \"r\"(" lane "));\n"

Test(thread_defects, tensor_cores) {
    float values[FLOATS];
    for (int i = 0; i < FLOATS; i++)
        values[i] = (float)i;
    FINE(cudaMemcpyAsync(memory, values, sizeof values, cudaMemcpyHostToDevice, stream));
    RIGHT(TILES COPY END WAIT(0) "BARRIER; y[i] = t[63 - i].y;", 1);
    RIGHT(TILES COPY END WAIT(0) "BARRIER;" MATRICES("at") "y[i] = r[0];", 1);
    REPORTS(run(TILES COPY END WAIT(1) "BARRIER; y[i] = t[i].y;", 1), "ends with 1 copies");
    REPORTS(run(TILES COPY WAIT(0) "y[i] = 0;", 1), "ends with 1 copies");
    REPORTS(run(TILES COPY END WAIT(0) "y[i] = t[i ^ 1].y;", 1), "reads shared memory that");
    REPORTS(run(TILES "t[i] = ((uint4 *)y)[i]; BARRIER; const unsigned v = t[i ^ 1].x;" COPY END
                    WAIT(0) "s[i] = v;",
                1),
            "shared memory that another thread");
    REPORTS(run(TILES COPY END WAIT(0) "BARRIER;" MATRICES("at + 4") "y[i] = r[0];", 1),
            "is not aligned");
    REPORTS(run(TILES COPY END WAIT(0) "if (i % 32 == 3) return;" MATRICES("at") "y[i] = r[0];", 1),
            "ended or do not exist");
}

Test(thread_defects, texts) {
    CUfunction kernel;
    char log[2048];
    CHECK(!load("y[i] = none;", &kernel, log) && contains_words(log, "dialect_cuda.h:6|none"), "%s",
          log);
    CHECK(!load("asm(\"no.such %0, %1;\" : \"=f\"(y[i]) : \"f\"(y[i]));", &kernel, log) &&
              contains_words(log, "sim_no_such"),
          "%s", log);
}
