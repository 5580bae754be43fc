program "affine_predicate" target cpu
info "{}"
outputs "dst"

slot %0 planned "dst" f32[5,9] output
slot %1 input "src" f32[5,9]

kernel 0 "affine_predicate" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  pool.affine_predicate dst=%0 f32[0](5:9, 9:1), src=%1 f32[0](5:9, 9:1), base=-3, step4=2, step5=-1, fill=-9984, compare=ge
}

region 0 (%1) -> (%0) {
  launch 0 # affine_predicate
}
