program "g" target cpu
symbol "n"
dim sym 0 # $0
dim mul $0 128 # $1
dim ceildiv $0 128 # $2
dim mul $0 8 # $3
dim mul $0 512 # $4
dim mul $0 1024 # $5
dim ceildiv $1 4096 # $6
dim mul $0 64 # $7
dim mul $0 48 # $8
dim mul $0 16 # $9
dim mul $0 1728 # $10
dim mul $0 320 # $11
dim add $11 576 # $12
dim mul $0 27 # $13
dim mul $0 3 # $14
dim mul $0 9 # $15
dim mul $0 108 # $16
dim mul $0 4 # $17
dim mul $0 75 # $18
dim mul $0 300 # $19
dim ceildiv $0 606 # $20
dim mul $0 24 # $21
dim mul $0 216 # $22
dim ceildiv $13 4096 # $23
dim ceildiv $0 64 # $24
dim mul $0 124 # $25
dim add $25 896 # $26
node 0 "a" "Conv"
node 1 "a" "Conv"
node 2 "a" "Conv"
node 3 "a" "Conv"
node 4 "a" "Conv"
node 5 "p" "MaxPool"
node 6 "p" "MaxPool"
node 7 "y" "Gemm"
node 8 "y" "Gemm"
outputs "y"

slot %0 input "x" f32[n,2,8,8]
slot %1 planned f32[n,8,8,2]
slot %2 planned bf16[n,8,8,2]
slot %3 const "w" bf16[288] = ...
slot %4 planned bf16[n,10,10,2]
slot %5 const "b" f32[1,1,1,3] = {1, 1, 1}
slot %6 planned "r (channels last)" f32[n,4,4,3]
slot %7 planned "p (channels last)" f32[n,3,3,3]
slot %8 planned "p" f32[n,3,3,3]
slot %9 view "f" f32[n,27] of %8 + 0
slot %10 planned "f" bf16[n,27]
slot %11 const "g" bf16[448] = ...
slot %12 planned "y" f32[n,4] output

kernel 0 "a" grid((ceildiv(n,128))) vars 1 semaphores 0 flops 0 bytes (n*1024) {
  sp.dma_transpose dst=%1 f32[g0*16384](min(128,(n)-g0*128):128, 64:2, 2:1), src=%0 f32[g0*16384](min(128,(n)-g0*128):128, 2:64, 64:1) node 0
}

kernel 1 "a" grid((ceildiv(n*128,4096))) vars 1 semaphores 0 flops (n*128) bytes (n*1024) {
  dve.tensor_copy dst=%2 bf16[g0*4096](min(4096,(n*128)-g0*4096):1), src=%1 f32[g0*4096](min(4096,(n*128)-g0*4096):1) node 1
}

kernel 2 "pad rows" grid((n), 8) vars 2 semaphores 0 flops 0 bytes (n*1024) {
  dve.memset dst=%4 bf16[g0*200+g1*20+20](2:1), value=0 node 2
  dve.memset dst=%4 bf16[g0*200+g1*20+38](2:1), value=0 node 2
  sp.dma_copy dst=%4 bf16[g0*200+g1*20+22](16:1), src=%2 bf16[g0*128+g1*16](16:1) node 2
}

kernel 3 "pad border" grid((n)) vars 1 semaphores 0 flops 0 bytes 0 {
  dve.memset dst=%4 bf16[g0*200](20:1), value=0 node 3
  dve.memset dst=%4 bf16[g0*200+180](20:1), value=0 node 3
}

kernel 4 "a" grid((n), 4, 1, 1) vars 4 semaphores 1 flops (n*1728) bytes (n*320+576) {
  tile psum0 f32 4 x 64
  pe.nc_matmul dst=psum0 f32[0](min(4,4-g2*4):64, min(3,3-g3*3):1), stationary=%3 bf16[g3*288](3:96, 6:16, min(3,3-g3*64):1), moving=%4 bf16[g0*200+g1*40+g2*16](3:20, min(4,4-g2*4):4, 6:1), packing=1 signal s0 node 4
  act.activation dst=%6 f32[g0*48+g1*12+g2*12+g3*3](min(4,4-g2*4):3, min(3,3-g3*3):1), src=psum0 f32[0](min(4,4-g2*4):64, min(3,3-g3*3):1), bias=%5 f32[g3*3](min(4,4-g2*4):0, min(3,3-g3*3):1), factor=1, a=0, b=0, f=relu wait s0>=1 node 4
}

kernel 5 "p" grid((n), 3) vars 2 semaphores 0 flops (n*108) bytes (n*300) {
  dve.window_pool dst=%7 f32[g0*27+g1*9](3:3, 3:1), image=%6 f32[g0*48](4:12, 4:3, 3:1), row=g1*1, kernel_h=2, kernel_w=2, stride_h=1, stride_w=1, dilation_h=1, dilation_w=1, op=max node 5
}

kernel 6 "p" grid((ceildiv(n,606))) vars 1 semaphores 0 flops 0 bytes (n*216) {
  sp.dma_transpose dst=%8 f32[g0*16362](min(606,(n)-g0*606):27, 3:9, 9:1), src=%7 f32[g0*16362](min(606,(n)-g0*606):27, 9:3, 3:1) node 6
}

kernel 7 "y" grid((ceildiv(n*27,4096))) vars 1 semaphores 0 flops (n*27) bytes (n*216) {
  dve.tensor_copy dst=%10 bf16[g0*4096](min(4096,(n*27)-g0*4096):1), src=%9 f32[g0*4096](min(4096,(n*27)-g0*4096):1) node 7
}

kernel 8 "y" grid((ceildiv(n,64)), 1) vars 2 semaphores 0 flops (n*216) bytes (n*124+896) {
  pe.nc_matmul dst=%12 f32[g0*256+g1*4](min(64,(n)-g0*64):4, min(4,4-g1*4):1), stationary=%11 bf16[g1*448](27:16, min(4,4-g1*64):1), moving=%10 bf16[g0*1728](min(64,(n)-g0*64):27, 27:1), packing=1 node 8
}

region 0 (%0) -> (%12) {
  launch 0 # a
  launch 1 # a
  launch 2 # pad rows
  launch 3 # pad border
  launch 4 # a
  launch 5 # p
  launch 6 # p
  launch 7 # y
  launch 8 # y
}
