program "" target cpu
outputs "out", "out"

slot %0 planned "buffer" f32[480] output
slot %1 planned "buffer" f32[1920] output
slot %2 input "buffer" f32[480]
slot %3 input "buffer" f32[2560]
slot %4 input "buffer" f32[15360]
slot %5 input "buffer" f32[640]
slot %6 input "buffer" i32[24]
slot %7 input "buffer" f32[480]
slot %8 input "buffer" f32[1920]

kernel 0 "test" grid(2) vars 1 semaphores 0 flops 1073741824 bytes 0 {
  pe.recurrence state=%0 f32[0](3:20, 20:1), x=%2 f32[0](4:15, 3:5, 5:1), input_weights=%3 f32[0](1:320, 5:64, 64:1), weights=%4 f32[0](2:960, 20:48, 48:1), bias=%5 f32[0](4:20, 20:1), gates=3
}

call 0 identity(%7) -> (%0)
call 1 identity(%8) -> (%1)

region 0 (%7, %8, %2, %3, %4, %5, %6) -> (%0, %1) {
  call 0 # identity
  call 1 # identity
  launch 0 # test
}
