program "sequence_bounds" target cpu
info "{}"
outputs "starts", "ends"

slot %0 planned "starts" i32[1,8] output
slot %1 planned "ends" i32[1,8] output
slot %2 input "src" f32[1,8]

kernel 0 "sequence_bounds" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  pool.sequence_bounds starts=%0 i32[0](1:8, 8:1), ends=%1 i32[0](1:8, 8:1), src=%2 f32[0](1:8, 8:1)
}

region 0 (%2) -> (%0, %1) {
  launch 0 # sequence_bounds
}
