program "t" target cpu
node 0 "" ""
outputs "y"

slot %0 input "x0" u8[2,2]
slot %1 input "x1" i64[2,2] range 0 1
slot %2 planned u8[2,2,2] output

kernel 0 "" grid(1, 1) vars 2 semaphores 0 flops 0 bytes 16 {
  sp.dma_gather dst=%2 u8[g0*8+g1*8](min(4,4-g1*4):2, 2:1), table=%0 u8[g0*4](2:2, 2:1), index=%1 i64[g1*4](min(4,4-g1*4):1), limit=2 node 0
}

region 0 (%0, %1) -> (%2) {
  launch 0
}
