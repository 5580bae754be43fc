program "t" target cpu
node 0 "" ""
outputs "y"

slot %0 input "x0" f32[2,2]
slot %1 planned f32[2,2] output

kernel 0 "" grid(1) vars 1 semaphores 0 flops 84 bytes 32 {
  act.softmax dst=%1 f32[g0*4](min(2,2-g0*2):2, 2:1), src=%0 f32[g0*4](min(2,2-g0*2):2, 2:1), factor=1 node 0
}

region 0 (%0) -> (%1) {
  launch 0
}
