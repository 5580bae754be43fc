// Quantized arithmetic per array and per axis.
func.func @main(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xi8>) {
  %0 = stablehlo.uniform_quantize %x : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5:3>>
  %1 = stablehlo.add %0, %0 : (tensor<2x2x!quant.uniform<i8:f32, 0.5:3>>, tensor<2x2x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x2x!quant.uniform<i8:f32, 1.0:-5>>
  %2 = stablehlo.uniform_dequantize %1 : (tensor<2x2x!quant.uniform<i8:f32, 1.0:-5>>) -> tensor<2x2xf32>
  %3 = stablehlo.uniform_quantize %x : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5,0.25:1}>>
  %4 = stablehlo.bitcast_convert %3 : (tensor<2x2x!quant.uniform<i8:f32:1, {0.5,0.25:1}>>) -> tensor<2x2xi8>
  return %2, %4 : tensor<2x2xf32>, tensor<2x2xi8>
}
