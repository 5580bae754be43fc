program "bn_stats6" target cpu
info "{}"
outputs "dst"

slot %0 planned "dst" f32[2,6] output
slot %1 input "src" f32[2,7]

kernel 0 "bn_stats6" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  dve.bn_stats6 dst=%0 f32[0](2:6, 6:1), src=%1 f32[0](2:7, 7:1)
}

region 0 (%1) -> (%0) {
  launch 0 # bn_stats6
}
