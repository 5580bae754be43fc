// What a call is to do stands at the end of a configuration of more than 400 characters.
module {
  func.func public @main(%a: tensor<3x3xf32>) -> tensor<3x3xf32> {
    %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {
      note = "a configuration may be long a configuration may be long a configuration may be long a configuration may be long a configuration may be long a configuration may be long a configuration may be long a configuration may be long a configuration may be long a configuration may be long a configuration may be long a configuration may be long a configuration may be long a configuration may be long a configuration may be long a configuration may be long",
      uplo = 85 : ui8}} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>)
    return %0#0 : tensor<3x3xf32>
  }
}
