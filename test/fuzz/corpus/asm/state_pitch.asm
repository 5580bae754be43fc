program "g" target cpu
info "{}"
symbol "p"
dim sym 0 # $0
dim pitch 100000 0
dim add $0 1
node 0 "" ""
outputs "y", "leak"

slot %0 input "x" f32[p,8]
slot %1 planned f32[p+1,8] output
slot %2 planned f32[64] output
state %0 %1 axis 0 100000 100000

kernel 0 "read" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  sp.dma_copy dst=%2 f32[0](64:1), src=%0 f32[5000](64:1) node 0
}

region 0 (%0) -> (%1, %2) {
  launch 0
}
