"""What functions of NumPy and PyTorch that nl lacks are written as: their names are near those of others that mean something else."""
from __future__ import annotations

from typing import Dict

_WAYS = (
    ("concatenate concat cat stack hstack vstack append", "assign the parts to a tile: t = nl.ndarray(...); t[:, 0:n] = a; t[:, n:2 * n] = b"),
    ("split array_split chunk", "take the parts: x[:, 0:n]"),
    ("pad", "assign x to a part of a tile that nl.zeros or nl.full made"),
    ("roll", "assign the parts to a tile in another order"),
    ("flip flipud fliplr", "index by an array, as in x[i, n - 1 - j]"),
    ("dot einsum inner outer mm bmm tensordot", "products of two tiles are nl.matmul or nisa.nc_matmul"),
    ("clip clamp", "write nl.minimum(nl.maximum(x, low), high)"),
    ("relu6", "write nl.minimum(nl.relu(x), 6)"),
    ("leaky_relu", "write nl.maximum(x, x * slope)"),
    ("swish", "write nl.silu"),
    ("argmax topk sort argsort median", "nisa.max8 gives the eight largest of each row, nisa.nc_find_index8 their places"),
    ("argmin", "nisa.max8 and nisa.nc_find_index8 of -x"),
    ("cumsum cumprod", "running sums and products are nisa.tensor_tensor_scan"),
    ("reshape squeeze unsqueeze flatten ravel view", "it is a method of tiles: x.reshape(shape)"),
    ("tile repeat expand", "free dims of 1 are repeated where they meet larger ones; else x.broadcast_to(shape)"),
    ("astype cast", "it is a method of tiles: x.astype(dtype)"),
    ("norm", "write nl.sqrt(nl.sum(nl.square(x), axis=1))"),
    ("std", "write nl.sqrt(nl.var(x, axis=1))"),
    ("logsumexp", "write m + nl.log(nl.sum(nl.exp(x - m), axis=1)), where m is the maximum of each row"),
    ("isnan", "write nl.not_equal(x, x)"),
    ("eye identity tri tril triu diag", "pass it as an argument, or choose elements by their indices with nisa.affine_select"),
    ("randn normal linspace meshgrid", "make it with NumPy, and pass it as an argument"),
    ("float64 double int64 long uint64 complex64", "the machine's numbers have at most 32 bits: nl.float32, nl.int32"),
    ("true_divide", "write nl.divide"),
)
WRITTEN_AS: Dict[str, str] = {name: way for names, way in _WAYS for name in names.split()}
