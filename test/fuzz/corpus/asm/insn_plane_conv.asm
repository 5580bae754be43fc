program "planes" target cpu
node 0 "" ""
node 1 "" ""
outputs "a", "b"

slot %0 input "x" f32[2,4,9,7]
slot %1 input "s" f32[1,1,40]
slot %2 planned f32[2,6,5,6] output
slot %3 const f32[6,2,3,2] = ...
slot %4 const f32[6,1,1] = {1, 2, 3, 4, 5, 6}
slot %5 planned f32[1,1,13] output
slot %6 const f32[1,1,4] = {1, -1, 2, 0.5}

kernel 0 "" grid(2, 2, 1, 1) vars 4 semaphores 0 flops 8640 bytes 3456 {
  dve.plane_conv dst=%2 f32[g0*180+g1*90+g2*30+g3*6](min(3,6-g1*3):30, min(5,5-g2*5):6, min(6,6-g3*6):1), image=%0 f32[g0*252+g1*126](min(2,4-g1*2):63, 9:7, 7:1), weights=%3 f32[g1*36](min(3,6-g1*3):12, 2:6, 3:2, 2:1), bias=%4 f32[g1*3](min(3,6-g1*3):1), row=g2*5, column=g3*6, results=3, stride_h=2, stride_w=1, dilation_h=1, dilation_w=2, pad_h=1, a=0, b=0, f=sigmoid node 0
}

kernel 1 "" grid(1, 1, 1, 1) vars 4 semaphores 0 flops 104 bytes 212 {
  dve.plane_conv dst=%5 f32[g3*13](min(1,1-g1*1):0, 1:1, min(13,13-g3*13):1), image=%1 f32[g0*40+g1*40](min(1,1-g1*1):40, 1:40, 40:1), weights=%6 f32[g1*4](min(1,1-g1*1):4, 1:4, 1:4, 4:1), row=g2*1, column=g3*13, results=1, stride_h=1, stride_w=3, dilation_h=1, dilation_w=1, pad_w=1, a=0, b=0, f=identity node 1
}

region 0 (%0, %1) -> (%2, %5) {
  launch 0
  launch 1
}
