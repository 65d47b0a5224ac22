#!/usr/bin/env python3
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""all-MiniLM-L6-v2 in float64 by NumPy: an implementation to compare with, and what made expected.txt.

    reference.py MODEL < LINES > expected.txt

Each line gives three: the line, its tokens, and its embedding in units of 1e-5, rounded. Takes the packages numpy,
safetensors and tokenizers.
"""
import json
import math
import sys

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer


def main(folder):
    weights = {name: x.astype(np.float64) for name, x in load_file(folder + "/model.safetensors").items()}
    with open(folder + "/config.json", encoding="utf-8") as file:
        config = json.load(file)
    tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    heads, erf = config["num_attention_heads"], np.vectorize(math.erf)

    def linear(x, name):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x /= np.sqrt((x * x).mean(-1, keepdims=True) + config["layer_norm_eps"])
        return x * weights[name + ".weight"] + weights[name + ".bias"]

    def split(x):  # [tokens, hidden]: [heads, tokens, hidden / heads]
        return x.reshape(len(x), heads, -1).transpose(1, 0, 2)

    def encode(ids):
        x = weights["embeddings.word_embeddings.weight"][ids]
        x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
        x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for i in range(config["num_hidden_layers"]):
            name = f"encoder.layer.{i}."
            q, k, v = (split(linear(x, name + "attention.self." + part)) for part in ("query", "key", "value"))
            scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2])
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            context = (scores @ v).transpose(1, 0, 2).reshape(x.shape)
            x = norm(x + linear(context, name + "attention.output.dense"), name + "attention.output.LayerNorm")
            wide = linear(x, name + "intermediate.dense")
            wide = 0.5 * wide * (1 + erf(wide / math.sqrt(2)))
            x = norm(x + linear(wide, name + "output.dense"), name + "output.LayerNorm")
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)

    for line in sys.stdin.read().splitlines():
        ids = tokenizer.encode(line).ids
        print(line, " ".join(map(str, ids)), " ".join(str(round(x * 1e5)) for x in encode(ids)), sep="\n")


if len(sys.argv) != 2:
    sys.exit(__doc__)
main(sys.argv[1])
