#include "frontend/foreign.h"

#include "neff/base/file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TO_ONNX_TORCH "torch.onnx.export(model, args, \"model.onnx\") in Python writes what is read"
#define TO_ONNX_TF    "python -m tf2onnx.convert "

/* First bytes at an offset; then, when given, text that must follow within the first 4096 bytes. */
static const struct {
    size_t at;
    const char *magic;
    size_t size;
    const char *within;
    const char *what, *way;
} formats[] = {
    {4, "TFL3", 4, NULL, "a TensorFlow Lite model",
     TO_ONNX_TF "--tflite FILE --output model.onnx writes what is read"},
    {0, "\x89HDF\r\n\x1a\n", 8, NULL, "an HDF5 file, as Keras writes models",
     TO_ONNX_TF "--keras FILE --output model.onnx writes what is read"},
    {0, "PK\003\004", 4, "data.pkl", "a PyTorch file", TO_ONNX_TORCH},
    {0, "PK\003\004", 4, "archive_format", "a program of torch.export (.pt2)",
     "torch.export.load(FILE) reads it, and torch.onnx.export(program, args, \"model.onnx\") "
     "writes "
     "what is read"},
    {0, "PK\003\004", 4, "serialized_exported_program", "a program of torch.export (.pt2)",
     "torch.export.load(FILE) reads it, and torch.onnx.export(program, args, \"model.onnx\") "
     "writes "
     "what is read"},
    {0, "PK\003\004", 4, "/data/weights/", "a program of torch.export (.pt2)",
     "torch.export.load(FILE) reads it, and torch.onnx.export(program, args, \"model.onnx\") "
     "writes "
     "what is read"},
    {0, "PK\003\004", 4, "config.json", "a Keras model",
     "model.export(DIR) and " TO_ONNX_TF
     "--saved-model DIR --output model.onnx write what is read"},
    {0, "PK\003\004", 4, ".npy", "arrays of NumPy (.npz), without a model", "give the model"},
    {0, "\x80\x02", 2, "torch", "a pickle of PyTorch", TO_ONNX_TORCH},
    {0, "\x93NUMPY", 6, NULL, "an array of NumPy (.npy), without a model", "give the model"},
    {0, "\x80\x04\x95", 3, NULL, "a Python pickle", "export the model from its framework"},
    {0, "{ lambda", 8, NULL, "a jaxpr, which is for reading",
     "jax.export.export(jax.jit(f))(*args).serialize() in Python makes what is read"},
    {0, "{ \033[", 4, "lambda", "a jaxpr, which is for reading",
     "jax.export.export(jax.jit(f))(*args).serialize() in Python makes what is read"},
    {0, "let ", 4, "{ lambda", "a jaxpr, which is for reading",
     "jax.export.export(jax.jit(f))(*args).serialize() in Python makes what is read"},
    {0, "1CCX", 4, NULL, "a compiled archive", "xrun runs it, xdump prints it"},
    {0, "GGUF", 4, NULL, "weights of llama.cpp (GGUF), without a graph",
     "export the model from its framework"},
    {8, "{\"", 2, "dtype", "weights (.safetensors), without a graph",
     "export the model from its framework"},
    {0, "<?xml", 5, "<net", "an OpenVINO model", "export the model from its framework to ONNX"},
    {0, "PK\003\004", 4, "Manifest.json", "a Core ML package",
     "export the model from its framework to ONNX"},
    {4, "ET12", 4, NULL, "a program of ExecuTorch (.pte)", TO_ONNX_TORCH},
    {0, "ftrt", 4, NULL, "an engine of TensorRT", "give the model that it was built from"},
    {0, "CBM1", 4, NULL, "a CatBoost model",
     "model.save_model(\"model.onnx\", format=\"onnx\") in Python writes what is read"},
    {0, "tree\n", 5, "num_class", "a LightGBM model",
     "onnxmltools.convert_lightgbm in Python makes what is read"},
    {0, "{\"learner\"", 10, NULL, "an XGBoost model",
     "onnxmltools.convert_xgboost in Python makes what is read"},
    {0, "{L", 2, "learner", "an XGBoost model",
     "onnxmltools.convert_xgboost in Python makes what is read"},
    {0, "node {", 6, NULL, "a graph of TensorFlow as text",
     TO_ONNX_TF "--graphdef FILE --output model.onnx writes what is read"},
    {0, "name:", 5, "layer {", "a network of Caffe", "export it to ONNX"},
    {0, "; ModuleID", 10, NULL, "LLVM's intermediate code", "give the model before it was lowered"},
    {0, "version https://git-lfs", 23, NULL, "a pointer of Git LFS, without the file that it names",
     "git lfs pull brings the file"},
    {0, "<!DOCTYPE", 9, NULL, "a web page", "download the model's file itself"},
    {0, "<html", 5, NULL, "a web page", "download the model's file itself"},
    {0, "\x89PNG", 4, NULL, "an image (.png)", "give the model; xrun takes inputs"},
    {0, "\xff\xd8\xff", 3, NULL, "an image (.jpg)", "give the model; xrun takes inputs"},
    {0, "\x7f" "ELF", 4, NULL, "a program or a library", "give the model"},
    {0, "PK\003\004", 4, NULL, "a zip archive in which no model is recognised",
     "unpack it and give the model"},
};

static bool has(const uint8_t *p, size_t n, const char *text)
{
    size_t m = strlen(text);
    for (size_t k = 0; k + m <= n; k++)
        if (p[k] == (uint8_t)*text && !memcmp(p + k, text, m))
            return true;
    return false;
}

static bool is_core_ml(const char *path)
{
    return name_ends_with(path, ".mlmodel") || name_ends_with(path, ".mlpackage");
}

static bool is_saved_model(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return !strcmp(name, "saved_model.pb") || !strcmp(name, "saved_model.pbtxt");
}

bool foreign_check(const char *path, const uint8_t *data, size_t size, struct diag *d)
{
    size_t near = size < 4096 ? size : 4096;
    if (!size)
        return fail(d, "the file is empty, expected a model: ONNX, StableHLO, HLO, or a graph as "
                       "text (.xir)");
    if (is_saved_model(path))
        return fail(d, "this is part of a TensorFlow SavedModel; " TO_ONNX_TF
                       "--saved-model DIR --output model.onnx writes what is read");
    if (is_core_ml(path))
        return fail(d, "this is a Core ML model; export the model from its framework to ONNX");
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        if (size < formats[k].at + formats[k].size ||
            memcmp(data + formats[k].at, formats[k].magic, formats[k].size) ||
            (formats[k].within && !has(data, near, formats[k].within)))
            continue;
        return fail(d, "this is %s; %s", formats[k].what, formats[k].way);
    }
    return true;
}

bool foreign_check_text(const uint8_t *data, size_t size, struct diag *d)
{
    size_t near = size < 4096 ? size : 4096;
    if (size > 4 && !data[2] && !data[3] && has(data, near, "StableHLO_v"))
        return fail(d, "this is a file of jax.export, damaged or truncated; write what serialize() "
                       "gives to a file once more");
    for (size_t k = 0; k < near; k++)
        if (data[k] < ' ' && !strchr("\t\n\r", data[k] ? data[k] : 1))
            return true;
    return fail(d,
                "this is text, but neither StableHLO nor HLO; ONNX is binary, a graph as text has "
                "the suffix .xir, assembly .xasm");
}

bool foreign_check_folder(const char *path, struct diag *d)
{
    char inside[4200];
    struct stat s;
    if (stat(path, &s) || !S_ISDIR(s.st_mode))
        return true;
    if (is_core_ml(path))
        return fail(d, "this is a Core ML package; export the model from its framework to ONNX");
    snprintf(inside, sizeof inside, "%.4000s/saved_model.pb", path);
    if (access(inside, F_OK) == 0)
        return fail(d,
                    "this is a TensorFlow SavedModel; " TO_ONNX_TF
                    "--saved-model %.200s --output model.onnx writes what is read",
                    path);
    return true; /* whoever opens it says that it is not a file */
}
