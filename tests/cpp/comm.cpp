/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* comm.hpp: every collective between two threads, each of which is a rank, as a class has it. */
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include <tandem/comm.hpp>

extern "C" {
#include "comm/local.h"
}

namespace {
using tandem::Tensor;
using Numbers = std::vector<float>;

enum { RANKS = 2 };
std::atomic<int> checks, failures;

void expect(bool right, const char *what, int line) {
    checks++;
    if (right) return;
    failures++;
    std::printf("comm.cpp:%d: not so: %s\n", line, what);
}
#define EXPECT(right) expect(right, #right, __LINE__)

tandem::Comm connect(local_group *group, int rank, const tandem::Device &device) {
    const tdm_transport transport = local_transport(group, rank);
    tdm_comm *made;
    tandem::check(tdm_comm_create(&transport, device, &made));
    return tandem::Comm(made);
}

void run(local_group *group, int rank) {
    const tandem::Device device = tandem::Device::open("cpu:0");
    const tandem::Queue q(device);
    const tandem::Comm comm = connect(group, rank, device);
    comm.set_timeout(60);
    EXPECT(comm.rank() == rank && comm.size() == RANKS);
    const auto numbers = [&](const Tensor &x) { return x.to_host<float>(q); };
    const float own = static_cast<float>(rank);
    const Tensor x = Tensor::from_host(q, Numbers{own, 10 + own}, {2});
    EXPECT(numbers(comm.all_reduce(q, TDM_COMM_SUM, x)) == Numbers({1, 21}));
    const Tensor most = comm.reduce(q, TDM_COMM_MAX, 1, x);
    EXPECT(rank == 1 ? numbers(most) == Numbers({1, 11}) : !most);
    EXPECT(numbers(comm.all_gather(q, x)) == Numbers({0, 10, 1, 11}));
    EXPECT(numbers(comm.reduce_scatter(q, TDM_COMM_SUM, x)) == Numbers({rank == 0 ? 1.0F : 21.0F}));
    EXPECT(numbers(comm.all_to_all(q, x)) == (rank == 0 ? Numbers({0, 1}) : Numbers({10, 11})));
    Tensor y = Tensor::from_host(q, Numbers{own}, {1});
    comm.broadcast(q, 1, y);
    EXPECT(numbers(y) == Numbers({1}));
    if (rank == 0) comm.send(q, 1, x);
    Tensor received = Tensor::zeros(q, TDM_F32, {2});
    if (rank == 1) comm.receive(q, 0, received);
    EXPECT(rank == 0 || numbers(received) == Numbers({0, 10}));
    const tandem::Comm part = comm.split(rank == 0 ? 0 : -1, 0);
    EXPECT(rank == 0 ? part.size() == 1 : !part);
    comm.barrier(q);
    try {
        comm.all_reduce(q, TDM_COMM_MEAN, tandem::cast(q, x, TDM_I32));
        EXPECT(false);
    } catch (const tandem::Error &error) {
        EXPECT(error.status() == TDM_ERROR_INVALID_DTYPE);
    }
}
} // namespace

int main() {
    local_group *const group = local_group_make(RANKS, 0, 1000);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < RANKS; rank++)
        threads.emplace_back([=] {
            try {
                run(group, rank);
            } catch (const tandem::Error &error) {
                failures++;
                std::printf("rank %d: %s\n", rank, error.what());
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    std::printf("%d checks, %d failed\n", checks.load(), failures.load());
    return checks == 0 || failures != 0;
}
