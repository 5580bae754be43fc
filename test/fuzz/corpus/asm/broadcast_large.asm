program "b" target cpu
node 0 "y" ""
outputs "y"
slot %0 input "x" u8[16]
slot %1 planned "y" f32[16] output
kernel 0 "k" grid(4) vars 1 semaphores 0 flops 0 bytes 0 {
  dve.memset dst=%1 f32[0](1000000000:0, 1000000000:0, 1000000000:0, 16:1), value=1 node 0
  sp.dma_copy dst=%1 f32[0](1000000000:0, 1000000000:0, 16:1), src=%0 u8[0](1000000000:0, 1000000000:0, 16:1) node 0
}
region 0 (%0) -> (%1) {
  launch 0
}
