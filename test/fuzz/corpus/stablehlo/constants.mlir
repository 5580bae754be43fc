// Elements of constants: nested, splat, hexadecimal, packed bits, complex, resources; attributes.
func.func @main() -> (tensor<f32>, tensor<2xcomplex<f32>>) attributes {some.unit, some.dict = {a = 1 : i8, "b c" = [true, @f::@g, "text\22\0A"]}} {
  %0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
  %1 = stablehlo.constant dense<[(1.0, -2.0), (0x7F800000, 0.5)]> : tensor<2xcomplex<f32>>
  %2 = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
  %3 = stablehlo.constant dense<"0x05"> : tensor<3xi1>
  %4 = stablehlo.constant dense<-7> : tensor<2x2xi4>
  %5 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  %6 = stablehlo.constant dense<> : tensor<0x3xi32>
  %7 = stablehlo.constant dense_resource<weights> : tensor<2xf32>
  %8 = stablehlo.constant dense<[1.5, -3.0]> : tensor<2xf8E4M3FN>
  %9 = stablehlo.constant dense<[3, -4]> : tensor<2xi8>
  %10 = stablehlo.bitcast_convert %9 : (tensor<2xi8>) -> tensor<2x!quant.uniform<i8<-127:127>:f32:0, {0.1:-30,0.5}>>
  %11 = stablehlo.uniform_dequantize %10 : (tensor<2x!quant.uniform<i8<-127:127>:f32:0, {0.1:-30,0.5}>>) -> tensor<2xf32>
  return %0, %1 : tensor<f32>, tensor<2xcomplex<f32>>
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F00000040"
    }
  }
#-}
