# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""Tensors shared with NumPy, and with PyTorch where it is installed, through DLPack: both write, and see each other's
bytes; nothing is copied and no memory leaks. On a CUDA device instead with PyTorch and CuPy.

    dlpack.py LIBRARY [cuda:0]
"""

import ctypes
import gc
import resource
import sys
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint
from ctypes import c_void_p, py_object, pythonapi

import numpy

DTYPES = ["float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8", "int8", "int16",
          "uint16", "uint32", "uint64", "bool"]
EXCHANGES = 10000
failures = 0


class Tensor(Structure):
    _fields_ = [("buffer", c_void_p), ("dtype", c_int), ("ndim", c_int),
                ("shape", c_int64 * 6), ("strides", c_int64 * 6), ("offset", c_int64)]


class Stats(Structure):
    _fields_ = [("size", c_size_t)] + [(name, ctypes.c_uint64) for name in
                                       ("in_use", "peak", "cached", "reserved", "allocations",
                                        "device_free")]


class Refused(Exception):
    pass


def check(status):
    if status != 0:
        raise Refused(tandem.tdm_last_error().decode())


tandem = ctypes.CDLL(sys.argv[1])
tandem.tdm_last_error.restype = c_char_p
for function, arguments in {
        "tdm_device_open": [c_char_p, POINTER(c_void_p)],
        "tdm_queue_create": [c_void_p, c_uint, POINTER(c_void_p)],
        "tdm_zeros": [c_void_p, c_int, c_int, POINTER(c_int64), POINTER(Tensor)],
        "tdm_fill": [c_void_p, c_double, POINTER(Tensor)],
        "tdm_queue_finish": [c_void_p],
        "tdm_cuda_get_ordinal": [c_void_p, POINTER(c_int)],
        "tdm_cuda_get_stream": [c_void_p, POINTER(c_void_p)],
        "tdm_device_get_memory_stats": [c_void_p, POINTER(Stats)],
        "tdm_tensor_transpose": [POINTER(Tensor), c_int, c_int, POINTER(Tensor)],
        "tdm_tensor_to_dlpack": [c_void_p, POINTER(Tensor), POINTER(c_void_p)],
        "tdm_tensor_to_dlpack_legacy": [c_void_p, POINTER(Tensor), POINTER(c_void_p)],
        "tdm_tensor_from_dlpack": [c_void_p, c_void_p, POINTER(Tensor)],
        "tdm_tensor_from_dlpack_legacy": [c_void_p, c_void_p, POINTER(Tensor)]}.items():
    getattr(tandem, function).argtypes = arguments
    getattr(tandem, function).restype = check
tandem.tdm_tensor_release.argtypes = [POINTER(Tensor)]
tandem.tdm_tensor_release.restype = None
tandem.tdm_buffer_freeze.argtypes = [c_void_p]
tandem.tdm_buffer_freeze.restype = None

DESTRUCTOR = ctypes.CFUNCTYPE(None, c_void_p)
new_capsule = pythonapi.PyCapsule_New
new_capsule.argtypes, new_capsule.restype = [c_void_p, c_char_p, c_void_p], py_object
pointer_of = pythonapi.PyCapsule_GetPointer
pointer_of.argtypes, pointer_of.restype = [py_object, c_char_p], c_void_p
rename = pythonapi.PyCapsule_SetName
rename.argtypes, rename.restype = [py_object, c_char_p], c_int

NAMES = {False: (b"dltensor", b"used_dltensor", "_legacy"),
         True: (b"dltensor_versioned", b"used_dltensor_versioned", "")}


def expect(right, what):
    global failures
    if not right:
        failures += 1
        print("FAILED:", what)


class Producer:
    """A tensor of Tandem's with the methods that Python's protocol asks for."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return place

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        versioned = max_version is not None and max_version[0] >= 1
        name, _, suffix = NAMES[versioned]
        managed = c_void_p()
        getattr(tandem, "tdm_tensor_to_dlpack" + suffix)(queue, byref(self.tensor), byref(managed))
        return new_capsule(managed, name, None)  # every one made here is consumed


class Legacy(Producer):
    def __dlpack__(self, **_):
        return super().__dlpack__()


def take(array, versioned):
    """The array as a tensor of Tandem's."""
    name, used, suffix = NAMES[versioned]
    capsule = array.__dlpack__(**stream, **({"max_version": (1, 0)} if versioned else {}))
    tensor = Tensor()
    getattr(tandem, "tdm_tensor_from_dlpack" + suffix)(device, pointer_of(capsule, name),
                                                       byref(tensor))
    rename(capsule, used)
    return tensor


def zeros(dtype, *shape):
    tensor = Tensor()
    tandem.tdm_zeros(queue, DTYPES.index(dtype), len(shape), (c_int64 * len(shape))(*shape),
                     byref(tensor))
    return tensor


def fill(tensor, value):
    tandem.tdm_fill(queue, value, byref(tensor))
    tandem.tdm_queue_finish(queue)  # another library reads it


def from_numpy(versioned):
    for dtype in DTYPES:
        if dtype == "bfloat16":
            continue  # NumPy has none
        whole = numpy.zeros((6, 8), dtype)
        views = {"all": whole, "a corner": whole[1:5, 3:7], "every other": whole[::2, 1::3],
                 "columns": whole.T, "one": whole[2, 3], "no dimensions": whole[3:4, 5].reshape(()),
                 "nothing": whole[:0]}
        for what, view in views.items():
            case = "%s of %s, versioned %s" % (what, dtype, versioned)
            if what == "one":
                continue  # a number, which is no view
            whole[...] = 0
            tensor = take(view, versioned)
            expect(list(tensor.shape[:tensor.ndim]) == list(view.shape or (1,)), case + ": shape")
            fill(tensor, 1)
            expect((view == 1).all(), case + ": NumPy does not see what was written")
            expect(int(whole.sum()) == view.size, case + ": other elements were written")
            tandem.tdm_tensor_release(byref(tensor))


def refused_from_numpy():
    array = numpy.arange(10, dtype="float32")
    for wrong, words in ((array[::-1], "stride 0 is -1"),
                         (array.astype("complex64"), "code 5"),
                         (array.reshape((1,) * 6 + (10,)), "ndim is 7"),
                         (numpy.frombuffer(bytearray(41), "uint8")[1:].view("float32"),
                          "multiple of that")):
        capsule = wrong.__dlpack__(max_version=(1, 0))
        tensor = Tensor()
        count = sys.getrefcount(wrong)
        try:
            tandem.tdm_tensor_from_dlpack(device, pointer_of(capsule, b"dltensor_versioned"),
                                          byref(tensor))
            expect(False, "not refused: " + words)
        except Refused as error:
            expect(words in str(error), "%r lacks %r" % (str(error), words))
        expect(sys.getrefcount(wrong) == count, "a failure gave the array back")
        del capsule  # NumPy's to delete
        expect(sys.getrefcount(wrong) == count - 1, "the capsule could not give the array back")


def read_only():
    array = numpy.zeros(4, "float32")
    array.flags.writeable = False
    tensor = take(array, True)
    try:
        fill(tensor, 1)
        expect(False, "a read-only array was written")
    except Refused as error:
        expect("read-only" in str(error), str(error))
    tandem.tdm_tensor_release(byref(tensor))
    tensor = zeros("float32", 4)
    tandem.tdm_buffer_freeze(tensor.buffer)
    expect(not numpy.from_dlpack(Producer(tensor)).flags.writeable, "NumPy may write frozen memory")
    tandem.tdm_tensor_release(byref(tensor))


def to_library(from_dlpack, to_number, kind):
    for dtype in ("float32", "float64", "float16", "int32", "int64", "uint8", "int8", "int16", "bool"):
        tensor, turned = zeros(dtype, 3, 5), Tensor()
        tandem.tdm_tensor_transpose(byref(tensor), 0, 1, byref(turned))
        array, columns = from_dlpack(kind(tensor)), from_dlpack(kind(turned))
        expect(tuple(array.shape) == (3, 5) and tuple(columns.shape) == (5, 3), "shape")
        fill(tensor, 1)
        expect(to_number(array.sum()) == 15, dtype + ": what Tandem wrote is not seen")
        try:
            array[1, 4] = 0
        except ValueError:  # NumPy takes arrays of DLPack before 1.0 for read-only
            expect(kind is Legacy, dtype + ": not writable")
        else:
            expect(to_number(columns[4, 1]) == 0, dtype + ": what was written is not seen")
        tandem.tdm_tensor_release(byref(tensor))
        expect(to_number(columns[0, 0]) == 1, "the memory did not outlive the tensor")


def memory_in_use():
    stats = Stats(size=ctypes.sizeof(Stats))
    tandem.tdm_device_get_memory_stats(device, byref(stats))
    return stats.in_use


def exchanges(from_dlpack, make, kind):
    array, tensor = make(), zeros("float32", 256, 1024)
    count, before, most = sys.getrefcount(array), memory_in_use(), 0
    for i in range(EXCHANGES):
        versioned = kind is Producer and i % 2 == 0
        taken = take(array, versioned)
        fill(taken, i)
        tandem.tdm_tensor_release(byref(taken))
        seen = from_dlpack((kind if versioned else Legacy)(tensor))
        del seen
        if i == EXCHANGES // 10:
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gc.collect()
    expect(sys.getrefcount(array) == count, "references are left: %d" % sys.getrefcount(array))
    expect(memory_in_use() == before, "%d bytes are in use, before %d" % (memory_in_use(), before))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most
    expect(grown < 4096, "%d KiB more after %d exchanges" % (grown, EXCHANGES))
    tandem.tdm_tensor_release(byref(tensor))


def from_library(library, versioned, **options):
    """Arrays of PyTorch's or CuPy's, with gaps."""
    for dtype in ("float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool"):
        if not hasattr(library, dtype):
            continue
        whole = library.zeros((4, 6), dtype=getattr(library, dtype), **options)
        tensor = take(whole[1:, ::2], versioned)
        fill(tensor, 1)
        expect(bool((whole[1:, ::2] == 1).all()), dtype + ": what was written is not seen")
        expect(float(whole.sum()) == 9, dtype + ": other elements were written")
        tandem.tdm_tensor_release(byref(tensor))


def with_numpy():
    for form in (False, True):
        from_numpy(form)
    refused_from_numpy()
    read_only()
    for way in (Producer, Legacy):
        to_library(numpy.from_dlpack, float, way)
    exchanges(numpy.from_dlpack, lambda: numpy.zeros((256, 1024), "float32"), Producer)
    return "NumPy " + numpy.__version__


def with_pytorch(forms, where):
    import torch
    for form in forms:
        from_library(torch, form is Producer, device=where)
        to_library(torch.from_dlpack, float, form)
    exchanges(torch.from_dlpack, lambda: torch.zeros(256, 1024, device=where), forms[-1])
    return "PyTorch " + torch.__version__


def with_cupy():
    import cupy
    for form in (Legacy, Producer):
        from_library(cupy, form is Producer)
        to_library(cupy.from_dlpack, float, form)
    exchanges(cupy.from_dlpack, lambda: cupy.zeros((256, 1024), "float32"), Producer)
    return "CuPy " + cupy.__version__


name = sys.argv[2] if len(sys.argv) > 2 else "cpu"
device, queue, place, stream, tested = c_void_p(), c_void_p(), (1, 0), {}, []
tandem.tdm_device_open(name.encode(), byref(device))
tandem.tdm_queue_create(device, 0, byref(queue))
if name.startswith("cuda"):
    ordinal, handle = c_int(), c_void_p()
    tandem.tdm_cuda_get_ordinal(device, byref(ordinal))
    tandem.tdm_cuda_get_stream(queue, byref(handle))
    place, stream = (2, ordinal.value), {"stream": handle.value}
    # PyTorch 2.9 and newer know DLPack 1.0.
    ways = [lambda: with_pytorch((Legacy, Producer), "cuda:%d" % ordinal.value), with_cupy]
else:
    ways = [with_numpy, lambda: with_pytorch((Legacy,), "cpu")]
for way in ways:
    try:
        tested.append(way())
    except ImportError:
        pass
print("%d failures, with %s" % (failures, " and ".join(tested)) if tested else "[SKIP] there is no PyTorch and no CuPy")
sys.exit(failures > 0)
