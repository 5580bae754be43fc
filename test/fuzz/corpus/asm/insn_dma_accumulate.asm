program "sum" target cpu
info "{}"
outputs "y"

slot %0 input "x" f32[64,4096]
slot %1 input "sum" f32[4096]
slot %2 planned "y" f32[4096] output

kernel 0 "sum" grid(64) vars 1 semaphores 0 flops 0 bytes 0 {
  sp.dma_accumulate dst=%2 f32[0](4096:1), src=%0 f32[g0*4096](4096:1), op=add
}

kernel 1 "sum" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  sp.dma_copy dst=%2 f32[0](4096:1), src=%1 f32[0](4096:1)
}

region 0 (%0, %1) -> (%2) {
  launch 1 # sum
  launch 0 # sum
}
