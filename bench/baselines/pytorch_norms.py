# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""The norms of many products in PyTorch: prints the median seconds of the batched form (kept) or of
the form that logs each norm by itself (logged).
Usage: python3 pytorch_norms.py kept|logged BATCH M N K"""
import sys
import time

import torch

batch, m, n, k = map(int, sys.argv[2:6])
a = torch.rand(batch, m, k) * 2 - 1
b = torch.rand(batch, k, n) * 2 - 1


def kept():
    return torch.linalg.norm(torch.bmm(a, b), dim=(1, 2)).tolist()


def logged():
    return [f"product {i}: norm {torch.linalg.norm(a[i] @ b[i]).item():.6g}\n" for i in range(batch)]


work = {"kept": kept, "logged": logged}[sys.argv[1]]
work()
samples = []
end = time.perf_counter() + 1.0
while len(samples) < 5 or (len(samples) < 31 and time.perf_counter() < end):
    start = time.perf_counter()
    work()
    samples.append(time.perf_counter() - start)
print(sorted(samples)[len(samples) // 2])
