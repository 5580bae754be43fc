#!/usr/bin/env python3
"""Train the digit classifier digits.onnx on digits drawn from fonts, measure it, write examples.

Needs numpy, Pillow and onnx (Debian: python3-numpy python3-pil python3-onnx) and the fonts that
README.md beside this file lists. Fonts whose file name matches HELD_OUT are never trained on;
accuracy is measured on them and the example inputs are drawn from them.

    train.py --fonts DIR            train, write digits.onnx, digit_N.npy, expected.txt; measure
    train.py --fonts DIR --measure  measure the digits.onnx that is there
"""
import argparse
import os
import re
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, ImageDraw, ImageFilter, ImageFont

HERE = os.path.dirname(os.path.abspath(__file__))
SIDE = 28
CHANNELS = (12, 24)
SEED = 20240607

# Families by file name: other designers' work, no siblings among the training fonts.
HELD_OUT = re.compile(
    r"^(Caladea|PT[A-Z_ -]|PTF|Lin(Libertine|Biolinum)|Quattrocento|Inter-|Anonymous|ClearSans|"
    r"NationalPark|Averia)", re.I)
# No digits in the usual shapes: symbols, keyboard caps, outlines.
UNFIT = re.compile(
    r"D050000L|Symbol|Dingbat|Ornament|Initial|_K[BR]?\.|Keyboard|Math|Emoji|Slanted_O|Outline", re.I)
EXAMPLES = {  # digit: font (a prefix of its file name); one per family
    0: "Caladea-Regular", 1: "PTS55F", 2: "Caladea-Bold", 3: "LinLibertine_R.", 4: "PTF55F",
    5: "ClearSans-Regular", 6: "Quattrocento-Regular", 7: "Caladea-Regular", 8: "PTM55F",
    9: "Inter-Regular"}


def find_fonts(folders):
    """Font files that draw ten different digits, sorted by name; each name once."""
    found = {}
    for folder in folders:
        for root, _, files in os.walk(folder):
            for name in files:
                if name.lower().endswith((".ttf", ".otf")) and not UNFIT.search(name):
                    found.setdefault(name, os.path.join(root, name))
    good = []
    for name in sorted(found):
        try:
            font = ImageFont.truetype(found[name], 32)
            shapes = {bytes(font.getmask(d)) for d in "0123456789"}
        except (OSError, ValueError):
            continue
        if len(shapes) == 10 and all(len(s) for s in shapes):
            good.append(found[name])
    return good


def draw(path, digit, rng, strength=1.0):
    """One 28 x 28 picture, ink 1 on ground 0, with random placement, slant, blur and noise."""
    scale = 4
    font = ImageFont.truetype(path, 20 * scale)
    left, top, right, bottom = font.getbbox(str(digit))
    width, height = max(right - left, 1), max(bottom - top, 1)
    big = Image.new("L", (SIDE * scale * 2, SIDE * scale * 2))
    middle = SIDE * scale
    ImageDraw.Draw(big).text(
        (middle - left - width / 2, middle - top - height / 2), str(digit), font=font, fill=255)

    def spread(limit):
        return strength * rng.uniform(-limit, limit)

    target = (19 + spread(3.5)) * scale
    zoom_y = height / target
    zoom_x = max(zoom_y, width / (22.0 * scale)) * (1 + spread(0.15))
    angle, shear = np.deg2rad(spread(12)), spread(0.2)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    matrix = np.diag([zoom_x, zoom_y]) @ np.array([[1, shear], [0, 1]]) @ turn
    centre = np.array([SIDE * scale / 2 + spread(2.5) * scale, SIDE * scale / 2 + spread(2.5) * scale])
    shift = np.array([middle, middle]) - matrix @ centre
    picture = big.transform(
        (SIDE * scale, SIDE * scale), Image.AFFINE,
        (*matrix[0], shift[0], *matrix[1], shift[1]), Image.BILINEAR)
    if rng.random() < 0.5:
        picture = picture.filter(ImageFilter.GaussianBlur(strength * rng.uniform(0, 1.0) * scale))
    pixels = np.asarray(picture.resize((SIDE, SIDE), Image.BOX), np.float32) / 255
    pixels = pixels * (1 - strength * rng.uniform(0, 0.4)) + strength * rng.uniform(0, 0.15)
    pixels = pixels + strength * rng.uniform(0, 0.15) * rng.standard_normal(pixels.shape)
    return np.clip(pixels, 0, 1).astype(np.float32)


def make_set(fonts, variants, rng):
    images = np.empty((len(fonts) * 10 * variants, SIDE, SIDE, 1), np.float32)
    labels = np.empty(len(images), np.int64)
    at = 0
    for path in fonts:
        for digit in range(10):
            for _ in range(variants):
                images[at, :, :, 0], labels[at] = draw(path, digit, rng), digit
                at += 1
    return images, labels


# --- the network: [conv 3x3, batch norm, relu, max pool 2x2] twice, gemm, softmax; channels last ---

def patches(x):
    b, h, w, c = x.shape
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    return windows.reshape(b * h * w, c * 9)


def patches_back(g, shape):
    b, h, w, c = shape
    g = g.reshape(b, h, w, c, 3, 3)
    out = np.zeros((b, h + 2, w + 2, c), np.float32)
    for i in range(3):
        for k in range(3):
            out[:, i:i + h, k:k + w] += g[..., i, k]
    return out[:, 1:-1, 1:-1]


def forward(p, x, statistics=None):
    """Logits, and what backward needs. Batch statistics are used unless `statistics` are given."""
    kept = []
    for layer in (1, 2):
        b, h, w, _ = x.shape
        columns = patches(x)
        y = columns @ p[f"conv{layer}"]
        mean, var = statistics[layer] if statistics else (y.mean(0), y.var(0))
        inverse = 1 / np.sqrt(var + 1e-5)
        normal = (y - mean) * inverse
        z = np.maximum(normal * p[f"gamma{layer}"] + p[f"beta{layer}"], 0)
        c = z.shape[1]
        blocks = z.reshape(b, h // 2, 2, w // 2, 2, c)
        pooled = blocks.max((2, 4))
        kept.append((x.shape, columns, normal, inverse, blocks, pooled, mean, var))
        x = pooled
    flat = x.reshape(len(x), -1)
    return flat @ p["fc"] + p["bias"], (kept, flat)


def backward(p, g, memory):
    kept, flat = memory
    grad = {"fc": flat.T @ g, "bias": g.sum(0)}
    g = g @ p["fc"].T
    for layer in (2, 1):
        shape, columns, normal, inverse, blocks, pooled, _, _ = kept[layer - 1]
        chosen = (blocks == pooled[:, :, None, :, None]) & (blocks > 0)
        gz = (chosen * g.reshape(pooled.shape)[:, :, None, :, None]).reshape(normal.shape)
        grad[f"gamma{layer}"], grad[f"beta{layer}"] = (gz * normal).sum(0), gz.sum(0)
        n = len(normal)
        gy = p[f"gamma{layer}"] * inverse * (
            gz - grad[f"beta{layer}"] / n - normal * (grad[f"gamma{layer}"] / n))
        grad[f"conv{layer}"] = columns.T @ gy
        if layer == 2:
            g = patches_back(gy @ p["conv2"].T, shape)
    return grad


def train(images, labels, epochs, rng):
    c1, c2 = CHANNELS
    flat = c2 * (SIDE // 4) ** 2
    p = {
        "conv1": rng.standard_normal((9, c1)) * np.sqrt(2 / 9),
        "conv2": rng.standard_normal((9 * c1, c2)) * np.sqrt(2 / (9 * c1)),
        "fc": rng.standard_normal((flat, 10)) * np.sqrt(1 / flat), "bias": np.zeros(10),
        "gamma1": np.ones(c1), "beta1": np.zeros(c1), "gamma2": np.ones(c2), "beta2": np.zeros(c2)}
    p = {k: v.astype(np.float32) for k, v in p.items()}
    first = {k: np.zeros_like(v) for k, v in p.items()}
    second = {k: np.zeros_like(v) for k, v in p.items()}
    batch, step = 100, 0
    steps = epochs * (len(images) // batch)
    for epoch in range(epochs):
        order, total = rng.permutation(len(images)), 0.0
        for at in range(0, len(images) - batch + 1, batch):
            take = order[at:at + batch]
            logits, memory = forward(p, images[take])
            e = np.exp(logits - logits.max(1, keepdims=True))
            e /= e.sum(1, keepdims=True)
            total -= np.log(e[np.arange(batch), labels[take]] + 1e-12).sum()
            e[np.arange(batch), labels[take]] -= 1
            grad = backward(p, e / batch, memory)
            step += 1
            rate = 0.003 * 0.5 * (1 + np.cos(np.pi * step / steps))
            for k in p:  # Adam, with decay of the weights
                gk = grad[k] + (1e-4 * p[k] if p[k].ndim == 2 else 0)
                first[k] = 0.9 * first[k] + 0.1 * gk
                second[k] = 0.999 * second[k] + 0.001 * gk * gk
                a = first[k] / (1 - 0.9 ** step)
                p[k] -= (rate * a / (np.sqrt(second[k] / (1 - 0.999 ** step)) + 1e-8)).astype(np.float32)
        print(f"epoch {epoch + 1}: loss {total / len(images):.4f}", flush=True)
    # Statistics for inference: those of the training set itself.
    _, (kept, _) = forward(p, images[rng.permutation(len(images))[:4000]])
    return p, {layer: kept[layer - 1][6:8] for layer in (1, 2)}


def export(p, statistics, path):
    c1, c2 = CHANNELS
    weights, nodes, value = [], [], "image"

    def weight(name, array):
        weights.append(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name))
        return name

    for layer, c_in, c_out in ((1, 1, c1), (2, c1, c2)):
        w = p[f"conv{layer}"].T.reshape(c_out, c_in, 3, 3)
        mean, var = statistics[layer]
        nodes.append(helper.make_node(
            "Conv", [value, weight(f"conv{layer}.weight", w)], [f"conv{layer}"], f"/conv{layer}",
            kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1]))
        nodes.append(helper.make_node(
            "BatchNormalization",
            [f"conv{layer}", weight(f"bn{layer}.weight", p[f"gamma{layer}"]),
             weight(f"bn{layer}.bias", p[f"beta{layer}"]), weight(f"bn{layer}.running_mean", mean),
             weight(f"bn{layer}.running_var", var)],
            [f"bn{layer}"], f"/bn{layer}", epsilon=1e-5))
        nodes.append(helper.make_node("Relu", [f"bn{layer}"], [f"relu{layer}"], f"/relu{layer}"))
        nodes.append(helper.make_node(
            "MaxPool", [f"relu{layer}"], [f"pool{layer}"], f"/pool{layer}",
            kernel_shape=[2, 2], strides=[2, 2]))
        value = f"pool{layer}"
    side = SIDE // 4
    fc = p["fc"].reshape(side, side, c2, 10).transpose(3, 2, 0, 1).reshape(10, -1)
    nodes.append(helper.make_node("Flatten", [value], ["flat"], "/flatten", axis=1))
    nodes.append(helper.make_node(
        "Gemm", ["flat", weight("fc.weight", fc), weight("fc.bias", p["bias"])], ["logits"], "/fc",
        transB=1))
    nodes.append(helper.make_node("Softmax", ["logits"], ["probabilities"], "/softmax", axis=1))
    graph = helper.make_graph(
        nodes, "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, SIDE, SIDE])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 10])], weights)
    model = helper.make_model(
        graph, producer_name="models/digits/train.py",
        opset_imports=[helper.make_operatorsetid("", 13)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)


def load(path):
    w = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    c1, c2 = CHANNELS
    side = SIDE // 4
    p = {"fc": w["fc.weight"].reshape(10, c2, side, side).transpose(2, 3, 1, 0).reshape(-1, 10),
         "bias": w["fc.bias"]}
    statistics = {}
    for layer in (1, 2):
        p[f"conv{layer}"] = w[f"conv{layer}.weight"].reshape(CHANNELS[layer - 1], -1).T
        p[f"gamma{layer}"], p[f"beta{layer}"] = w[f"bn{layer}.weight"], w[f"bn{layer}.bias"]
        statistics[layer] = w[f"bn{layer}.running_mean"], w[f"bn{layer}.running_var"]
    return p, statistics


def accuracy(p, statistics, images, labels):
    right = 0
    for at in range(0, len(images), 500):
        logits, _ = forward(p, images[at:at + 500], statistics)
        right += int((logits.argmax(1) == labels[at:at + 500]).sum())
    return right / len(images)


def measure(path, fonts, rng):
    p, statistics = load(path)
    images, labels = make_set(fonts, 10, rng)
    score = accuracy(p, statistics, images, labels)
    print(f"{len(fonts)} held-out fonts, {len(images)} pictures: accuracy {100 * score:.2f} %")
    for k, font in enumerate(fonts):
        mine = slice(k * 100, k * 100 + 100)
        part = accuracy(p, statistics, images[mine], labels[mine])
        if part < 0.95:
            print(f"  {os.path.basename(font)}: {100 * part:.0f} %")


def write_examples(fonts, rng):
    lines, art = [], []
    for digit, prefix in EXAMPLES.items():
        path = next((f for f in fonts if os.path.basename(f).startswith(prefix)), None)
        if path is None:
            sys.exit(f"no held-out font starts with {prefix}: see README.md for the fonts to install")
        image = draw(path, digit, rng, 0.7)
        name = f"digit_{digit}.npy"
        np.save(os.path.join(HERE, name), image.reshape(1, 1, SIDE, SIDE))
        lines.append(f"{name} {digit}")
        rows = ["".join(" .:-=+*#%@"[min(int(v * 10), 9)] for v in row).rstrip() for row in image]
        art.append(f"\n{name}, drawn from {os.path.basename(path)}:\n" + "\n".join(rows))
    with open(os.path.join(HERE, "expected.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")
    with open(os.path.join(HERE, "pictures.txt"), "w") as f:
        f.write("The example inputs as text." + "\n".join(art) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fonts", action="append", default=None, metavar="DIR",
                        help="folder searched for .ttf and .otf (default /usr/share/fonts)")
    parser.add_argument("--variants", type=int, default=12, help="pictures per font and digit")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--measure", action="store_true", help="measure only")
    options = parser.parse_args()
    fonts = find_fonts(options.fonts or ["/usr/share/fonts"])
    held_out = [f for f in fonts if HELD_OUT.search(os.path.basename(f))]
    known = [f for f in fonts if not HELD_OUT.search(os.path.basename(f))]
    print(f"{len(known)} fonts to train on, {len(held_out)} held out", flush=True)
    path = os.path.join(HERE, "digits.onnx")
    if not options.measure:
        rng = np.random.default_rng(SEED)
        images, labels = make_set(known, options.variants, rng)
        print(f"{len(images)} pictures drawn", flush=True)
        export(*train(images, labels, options.epochs, rng), path)
        write_examples(held_out, np.random.default_rng(SEED + 1))
    measure(path, held_out, np.random.default_rng(SEED + 2))


if __name__ == "__main__":
    main()
