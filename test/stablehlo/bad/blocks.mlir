// expect: control flow between blocks
func.func @main(%arg0: tensor<f32>) -> tensor<f32> {
  "cf.br"() : () -> ()
^bb1:
  return %arg0 : tensor<f32>
}
