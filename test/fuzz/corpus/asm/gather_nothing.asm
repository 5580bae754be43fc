program "g" target cpu
node 0 "y" ""
outputs "y"
slot %0 input "x" f32[4]
slot %1 const "i" i32[4] = {0, 1, 2, 3}
slot %2 planned "y" f32[4] output
kernel 0 "k" grid(2) vars 1 semaphores 0 flops 0 bytes 0 {
  sp.gather dst=%2 f32[0](4:1), src=%0 f32[0](4:0), index=%1 i32[0](min(4,-3-g0*4):1), stride=1, limit=4, skip=0 node 0
}
region 0 (%0) -> (%2) {
  launch 0
}
