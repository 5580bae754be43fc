program "max8" target cpu
info "{}"
outputs "dst"

slot %0 planned "dst" f32[2,8] output
slot %1 input "src" f32[2,16]

kernel 0 "max8" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  dve.max8 dst=%0 f32[0](2:8, 8:1), src=%1 f32[0](2:16, 16:1)
}

region 0 (%1) -> (%0) {
  launch 0 # max8
}
