// A sparse matrix by rows, as JAX's BCSR has it on the CPU, times a matrix and a vector: an empty row, one with a column twice, and
// values after the last row, which count for nothing.
func.func @main(%v: tensor<7xf32>, %begins: tensor<5xi32>, %columns: tensor<7xi32>, %y: tensor<3x2xf32>, %n: tensor<3xi64>) -> (tensor<4x2xf32>, tensor<4xi64>) {
  %0 = stablehlo.custom_call @cpu_csr_sparse_dense_ffi(%v, %begins, %columns, %y) {backend_config = "", mhlo.backend_config = {}} : (tensor<7xf32>, tensor<5xi32>, tensor<7xi32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %1 = stablehlo.convert %v : (tensor<7xf32>) -> tensor<7xi64>
  %2 = stablehlo.convert %begins : (tensor<5xi32>) -> tensor<5xi64>
  %3 = stablehlo.convert %columns : (tensor<7xi32>) -> tensor<7xi64>
  %4 = stablehlo.custom_call @cpu_csr_sparse_dense_ffi(%1, %2, %3, %n) {api_version = 4 : i32, backend_config = {}} : (tensor<7xi64>, tensor<5xi64>, tensor<7xi64>, tensor<3xi64>) -> tensor<4xi64>
  return %0, %4 : tensor<4x2xf32>, tensor<4xi64>
}
