program "bn_aggr" target cpu
info "{}"
outputs "dst"

slot %0 planned "dst" f32[2,2] output
slot %1 input "src" f32[2,6]

kernel 0 "bn_aggr" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  dve.bn_aggr dst=%0 f32[0](2:2, 2:1), src=%1 f32[0](2:6, 6:1)
}

region 0 (%1) -> (%0) {
  launch 0 # bn_aggr
}
