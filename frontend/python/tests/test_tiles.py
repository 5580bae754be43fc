"""Random kernels that write a few tiles again and again, wholly, by parts of their columns, or where an index finds something, beside NumPy:
on trn1 such tiles are taken in turn, and parts of one do not wait for each other. Rows that all partitions have may come by products."""
from __future__ import annotations

import os

os.environ["XCC_NKI_TARGET"] = "trn1"  # before the package asks for it

from typing import Any, List, Tuple

from support import Case, main, np

import nki
import nki.isa as nisa
import nki.language as nl
import neuronxcc.nki as beta1
import neuronxcc.nki.isa as bi
import neuronxcc.nki.language as bl

WIDTH, TILES, KERNELS = 16, 3, 80
KINDS = ["fill", "load", "load", "add", "copy", "scale", "sum", "find", "find", "row", "row", "store", "store"]
Step = Tuple[str, slice, int, int, int, int]  # what, columns, tiles: of two operands and the result; the number that fills


def steps(r: Any) -> List[Step]:
    out = []
    for kind in list(r.choice(KINDS, r.randint(6, 26))) + ["store"]:
        width = int(r.choice([WIDTH, WIDTH, 8, 5]))
        first = int(r.randint(0, WIDTH - width + 1))
        out.append((str(kind), slice(first, first + width), *(int(n) for n in r.randint(0, TILES, 3)), int(r.randint(9))))
    return out


def kernel_of(program: List[Step], trips: int) -> Any:
    @nki.jit
    def kernel(x, rows):
        stores = sum(kind == "store" for kind, *_ in program)
        out = nl.ndarray((trips, stores) + x.shape[1:], dtype=x.dtype, buffer=nl.shared_hbm)
        tiles = [nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf) for _ in range(TILES)]
        sums = nl.ndarray((x.shape[1], 1), dtype=nl.float32, buffer=nl.sbuf)
        index = nl.ndarray((x.shape[1], 1), dtype=nl.int32, buffer=nl.sbuf)
        nisa.dma_copy(dst=index, src=rows)
        for t in tiles:
            nisa.memset(dst=t, value=1.0)
        for k in nl.sequential_range(trips):
            n = 0
            for kind, columns, a, b, to, value in program:
                p, q, dst = tiles[a][:, columns], tiles[b][:, columns], tiles[to][:, columns]
                if kind == "fill":
                    nisa.memset(dst=dst, value=float(value))
                elif kind == "load":
                    nisa.dma_copy(dst=dst, src=x[k, :, columns])
                elif kind == "add":
                    nisa.tensor_tensor(dst=dst, data1=p, data2=q, op=nl.add)
                elif kind == "copy":
                    nisa.tensor_copy(dst=dst, src=p)
                elif kind == "scale":
                    nisa.tensor_scalar(dst=dst, data=p, op0=nl.multiply, operand0=0.5)
                elif kind == "sum":
                    nisa.activation(dst=dst, data=p, op=nl.abs)
                    nisa.tensor_reduce(dst=sums, data=dst, op=nl.add, axis=1)
                    nisa.tensor_scalar(dst=dst, data=q, op0=nl.maximum, operand0=sums)
                elif kind == "row":
                    row = nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf)
                    nisa.dma_copy(dst=row, src=x.ap(pattern=[[0, x.shape[1]], [1, WIDTH]], offset=value % 4 * WIDTH))
                    nisa.tensor_tensor(dst=dst, data1=p, data2=row[:, columns], op=nl.add)
                elif kind == "find":
                    nisa.dma_copy(dst=tiles[to], src=x.ap(pattern=[[WIDTH, x.shape[1]], [1, WIDTH]], offset=0, vector_offset=index, indirect_dim=1),
                                  oob_mode=nisa.oob_mode.skip)
                else:
                    nisa.dma_copy(dst=out[k, n], src=tiles[a])
                    n += 1
        return out

    return kernel


def model(program: List[Step], x: Any, rows: Any) -> Any:
    tiles = [np.ones(x.shape[1:], np.float32) for _ in range(TILES)]
    found = rows[:, 0] < x.shape[1]
    out = []
    for k in range(x.shape[0]):
        for kind, columns, a, b, to, value in program:
            p, q, dst = tiles[a][:, columns].copy(), tiles[b][:, columns].copy(), tiles[to][:, columns]
            if kind == "fill":
                dst[:] = value
            elif kind == "load":
                dst[:] = x[k, :, columns]
            elif kind == "add":
                dst[:] = p + q
            elif kind == "copy":
                dst[:] = p
            elif kind == "scale":
                dst[:] = p * np.float32(0.5)
            elif kind == "sum":
                sums = np.abs(p).sum(1, keepdims=True)
                dst[:] = np.maximum(np.abs(p) if b == to else q, sums)
            elif kind == "row":
                dst[:] = p + x[0][value % 4, columns]
            elif kind == "find":
                tiles[to][found] = x[0][rows[found, 0]]
            else:
                out.append(tiles[a].copy())
    return np.stack(out).reshape((x.shape[0], -1) + x.shape[1:])


class Tiles(Case):
    def test_more_than_the_machine_has(self) -> None:
        """Tiles that live one after the other, in loops, of more bytes together than the machine has: they share its memory."""
        columns, links, trips = 8000, 22, 2

        @nki.jit
        def chain(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            for k in nl.sequential_range(trips):
                a = nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=a, src=x[k])
                for n in range(links):
                    b = nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf)
                    if n % 3 == 2:
                        nisa.activation(dst=b, data=a, op=nl.abs)
                    else:
                        nisa.tensor_scalar(dst=b, data=a, op0=nl.multiply, operand0=0.5, op1=nl.subtract, operand1=float(n))
                    a = b
                nisa.dma_copy(dst=out[k], src=a)
            return out

        x = np.random.RandomState(3).standard_normal((trips, 128, columns)).astype(np.float32)
        y = x
        for n in range(links):
            y = np.abs(y) if n % 3 == 2 else y * np.float32(0.5) - np.float32(n)
        self.assertTrue((chain(x) == y).all())

    def test_in_place_of_another(self) -> None:
        """Two buffers of more than half the machine's memory: what one holds is read for the last time where the other is filled."""
        rows, columns, chunks = 8, 30000, 3

        def kernel_of(late: bool) -> Any:
            @nki.jit
            def kernel(x):
                out = nl.ndarray((chunks, rows, 1), dtype=x.dtype, buffer=nl.shared_hbm)
                chunk, power = (nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf) for _ in range(2))
                largest, total = (nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf) for _ in range(2))
                for k in range(chunks):
                    nisa.dma_copy(dst=chunk, src=x[k])
                    nisa.tensor_reduce(dst=largest, data=chunk, op=nl.maximum, axis=1)
                    nisa.tensor_scalar(dst=power, data=chunk, op0=nl.subtract, operand0=largest)
                    nisa.activation(dst=power, data=power, op=nl.exp)
                    if late:  # both live
                        nisa.tensor_tensor(dst=power, data1=power, data2=chunk, op=nl.multiply)
                    nisa.tensor_reduce(dst=total, data=power, op=nl.add, axis=1)
                    nisa.dma_copy(dst=out[k], src=total)
                return out
            return kernel

        x = np.random.RandomState(5).standard_normal((chunks, rows, columns)).astype(np.float32)
        y = x.astype(np.float64)
        self.close(kernel_of(False)(x), np.exp(y - y.max(2, keepdims=True)).sum(2, keepdims=True), 1e-5)
        with self.assertRaisesRegex(nki.NkiError, "no room in sbuf: 2 tiles live together"):
            kernel_of(True)(x)

    def test_pipelines(self) -> None:
        """A buffer that names a block for every trip, of more than the machine has: a block is filled while the one before is in use.
        One is enough where that is read before the next is filled; elsewhere two are needed, which are not found."""
        blocks, rows, columns = 12, 8, 6000

        def kernel_of(early: bool) -> Any:
            @beta1.jit
            def kernel(x):
                out = bl.ndarray(x.shape, dtype=x.dtype, buffer=bl.shared_hbm)
                sums = bl.ndarray((blocks, rows, 8), dtype=x.dtype, buffer=bl.shared_hbm)
                buffer = bl.ndarray((blocks, bl.par_dim(rows), columns), dtype=x.dtype, buffer=bl.sbuf)
                total = bl.ndarray((blocks, bl.par_dim(rows), 512), dtype=bl.float32, buffer=bl.psum)
                unit = bl.load(x[0, :, 0:rows])

                def fill(k):
                    for n in bl.affine_range(2):
                        buffer[k, :, bl.ds(n * (columns // 2), columns // 2)] = bl.load(x[k, :, bl.ds(n * (columns // 2), columns // 2)])

                def use(k):
                    for n in bl.affine_range(3):
                        total[k, :, 0:8] += bi.nc_matmul(unit, buffer[k, :, bl.ds(n * 8, 8)])
                    bl.store(sums[k], bl.copy(total[k, :, 0:8]))
                    bl.store(out[k], bl.multiply(buffer[k], 2.0))

                fill(0)
                for k in bl.affine_range(blocks - 2):
                    if early:
                        fill(k + 1)
                        use(k)
                    else:
                        use(k)
                        fill(k + 1)
                use(blocks - 2)
                fill(blocks - 1)
                use(blocks - 1)
                return out, sums
            return kernel

        x = np.random.RandomState(6).standard_normal((blocks, rows, columns)).astype(np.float32)
        y, sums = kernel_of(False)(x)
        self.assertTrue((y == 2 * x).all())
        self.close(sums, x[0, :, :rows].T @ x[:, :, :24].reshape(blocks, rows, 3, 8).sum(2), 1e-3, 1e-3)
        with self.assertRaisesRegex(beta1.NkiError, "no room|has room for"):
            kernel_of(True)(x)

    def test_written_again(self) -> None:
        for seed in range(KERNELS):
            r = np.random.RandomState(seed)
            partitions, trips = int(r.choice([4, 32, 128])), int(r.choice([1, 3]))
            program = [s for s in steps(r) if trips == 1 or s[0] != "find"]
            x, rows = r.standard_normal((trips, partitions, WIDTH)).astype(np.float32), r.randint(0, 2 * partitions, (partitions, 1)).astype(np.int32)
            with self.subTest("seed %d" % seed):
                self.close(kernel_of(program, trips)(x, rows), model(program, x, rows), 1e-4, 1e-4)


if __name__ == "__main__":
    main()
