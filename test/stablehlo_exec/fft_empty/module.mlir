// A real transform back to no elements, from the one coefficient that it then has.
func.func @main(%x: tensor<3x1xcomplex<f32>>) -> tensor<3x0xf32> {
  %0 = stablehlo.fft %x, type = IRFFT, length = [0] : (tensor<3x1xcomplex<f32>>) -> tensor<3x0xf32>
  return %0 : tensor<3x0xf32>
}
