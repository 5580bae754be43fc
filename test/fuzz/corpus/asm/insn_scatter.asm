program "indirect" target cpu
info "{}"
outputs "out"

slot %0 input "table" f32[10,6]
slot %1 input "index" i32[4,1]
slot %2 input "rows" f32[4,6]
slot %3 planned "out" f32[10,6] output

kernel 0 "indirect" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  sp.scatter dst=%3 f32[0](4:0, 6:1), src=%2 f32[0](4:6, 6:1), index=%1 i32[0](4:1, 1:1), stride=6, limit=10, combine=add
}

kernel 1 "table" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  sp.dma_copy dst=%3 f32[0](60:1), src=%0 f32[0](60:1)
}

region 0 (%0, %1, %2) -> (%3) {
  launch 1 # table
  launch 0 # indirect
}
