// The exponential and the logistic function of complex numbers whose imaginary part is no number or infinite.
func.func @main(%x: tensor<9xcomplex<f32>>) -> (tensor<9xcomplex<f32>>, tensor<9xcomplex<f32>>) {
  %0 = stablehlo.exponential %x : tensor<9xcomplex<f32>>
  %1 = stablehlo.logistic %x : tensor<9xcomplex<f32>>
  return %0, %1 : tensor<9xcomplex<f32>>, tensor<9xcomplex<f32>>
}
