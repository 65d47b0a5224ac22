/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * For C++17: the objects of the C API as classes that end them, and its statuses as exceptions. tandem.hpp includes
 * it.
 *
 * A class converts to the pointer that the C functions take.
 *
 * Device, Buffer and Tensor are references, as in C: a copy is one more of them, to the same memory. The others
 * can be moved, not copied. An object that was moved from, or that a constructor without arguments
 * made, is empty: it converts to NULL, and a tensor to one that is all zero.
 *
 * A constructor that takes a pointer takes over the caller's reference. Objects may end in any order, as
 * in C. No destructor throws. Functions that the library calls (tdm_set_log, tdm_mirror_run …) must not throw
 * either.
 *
 * Threads: as the objects of the C API; an object of a class is used by one thread at a time. */
#ifndef TANDEM_OBJECTS_HPP
#define TANDEM_OBJECTS_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tandem/tandem.h>

namespace tandem {

/** A call that failed: what() is tdm_last_error() of the thread that made it. */
class Error : public std::runtime_error {
  public:
    /** Of the last failure of this thread. */
    explicit Error(tdm_status status) : std::runtime_error(tdm_last_error()), status_(status) {}
    /** How the call ended; never TDM_OK. */
    tdm_status status() const noexcept { return status_; }

  private:
    tdm_status status_;
};

/** Throws an Error unless the call succeeded. */
inline void check(tdm_status status) {
    if (status != TDM_OK) throw Error(status);
}

namespace detail {
/** Calls a C function with these arguments and, as the last one, where to put what it makes; returns that. */
template <typename T, typename Function, typename... Arguments>
T made(Function function, const Arguments &...arguments) {
    T result{};
    tandem::check(function(arguments..., &result));
    return result;
}
} // namespace detail

/** Owns an object of the C API, which End ends. */
template <typename T, void (*End)(T *)> class Unique {
  public:
    Unique() noexcept = default; /**< empty */
    /** Takes over the object; NULL is allowed. */
    explicit Unique(T *object) noexcept : object_(object) {}
    /** Takes over what the other one has, which is empty then. */
    Unique(Unique &&other) noexcept : object_(other.release()) {}
    /** Ends its object and takes over what the other one has. */
    Unique &operator=(Unique &&other) noexcept {
        if (this != &other) reset(other.release());
        return *this;
    }
    Unique(const Unique &) = delete;
    Unique &operator=(const Unique &) = delete;
    ~Unique() { End(object_); }

    /** The object, still owned. */
    T *get() const noexcept { return object_; }
    /** The object, for the C functions. */
    operator T *() const noexcept { return object_; } // NOLINT
    /** Does it have an object? */
    explicit operator bool() const noexcept { return object_; }
    /** Gives the object away, to be ended by the caller. */
    T *release() noexcept { return std::exchange(object_, nullptr); }
    /** Ends the object and takes over another one. */
    void reset(T *object = nullptr) noexcept { End(std::exchange(object_, object)); }

  private:
    T *object_ = nullptr;
};

/** Owns a reference to a counted object. */
template <typename T, T *(*Retain)(T *), void (*Release)(T *)>
class Counted : public Unique<T, Release> {
  public:
    using Unique<T, Release>::Unique;
    Counted() noexcept = default; /**< empty */
    /** Takes over the other one's reference. */
    Counted(Counted &&other) noexcept = default;
    /** Gives its reference back and takes over the other one's. */
    Counted &operator=(Counted &&other) noexcept = default;
    /** One more reference. */
    Counted(const Counted &other) noexcept : Unique<T, Release>(Retain(other.get())) {}
    /** One more reference, and one less of what it had. */
    Counted &operator=(const Counted &other) noexcept {
        if (this != &other) this->reset(Retain(other.get()));
        return *this;
    }
    ~Counted() = default;
};

/** An open device. */
class Device : public Counted<tdm_device, tdm_device_retain, tdm_device_release> {
  public:
    using Counted::Counted;
    /** The device of that name; NULL: the default one, which "" is not, as that may be a name that got lost. */
    static Device open(const char *name = nullptr) {
        return Device(detail::made<tdm_device *>(tdm_device_open, name));
    }
    /** The index-th physical GPU, or "cpu" when there are not that many. */
    static Device try_gpu(std::size_t index = 0) {
        return Device(detail::made<tdm_device *>(tdm_device_try_gpu, index));
    }
    /** One more reference to a device that has other owners. */
    static Device of(tdm_device *borrowed) noexcept { return Device(tdm_device_retain(borrowed)); }
    /** Facts of the device, valid until the process ends. */
    const tdm_device_info &info() const noexcept { return *tdm_device_get_info(get()); }
};

/** An in-order queue. Its destructor waits for its work; failures of it show in finish. */
class Queue : public Unique<tdm_queue, tdm_queue_destroy> {
  public:
    using Unique::Unique;
    Queue() noexcept = default; /**< empty */
    /** Of this device; flags: TDM_QUEUE_TIMING. */
    explicit Queue(const Device &device, unsigned flags = 0)
        : Unique(detail::made<tdm_queue *>(tdm_queue_create, device, flags)) {}
    void finish() const {
        tandem::check(tdm_queue_finish(get()));
    } /**< waits for all of its work */
    void flush() const {
        tandem::check(tdm_queue_flush(get()));
    } /**< hands its work to the device */
};

/** Device memory. */
class Buffer : public Counted<tdm_buffer, tdm_buffer_retain, tdm_buffer_release> {
  public:
    using Counted::Counted;
    Buffer() noexcept = default; /**< empty */
    /** Of so many bytes, content undefined. */
    Buffer(const Device &device, std::size_t size)
        : Counted(detail::made<tdm_buffer *>(tdm_buffer_create, device, size)) {}
    /** One more reference to a buffer that has other owners. */
    static Buffer of(tdm_buffer *borrowed) noexcept { return Buffer(tdm_buffer_retain(borrowed)); }
};

/** A point in a queue. */
class Event : public Unique<tdm_event, tdm_event_destroy> {
  public:
    using Unique::Unique;
    Event() noexcept = default; /**< empty */
    /** For queues of this device. */
    explicit Event(const Device &device)
        : Unique(detail::made<tdm_event *>(tdm_event_create, device)) {}
    /** Marks this point of the queue. */
    void record(const Queue &queue) const { tandem::check(tdm_queue_record_event(queue, get())); }
    void wait() const { tandem::check(tdm_event_wait(get())); } /**< for what was marked */
    /** Later work of the queue runs after what was marked. */
    void wait_in(const Queue &queue) const { tandem::check(tdm_queue_wait_event(queue, get())); }
};

/** Operations recorded once and replayed. */
class Graph : public Unique<tdm_graph, tdm_graph_destroy> {
  public:
    using Unique::Unique;
    Graph() noexcept = default; /**< empty */
    /** Recorded from and replayed in this queue. */
    explicit Graph(const Queue &queue)
        : Unique(detail::made<tdm_graph *>(tdm_graph_create, queue)) {}
    /** Records what the function gives the queue, which runs nothing of it. Where the function throws the graph
     * has what was recorded until then. */
    template <typename Function> void record(Function function) const {
        tandem::check(tdm_graph_begin(get()));
        try {
            function();
        } catch (...) {
            const tdm_status ended = tdm_graph_end(get());
            static_cast<void>(ended); // the exception says more
            throw;
        }
        tandem::check(tdm_graph_end(get()));
    }
    void replay() const { tandem::check(tdm_graph_replay(get())); } /**< all that was recorded */
};

/** A transfer of tdm_to_async. */
using Transfer = Unique<tdm_transfer, tdm_transfer_destroy>;
/** An open safetensors file. */
using File = Unique<tdm_file, tdm_file_destroy>;
/** Parameters on several devices. */
using Mirror = Unique<tdm_mirror, tdm_mirror_destroy>;
/** Entries of the cache's folder. */
using CacheListing = Unique<tdm_cache_listing, tdm_cache_listing_destroy>;

/** Extents of a tensor: {2, 3}, or a vector. One with more than TDM_MAX_DIMS is refused by the call it is given
 * to. */
class Shape {
  public:
    /** {2, 3} */
    Shape(std::initializer_list<std::int64_t> extents) noexcept // NOLINT
        : Shape(extents.begin(), extents.size()) {}
    /** The vector's numbers. */
    Shape(const std::vector<std::int64_t> &extents) noexcept // NOLINT
        : Shape(extents.data(), extents.size()) {}
    /** So many extents. */
    Shape(const std::int64_t *extents, std::size_t count) noexcept
        : ndim_(static_cast<int>(count < TOO_MANY ? count : TOO_MANY)) {
        for (std::size_t i = 0; i < count && i < TDM_MAX_DIMS; i++)
            extents_[i] = extents[i];
    }
    const std::int64_t *data() const noexcept { return extents_; } /**< the extents */
    int ndim() const noexcept { return ndim_; }                    /**< how many */
    /** "[2, 3]" */
    std::string text() const {
        std::string all;
        for (int i = 0; i < ndim_ && i < TDM_MAX_DIMS; i++)
            all += (i > 0 ? ", " : "") + std::to_string(extents_[i]);
        return "[" + all + "]";
    }
    /** Does a tensor of this shape have so many elements? */
    bool has(std::size_t count) const noexcept {
        if (ndim_ < 1 || ndim_ > TDM_MAX_DIMS) return false;
        std::uint64_t left = count;
        bool whole = true;
        for (int i = 0; i < ndim_; i++) {
            if (extents_[i] == 0) return count == 0;
            const auto extent = static_cast<std::uint64_t>(extents_[i]);
            whole = whole && extents_[i] > 0 && left % extent == 0;
            left /= extent;
        }
        return whole && left == 1;
    }

  private:
    enum : std::size_t { TOO_MANY = TDM_MAX_DIMS + 1 };
    std::int64_t extents_[TDM_MAX_DIMS] = {};
    int ndim_;
};

/** The dtype of C++'s arithmetic types. */
template <typename T> constexpr tdm_dtype dtype_of() noexcept {
    static_assert(std::is_arithmetic_v<T>, "16-bit floats have no type in C++: name the dtype");
    if constexpr (std::is_same_v<T, bool>) {
        return TDM_BOOL;
    } else if constexpr (std::is_floating_point_v<T>) {
        static_assert(sizeof(T) == 4 || sizeof(T) == 8, "there is no dtype of this size");
        return sizeof(T) == 4 ? TDM_F32 : TDM_F64;
    } else if constexpr (std::is_signed_v<T>) {
        return sizeof(T) == 1   ? TDM_I8
               : sizeof(T) == 2 ? TDM_I16
               : sizeof(T) == 4 ? TDM_I32
                                : TDM_I64;
    } else {
        return sizeof(T) == 1   ? TDM_U8
               : sizeof(T) == 2 ? TDM_U16
               : sizeof(T) == 4 ? TDM_U32
                                : TDM_U64;
    }
}

/** A tensor that holds a reference to its buffer. */
class Tensor {
  public:
    Tensor() noexcept = default; /**< empty */
    /** Takes over the reference that the caller has of the tensor's buffer. */
    explicit Tensor(const tdm_tensor &owned) noexcept : tensor_(owned) {}
    /** One more reference to the buffer. */
    Tensor(const Tensor &other) noexcept : tensor_(tdm_tensor_retain(&other.tensor_)) {}
    /** Takes over the other one, which is empty then. */
    Tensor(Tensor &&other) noexcept : tensor_(other.release()) {}
    /** Releases its reference and copies the other one, with one more reference. */
    Tensor &operator=(Tensor other) noexcept {
        std::swap(tensor_, other.tensor_);
        return *this;
    }
    ~Tensor() { tdm_tensor_release(&tensor_); }

    /** With one more reference to the buffer: of a view that a function such as tdm_tensor_slice has made, or of a
     * tensor that has other owners. */
    static Tensor of(const tdm_tensor &borrowed) noexcept {
        return Tensor(tdm_tensor_retain(&borrowed));
    }
    /** Contiguous, content undefined. */
    static Tensor empty(const Queue &queue, tdm_dtype dtype, Shape shape) {
        return Tensor(
            detail::made<tdm_tensor>(tdm_empty, queue, dtype, shape.ndim(), shape.data()));
    }
    /** All elements `value`. */
    static Tensor full(const Queue &queue, double value, tdm_dtype dtype, Shape shape) {
        return Tensor(
            detail::made<tdm_tensor>(tdm_full, queue, value, dtype, shape.ndim(), shape.data()));
    }
    /** All elements 0. */
    static Tensor zeros(const Queue &queue, tdm_dtype dtype, Shape shape) {
        return full(queue, 0, dtype, shape);
    }
    /** All elements 1. */
    static Tensor ones(const Queue &queue, tdm_dtype dtype, Shape shape) {
        return full(queue, 1, dtype, shape);
    }
    /** start, start + step, … up to, not including, end. */
    static Tensor arange(const Queue &queue, double start, double end, double step = 1,
                         tdm_dtype dtype = TDM_F32) {
        return Tensor(detail::made<tdm_tensor>(tdm_arange, queue, start, end, step, dtype));
    }
    /** Uniform in [0, 1). */
    static Tensor rand(const Queue &queue, tdm_generator &generator, tdm_dtype dtype, Shape shape) {
        return Tensor(detail::made<tdm_tensor>(tdm_rand, queue, &generator, dtype, shape.ndim(),
                                               shape.data()));
    }
    /** Standard normal. */
    static Tensor randn(const Queue &queue, tdm_generator &generator, tdm_dtype dtype,
                        Shape shape) {
        return Tensor(detail::made<tdm_tensor>(tdm_randn, queue, &generator, dtype, shape.ndim(),
                                               shape.data()));
    }
    /** From a row-major array of that dtype, which may go when the call returns. */
    static Tensor from_host(const Queue &queue, const void *data, tdm_dtype dtype, Shape shape) {
        return Tensor(detail::made<tdm_tensor>(tdm_from_host, queue, data, dtype, shape.ndim(),
                                               shape.data()));
    }
    /** From a vector with an element for each of the tensor's; std::invalid_argument if not so. */
    template <typename T>
    static Tensor from_host(const Queue &queue, const std::vector<T> &data, Shape shape) {
        static_assert(!std::is_same_v<T, bool>, "a vector of bool is not an array");
        const bool is_shape =
            shape.ndim() > 0 && shape.ndim() <= TDM_MAX_DIMS; // else refused below
        if (is_shape && !shape.has(data.size()))
            throw std::invalid_argument(
                "tandem::Tensor::from_host: the vector has " + std::to_string(data.size()) +
                " elements, which is not what the shape " + shape.text() + " has");
        return from_host(queue, data.data(), dtype_of<T>(), shape);
    }
    /** All its elements, row-major; std::invalid_argument when T or their number is another. */
    template <typename T> void write(const Queue &queue, const std::vector<T> &data) {
        static_assert(!std::is_same_v<T, bool>, "a vector of bool is not an array");
        if (!tensor_.buffer || tensor_.dtype != dtype_of<T>() ||
            data.size() != static_cast<std::size_t>(count()))
            throw std::invalid_argument(
                "tandem::Tensor::write: the vector has " + std::to_string(data.size()) +
                " elements of " + tdm_dtype_name(dtype_of<T>()) + ", the tensor is of " +
                tdm_dtype_name(tensor_.dtype) + " and of shape " + Shape(shape()).text());
        tandem::check(tdm_write(queue, data.data(), &tensor_));
    }
    /** Its elements, row-major, as its dtype is; waits for the queue. std::invalid_argument when T is of another
     * dtype. */
    template <typename T> std::vector<T> to_host(const Queue &queue) const {
        static_assert(!std::is_same_v<T, bool>, "a vector of bool is not an array");
        if (tensor_.buffer && tensor_.dtype != dtype_of<T>())
            throw std::invalid_argument(std::string("tandem::Tensor::to_host: the tensor is of ") +
                                        tdm_dtype_name(tensor_.dtype) + ", not of " +
                                        tdm_dtype_name(dtype_of<T>()));
        std::vector<T> data(tensor_.buffer ? static_cast<std::size_t>(count()) : 0);
        tandem::check(tdm_to_host(queue, &tensor_, data.data()));
        return data;
    }

    tdm_tensor *get() noexcept { return &tensor_; }             /**< the tensor, for changes */
    const tdm_tensor *get() const noexcept { return &tensor_; } /**< the tensor */
    /** The tensor, for the C functions. */
    operator tdm_tensor *() noexcept { return &tensor_; } // NOLINT
    /** The tensor, for the C functions. */
    operator const tdm_tensor *() const noexcept { return &tensor_; } // NOLINT
    /** Its fields: x->shape[0]. */
    const tdm_tensor *operator->() const noexcept { return &tensor_; }
    explicit operator bool() noexcept { return tensor_.buffer; } /**< does it have a buffer? */
    /** Does it have a buffer? */
    explicit operator bool() const noexcept { return tensor_.buffer; }
    /** Of elements. */
    std::int64_t count() const noexcept { return tdm_tensor_get_count(&tensor_); }
    std::vector<std::int64_t> shape() const { /**< its extents */
        return {tensor_.shape, tensor_.shape + tensor_.ndim};
    }
    /** Gives the tensor and its reference away. */
    tdm_tensor release() noexcept { return std::exchange(tensor_, tdm_tensor()); }
    /** Releases the tensor; then a C function that makes one may be given *this. */
    void reset() noexcept { tdm_tensor_release(&tensor_); }

  private:
    tdm_tensor tensor_ = {};
};

/** Named tensors. */
class StateDict : public Unique<tdm_state_dict, tdm_state_dict_destroy> {
  public:
    using Unique::Unique;
    StateDict() noexcept = default; /**< empty */
    /** An empty one. */
    static StateDict create() {
        return StateDict(detail::made<tdm_state_dict *>(tdm_state_dict_create));
    }
    /** The tensors of a file, on the queue's device. */
    static StateDict load(const Queue &queue, const char *path,
                          const tdm_file_options *options = nullptr) {
        return StateDict(detail::made<tdm_state_dict *>(tdm_load, queue, path, options));
    }
    /** Writes a file. */
    void save(const Queue &queue, const char *path,
              const tdm_file_options *options = nullptr) const {
        tandem::check(tdm_save(queue, get(), path, options));
    }
    /** The tensor of that name, with one more reference. */
    Tensor get_tensor(const char *name) const {
        return Tensor::of(detail::made<tdm_tensor>(tdm_state_dict_get, get(), name));
    }
    /** Puts a tensor under a name. */
    void set(const char *name, const Tensor &tensor) {
        tandem::check(tdm_state_dict_set(get(), name, tensor));
    }
    /** Converts its floats to another dtype. */
    void cast(const Queue &queue, tdm_dtype dtype) {
        tandem::check(tdm_state_dict_cast(queue, dtype, get()));
    }
    /** All of it on another device; the queue is of the device where it is. */
    StateDict to(const Queue &queue, const Device &device) const {
        return StateDict(detail::made<tdm_state_dict *>(tdm_state_dict_to, queue, get(), device));
    }
};

} // namespace tandem

#endif
