/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * For C++17: communicators (comm.h) as objects that end themselves, whose collectives return tensors and throw
 * tandem::Error. With libtandem-comm; tandem.hpp does not include it.
 *
 *     tdm_comm *made;
 *     tandem::check(tdm_comm_from_mpi(MPI_COMM_WORLD, device, &made));
 *     const tandem::Comm comm(made);
 *     const tandem::Tensor sum = comm.all_reduce(queue, TDM_COMM_SUM, gradient);
 *
 * Threads: a communicator is used by one thread at a time. */
#ifndef TANDEM_COMM_HPP
#define TANDEM_COMM_HPP

#include <tandem/comm.h>
#include <tandem/tandem.hpp>

namespace tandem {

/** A communicator. Every function but rank, size and set_timeout is collective; comm.h says what each does. */
class Comm : public Unique<tdm_comm, tdm_comm_destroy> {
  public:
    using Unique::Unique;
    int rank() const noexcept { return tdm_comm_get_rank(get()); } /**< of this process */
    int size() const noexcept { return tdm_comm_get_size(get()); } /**< how many ranks */
    /** How long a rank may keep another waiting, in seconds. */
    void set_timeout(double seconds) const { tandem::check(tdm_comm_set_timeout(get(), seconds)); }
    /** Of the ranks of one color, ordered by key; empty for a negative color. */
    Comm split(int color, int key) const {
        return Comm(detail::made<tdm_comm *>(tdm_comm_split, get(), color, key));
    }
    /** The ranks' x, combined, on every rank. */
    Tensor all_reduce(const Queue &queue, tdm_comm_op op, const Tensor &x) const {
        return detail::into(detail::make_like(queue, x, x->dtype), tdm_comm_all_reduce, get(),
                            queue, op, x);
    }
    /** The same on rank `root`; empty on the others. */
    Tensor reduce(const Queue &queue, tdm_comm_op op, int root, const Tensor &x) const {
        Tensor y;
        if (rank() == root) y = detail::make_like(queue, x, x->dtype);
        tandem::check(tdm_comm_reduce(get(), queue, op, root, x, y));
        return y;
    }
    /** x of rank `root`, in x on all ranks. */
    void broadcast(const Queue &queue, int root, Tensor &x) const {
        tandem::check(tdm_comm_broadcast(get(), queue, root, x));
    }
    /** The ranks' x, of one shape, one after the other along the first dimension. */
    Tensor all_gather(const Queue &queue, const Tensor &x) const {
        std::vector<std::int64_t> shape = x.shape();
        if (!shape.empty()) shape[0] *= size();
        return detail::into(detail::make(queue, x->dtype, shape), tdm_comm_all_gather, get(), queue,
                            x, nullptr);
    }
    /** This rank's part, one of equal ones along the first dimension, of the ranks' x, combined. */
    Tensor reduce_scatter(const Queue &queue, tdm_comm_op op, const Tensor &x) const {
        std::vector<std::int64_t> shape = x.shape();
        if (!shape.empty()) shape[0] /= size();
        return detail::into(detail::make(queue, x->dtype, shape), tdm_comm_reduce_scatter, get(),
                            queue, op, x, nullptr);
    }
    /** Part i of what is returned is part `rank` of rank i's x. */
    Tensor all_to_all(const Queue &queue, const Tensor &x) const {
        return detail::into(detail::make_like(queue, x, x->dtype), tdm_comm_all_to_all, get(),
                            queue, x);
    }
    /** To another rank, which calls receive. */
    void send(const Queue &queue, int to, const Tensor &x) const {
        tandem::check(tdm_comm_send(get(), queue, to, x));
    }
    /** From another rank, into y. */
    void receive(const Queue &queue, int from, Tensor &y) const {
        tandem::check(tdm_comm_receive(get(), queue, from, y));
    }
    /** Returns when every rank has called it. */
    void barrier(const Queue &queue) const { tandem::check(tdm_comm_barrier(get(), queue)); }
};

} // namespace tandem

#endif
