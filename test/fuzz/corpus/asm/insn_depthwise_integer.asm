program "g" target cpu
node 0 "y" "QLinearConv"
node 1 "y" "QLinearConv"
node 2 "y" "QLinearConv"
outputs "y"

slot %0 input "x" u8[1,4,8,8]
slot %1 planned u8[1,8,8,4]
slot %2 const "bias" i32[1,4] = {60, -48, -3, 27}
slot %3 const "terms" i32[3,4] = {60, -48, -3, 27, 1028443342, 1028443342, 1028443342, 1028443342, -2147483648, -2147483648, -2147483648, -2147483648}
slot %4 const "w" i8[3,1,4,4] = {3, -3, -5, 0, 3, 0, 2, 0, 0, 3, -2, 0, -5, 3, 3, 0, 1, -2, -5, 0, 1, 1, 1, 0, 4, 1, 3, 0, 2, -4, -5, 0, 0, -5, -4, 0, 4, 4, 0, 0, -3, -5, 0, 0, 2, -5, 0, 0}
slot %5 planned "y (channels last)" u8[1,8,8,4]
slot %6 planned "y" u8[1,4,8,8] output

kernel 0 "y" grid() vars 0 semaphores 0 flops 0 bytes 512 {
  sp.dma_transpose dst=%1 u8[0](64:4, 4:1), src=%0 u8[0](4:64, 64:1) node 0
}

kernel 1 "y" grid(1, 8) vars 2 semaphores 0 flops 4608 bytes 512 {
  dve.depthwise_integer dst=%5 u8[g1*32](8:4, 4:1), image=%1 u8[g0*256](8:32, 8:4, 4:1), weights=%4 i8[0](3:16, 1:16, 4:4, 4:1), terms=%3 i32[0](3:4, 4:1), row=g1*1, kernel_h=3, kernel_w=3, stride_h=1, stride_w=1, dilation_h=1, dilation_w=1, pad_h=1, pad_w=1, outside=3, zero=7 node 1
}

kernel 2 "y" grid() vars 0 semaphores 0 flops 0 bytes 512 {
  sp.dma_transpose dst=%6 u8[0](4:64, 64:1), src=%5 u8[0](64:4, 4:1) node 2
}

region 0 (%0) -> (%6) {
  launch 0 # y
  launch 1 # y
  launch 2 # y
}
