program "local_gather" target cpu
info "{}"
outputs "dst"

slot %0 planned "dst" f32[32,40] output
slot %1 input "src" f32[32,12]
slot %2 input "index" u16[32,2]

kernel 0 "local_gather" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  pool.local_gather dst=%0 f32[0](32:40, 40:1), src=%1 f32[0](32:12, 12:1), index=%2 u16[0](32:2, 2:1), elements=2, valid=20
}

region 0 (%1, %2) -> (%0) {
  launch 0 # local_gather
}
