program "CausalConvWithState_dilated" target cpu
node 0 "y" "CausalConvWithState"
node 1 "y" "CausalConvWithState"
node 2 "y" "CausalConvWithState"
node 3 "y" "CausalConvWithState"
node 4 "y" "CausalConvWithState"
node 5 "y" "CausalConvWithState"
outputs "y", "s"

slot %0 input "x" f32[2,6,5]
slot %1 input "p" f32[2,6,6]
slot %2 planned f32[2,6,11]
slot %3 planned f32[2,11,6]
slot %4 const "w" f32[1,1,4,6] = {-0.526302874, -0.0921166241, -2.10783792, 0.337074727, 1.20613003, -0.793416381, 0.665786147, 0.485021561, 0.892299235, -1.40103137, -1.22244501, 0.140222356, -2.184829, -1.99274135, -0.706756115, -0.895524681, 0.212980971, 1.29952407, 2.11562753, -0.198742151, 0.730364084, 0.0438380502, -0.395999521, -1.14300025}
slot %5 planned "y (channels last)" f32[2,5,6]
slot %6 const "b" f32[1,1,6] = {1.02507353, 0.717765749, -0.545513511, 1.46583688, -0.6066733, -1.25166595}
slot %7 planned "y" f32[2,6,5] output
slot %8 planned "s" f32[2,6,6] output

kernel 0 "y" grid() vars 0 semaphores 0 flops 0 bytes 576 {
  sp.dma_copy dst=%2 f32[0](12:11, 6:1), src=%1 f32[0](12:6, 6:1) node 0
}

kernel 1 "y" grid() vars 0 semaphores 0 flops 0 bytes 480 {
  sp.dma_copy dst=%2 f32[6](12:11, 5:1), src=%0 f32[0](12:5, 5:1) node 1
}

kernel 2 "y" grid() vars 0 semaphores 0 flops 0 bytes 1056 {
  sp.dma_transpose dst=%3 f32[0](2:66, 11:6, 6:1), src=%2 f32[0](2:66, 6:11, 11:1) node 2
}

kernel 3 "y" grid(2, 1) vars 2 semaphores 0 flops 480 bytes 768 {
  dve.depthwise_conv dst=%5 f32[g0*30](5:6, 6:1), image=%3 f32[g0*66](1:66, 11:6, 6:1), weights=%4 f32[0](1:24, 4:6, 6:1), bias=%6 f32[0](6:1), row=g1*1, stride_h=1, stride_w=1, dilation_h=1, dilation_w=2, a=0, b=0, f=identity node 3
}

kernel 4 "y" grid() vars 0 semaphores 0 flops 0 bytes 480 {
  sp.dma_transpose dst=%7 f32[0](2:30, 6:5, 5:1), src=%5 f32[0](2:30, 5:6, 6:1) node 4
}

kernel 5 "y" grid() vars 0 semaphores 0 flops 0 bytes 576 {
  sp.dma_copy dst=%8 f32[0](12:6, 6:1), src=%2 f32[5](12:11, 6:1) node 5
}

region 0 (%0, %1) -> (%7, %8) {
  launch 0 # y
  launch 1 # y
  launch 2 # y
  launch 3 # y
  launch 4 # y
  launch 5 # y
}
