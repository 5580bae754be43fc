program "g" target trn1
symbol "n"
dim sym 0 # $0
dim mul $0 128 # $1
dim floordiv $1 512 # $2
dim mod $1 512 # $3
dim ceildiv $2 128 # $4
dim mul $2 512 # $5
dim mul $2 4096 # $6
dim ceildiv $3 512 # $7
dim mul $3 8 # $8
dim mul $0 48 # $9
dim mul $0 16 # $10
dim mul $0 1728 # $11
dim mul $0 704 # $12
dim add $12 216 # $13
dim mul $0 27 # $14
dim mul $0 3 # $15
dim mul $0 9 # $16
dim mul $0 108 # $17
dim mul $0 12 # $18
dim mul $0 75 # $19
dim mul $0 300 # $20
dim floordiv $14 512 # $21
dim mod $14 512 # $22
dim ceildiv $21 128 # $23
dim mul $21 512 # $24
dim mul $21 4096 # $25
dim ceildiv $22 512 # $26
dim mul $22 8 # $27
dim mul $0 4 # $28
dim ceildiv $0 512 # $29
dim mul $0 216 # $30
dim mul $0 31 # $31
dim add $31 108 # $32
dim mul $0 124 # $33
dim add $33 432 # $34
node 0 "a" "Conv"
node 1 "a" "Conv"
node 2 "a" "Conv"
node 3 "p" "MaxPool"
node 4 "y" "Gemm"
node 5 "y" "Gemm"
node 6 "y" "Gemm"
outputs "y"

slot %0 input "x" f32[n,2,8,8]
slot %1 planned "x" bf16[n,2,8,8]
slot %2 const "w" bf16[1,2,9,3] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
slot %3 const "b" f32[3,1,1] = {1, 1, 1}
slot %4 planned "r" f32[n,3,4,4]
slot %5 planned "p" f32[n,3,3,3]
slot %6 view "f" f32[n,27] of %5 + 0
slot %7 planned "f" bf16[n,27]
slot %8 const "g" bf16[27,4] = ...
slot %9 planned "y" f32[n,4] output

kernel 0 "a" grid((ceildiv(floordiv(n*128,512),128))) vars 1 semaphores 2 flops (floordiv(n*128,512)*512) bytes (floordiv(n*128,512)*4096) {
  tile sbuf0 f32 128 x 512 at 0
  tile sbuf1 bf16 128 x 512 at 2048
  sp.dma_copy dst=sbuf0 f32[0](min(128,(floordiv(n*128,512))-g0*128):512, 512:1), src=%0 f32[g0*65536](min(128,(floordiv(n*128,512))-g0*128):512, 512:1) signal s1 node 0
  dve.tensor_copy dst=sbuf1 bf16[0](min(128,(floordiv(n*128,512))-g0*128):512, 512:1), src=sbuf0 f32[0](min(128,(floordiv(n*128,512))-g0*128):512, 512:1) wait s1>=1 signal s0 node 0
  sp.dma_copy dst=%1 bf16[g0*65536](min(128,(floordiv(n*128,512))-g0*128):512, 512:1), src=sbuf1 bf16[0](min(128,(floordiv(n*128,512))-g0*128):512, 512:1) wait s0>=1 node 0
}

kernel 1 "a" grid(1, (ceildiv(mod(n*128,512),512))) vars 2 semaphores 2 flops (mod(n*128,512)) bytes (mod(n*128,512)*8) {
  tile sbuf0 f32 1 x 512 at 0
  tile sbuf1 bf16 1 x 512 at 2048
  sp.dma_copy dst=sbuf0 f32[0](min(1,1-g0*1):512, min(512,(mod(n*128,512))-g1*512):1), src=%0 f32[g0*(mod(n*128,512))+g1*512+(floordiv(n*128,512)*512)](min(1,1-g0*1):(mod(n*128,512)), min(512,(mod(n*128,512))-g1*512):1) signal s1 node 1
  dve.tensor_copy dst=sbuf1 bf16[0](min(1,1-g0*1):512, min(512,(mod(n*128,512))-g1*512):1), src=sbuf0 f32[0](min(1,1-g0*1):512, min(512,(mod(n*128,512))-g1*512):1) wait s1>=1 signal s0 node 1
  sp.dma_copy dst=%1 bf16[g0*(mod(n*128,512))+g1*512+(floordiv(n*128,512)*512)](min(1,1-g0*1):(mod(n*128,512)), min(512,(mod(n*128,512))-g1*512):1), src=sbuf1 bf16[0](min(1,1-g0*1):512, min(512,(mod(n*128,512))-g1*512):1) wait s0>=1 node 1
}

kernel 2 "a" grid((n), 1) vars 2 semaphores 4 flops (n*1728) bytes (n*704+216) {
  tile sbuf0 bf16 2 x 100 at 0
  tile sbuf1 bf16 2 x 27 at 256
  tile psum2 f32 3 x 19 at 0
  tile sbuf3 f32 3 x 1 at 320
  tile sbuf4 f32 3 x 16 at 0
  dve.memset dst=sbuf0 bf16[0](2:100, 100:1), value=0 signal s2 node 2
  sp.dma_copy dst=sbuf1 bf16[0](2:27, 9:3, min(3,3-g1*3):1), src=%2 bf16[g1*3](2:27, 9:3, min(3,3-g1*3):1) signal s3 node 2
  sp.dma_copy dst=sbuf0 bf16[6](2:100, 4:5, 4:1), src=%1 bf16[g0*128+9](2:64, 4:16, 4:2) wait s2>=1 signal s3 node 2
  sp.dma_copy dst=sbuf0 bf16[30](2:100, 4:5, 4:1), src=%1 bf16[g0*128+8](2:64, 4:16, 4:2) signal s3 node 2
  sp.dma_copy dst=sbuf0 bf16[51](2:100, 4:5, 4:1), src=%1 bf16[g0*128+1](2:64, 4:16, 4:2) signal s3 node 2
  sp.dma_copy dst=sbuf0 bf16[75](2:100, 4:5, 4:1), src=%1 bf16[g0*128](2:64, 4:16, 4:2) signal s3 node 2
  sp.dma_copy dst=sbuf3 f32[0](min(3,3-g1*3):1), src=%3 f32[g1*3](min(3,3-g1*3):1) signal s3 node 2
  pe.nc_matmul dst=psum2 f32[0](19:1, min(3,3-g1*3):19), stationary=sbuf1 bf16[0](2:27, min(3,3-g1*3):1), moving=sbuf0 bf16[0](19:1, 2:100) wait s3>=5 node 2
  pe.nc_matmul dst=psum2 f32[0](19:1, min(3,3-g1*3):19), stationary=sbuf1 bf16[3](2:27, min(3,3-g1*3):1), moving=sbuf0 bf16[25](19:1, 2:100), accumulate=1 node 2
  pe.nc_matmul dst=psum2 f32[0](19:1, min(3,3-g1*3):19), stationary=sbuf1 bf16[6](2:27, min(3,3-g1*3):1), moving=sbuf0 bf16[1](19:1, 2:100), accumulate=1 node 2
  pe.nc_matmul dst=psum2 f32[0](19:1, min(3,3-g1*3):19), stationary=sbuf1 bf16[9](2:27, min(3,3-g1*3):1), moving=sbuf0 bf16[50](19:1, 2:100), accumulate=1 node 2
  pe.nc_matmul dst=psum2 f32[0](19:1, min(3,3-g1*3):19), stationary=sbuf1 bf16[12](2:27, min(3,3-g1*3):1), moving=sbuf0 bf16[75](19:1, 2:100), accumulate=1 node 2
  pe.nc_matmul dst=psum2 f32[0](19:1, min(3,3-g1*3):19), stationary=sbuf1 bf16[15](2:27, min(3,3-g1*3):1), moving=sbuf0 bf16[51](19:1, 2:100), accumulate=1 node 2
  pe.nc_matmul dst=psum2 f32[0](19:1, min(3,3-g1*3):19), stationary=sbuf1 bf16[18](2:27, min(3,3-g1*3):1), moving=sbuf0 bf16[5](19:1, 2:100), accumulate=1 node 2
  pe.nc_matmul dst=psum2 f32[0](19:1, min(3,3-g1*3):19), stationary=sbuf1 bf16[21](2:27, min(3,3-g1*3):1), moving=sbuf0 bf16[30](19:1, 2:100), accumulate=1 node 2
  pe.nc_matmul dst=psum2 f32[0](19:1, min(3,3-g1*3):19), stationary=sbuf1 bf16[24](2:27, min(3,3-g1*3):1), moving=sbuf0 bf16[6](19:1, 2:100), accumulate=1 signal s0 node 2
  act.activation dst=sbuf4 f32[0](min(3,3-g1*3):16, 4:4, 4:1), src=psum2 f32[0](min(3,3-g1*3):19, 4:5, 4:1), bias=sbuf3 f32[0](min(3,3-g1*3):1, 4:0, 4:0), factor=1, a=0, b=0, f=relu wait s0>=1, s3>=6 signal s1 node 2
  sp.dma_copy dst=%4 f32[g0*48+g1*48](min(3,3-g1*3):16, 4:4, 4:1), src=sbuf4 f32[0](min(3,3-g1*3):16, 4:4, 4:1) wait s1>=1 node 2
}

kernel 3 "p" grid((n), 1) vars 2 semaphores 2 flops (n*108) bytes (n*300) {
  tile sbuf0 f32 3 x 16 at 0
  tile sbuf1 f32 3 x 9 at 64
  sp.dma_copy dst=sbuf0 f32[0](min(3,3-g1*3):16, 4:4, 4:1), src=%4 f32[g0*48+g1*48](min(3,3-g1*3):16, 4:4, 4:1) signal s1 node 3
  dve.tensor_reduce dst=sbuf1 f32[0](min(3,3-g1*3):9, 3:3, 3:1), src=sbuf0 f32[0](min(3,3-g1*3):16, 3:4, 3:1, 2:4, 2:1), axes=2, scale=1, op=max wait s1>=1 signal s0 node 3
  sp.dma_copy dst=%5 f32[g0*27+g1*27](min(3,3-g1*3):9, 3:3, 3:1), src=sbuf1 f32[0](min(3,3-g1*3):9, 3:3, 3:1) wait s0>=1 node 3
}

kernel 4 "y" grid((ceildiv(floordiv(n*27,512),128))) vars 1 semaphores 2 flops (floordiv(n*27,512)*512) bytes (floordiv(n*27,512)*4096) {
  tile sbuf0 f32 128 x 512 at 0
  tile sbuf1 bf16 128 x 512 at 2048
  sp.dma_copy dst=sbuf0 f32[0](min(128,(floordiv(n*27,512))-g0*128):512, 512:1), src=%6 f32[g0*65536](min(128,(floordiv(n*27,512))-g0*128):512, 512:1) signal s1 node 4
  dve.tensor_copy dst=sbuf1 bf16[0](min(128,(floordiv(n*27,512))-g0*128):512, 512:1), src=sbuf0 f32[0](min(128,(floordiv(n*27,512))-g0*128):512, 512:1) wait s1>=1 signal s0 node 4
  sp.dma_copy dst=%7 bf16[g0*65536](min(128,(floordiv(n*27,512))-g0*128):512, 512:1), src=sbuf1 bf16[0](min(128,(floordiv(n*27,512))-g0*128):512, 512:1) wait s0>=1 node 4
}

kernel 5 "y" grid(1, (ceildiv(mod(n*27,512),512))) vars 2 semaphores 2 flops (mod(n*27,512)) bytes (mod(n*27,512)*8) {
  tile sbuf0 f32 1 x 512 at 0
  tile sbuf1 bf16 1 x 512 at 2048
  sp.dma_copy dst=sbuf0 f32[0](min(1,1-g0*1):512, min(512,(mod(n*27,512))-g1*512):1), src=%6 f32[g0*(mod(n*27,512))+g1*512+(floordiv(n*27,512)*512)](min(1,1-g0*1):(mod(n*27,512)), min(512,(mod(n*27,512))-g1*512):1) signal s1 node 5
  dve.tensor_copy dst=sbuf1 bf16[0](min(1,1-g0*1):512, min(512,(mod(n*27,512))-g1*512):1), src=sbuf0 f32[0](min(1,1-g0*1):512, min(512,(mod(n*27,512))-g1*512):1) wait s1>=1 signal s0 node 5
  sp.dma_copy dst=%7 bf16[g0*(mod(n*27,512))+g1*512+(floordiv(n*27,512)*512)](min(1,1-g0*1):(mod(n*27,512)), min(512,(mod(n*27,512))-g1*512):1), src=sbuf1 bf16[0](min(1,1-g0*1):512, min(512,(mod(n*27,512))-g1*512):1) wait s0>=1 node 5
}

kernel 6 "y" grid(1, (ceildiv(n,512))) vars 2 semaphores 3 flops (n*216) bytes (n*124+432) {
  tile psum0 f32 4 x 512 at 0
  tile sbuf1 bf16 27 x 4 at 1024
  tile sbuf2 bf16 27 x 512 at 0
  tile sbuf3 f32 4 x 512 at 0
  sp.dma_transpose dst=sbuf2 bf16[0](27:512, min(512,(n)-g1*512):1), src=%7 bf16[g1*13824](min(512,(n)-g1*512):27, 27:1) signal s2 node 6
  sp.dma_copy dst=sbuf1 bf16[0](27:4, min(4,4-g0*4):1), src=%8 bf16[g0*4](27:4, min(4,4-g0*4):1) signal s2 node 6
  pe.nc_matmul dst=psum0 f32[0](min(512,(n)-g1*512):1, min(4,4-g0*4):512), stationary=sbuf1 bf16[0](27:4, min(4,4-g0*4):1), moving=sbuf2 bf16[0](min(512,(n)-g1*512):1, 27:512) wait s2>=2 signal s0 node 6
  dve.tensor_copy dst=sbuf3 f32[0](min(4,4-g0*4):512, min(512,(n)-g1*512):1), src=psum0 f32[0](min(4,4-g0*4):512, min(512,(n)-g1*512):1) wait s0>=1 signal s1 node 6
  sp.dma_transpose dst=%9 f32[g0*4+g1*2048](min(512,(n)-g1*512):4, min(4,4-g0*4):1), src=sbuf3 f32[0](min(4,4-g0*4):512, min(512,(n)-g1*512):1) wait s1>=1 node 6
}

region 0 (%0) -> (%9) {
  launch 0 # a
  launch 1 # a
  launch 2 # a
  launch 3 # p
  launch 4 # y
  launch 5 # y
  launch 6 # y
}
