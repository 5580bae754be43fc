program "dropout" target cpu
info "{}"
outputs "dst"

slot %0 planned "dst" f32[4,5000] output
slot %1 input "src" f32[4,5000]
slot %2 input "probability" f32[4,1]

kernel 0 "dropout" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  dve.dropout dst=%0 f32[0](4:5000, 5000:1), src=%1 f32[0](4:5000, 5000:1), probability=%2 f32[0](4:1, 1:1), rate=0
}

region 0 (%1, %2) -> (%0) {
  launch 0 # dropout
}
