// digits ARCHIVE PICTURE: the digits model from Go.
package main

/*
#cgo LDFLAGS: -lxrt
#include <stdlib.h>
#include <xrt.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"unsafe"
)

func failure() error { return errors.New(C.GoString(C.xrt_error())) }

// classify runs the model on bytes of pixels in memory of C's: the runtime keeps no pointer into Go's.
func classify(archive string, pixels []byte) (int, error) {
	path := C.CString(archive)
	defer C.free(unsafe.Pointer(path))
	model := C.xrt_open(path)
	if model == nil {
		return 0, failure()
	}
	defer C.xrt_close(model)
	context := C.xrt_context_new(model, 0)
	if context == nil {
		return 0, failure()
	}
	defer C.xrt_context_free(context)

	dtype := C.CString("f32")
	defer C.free(unsafe.Pointer(dtype))
	data := C.CBytes(pixels)
	defer C.free(data)
	x := C.struct_xrt_tensor{dtype: dtype, rank: 4, data: data}
	x.dims[0], x.dims[1], x.dims[2], x.dims[3] = 1, 1, 28, 28
	var y C.struct_xrt_tensor
	if !C.xrt_set_input(context, 0, &x) || !C.xrt_run(context) || !C.xrt_output(context, 0, &y) {
		return 0, failure()
	}
	if C.GoString(y.dtype) != "f32" || y.rank != 2 || y.dims[0] != 1 {
		return 0, errors.New("the model's output is not f32[1, n]")
	}
	best, probability := 0, unsafe.Slice((*float32)(y.data), y.dims[1])
	for i, p := range probability {
		if p > probability[best] {
			best = i
		}
	}
	return best, nil
}

func main() {
	const header, size = 128, 28 * 28 * 4 // an .npy file of this size has a header of 128 bytes
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: digits ARCHIVE PICTURE")
		os.Exit(2)
	}
	picture, err := os.ReadFile(os.Args[2])
	if err == nil && len(picture) != header+size {
		err = fmt.Errorf("%s has %d bytes, expected %d", os.Args[2], len(picture), header+size)
	}
	best := 0
	if err == nil {
		best, err = classify(os.Args[1], picture[header:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("it is a %d\n", best)
}
